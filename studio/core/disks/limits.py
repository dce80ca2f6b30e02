"""How much one version may hold, and the words when it is more."""

from dataclasses import dataclass

from studio.core.disks.tree import shown
from studio.core.rules.errors import TooLarge

DEEPEST = 128  # folders in folders; each holds a descriptor while it is walked


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of one version: `files` counts every name, folders and links too; `bytes` those of files.

    `bound` says in words what bounds the bytes.
    """

    files: int = 500_000
    bytes: int = 8 * 1024**3
    deepest: int = DEEPEST
    bound: str = "the limit of one version. Remove what is not needed and keep it again"


class Count:
    """What was seen so far, held to the limits; each look raises TooLarge with words."""

    def __init__(self, limits: Limits, what: str) -> None:
        self._limits, self._what = limits, what
        self.names = self.bytes = 0

    def add(self, path: str, size: int = 0) -> None:
        """One more name, with the bytes of its file."""
        self.names += 1
        self.bytes += size
        limits = self._limits
        if self.names > limits.files:
            raise self._over(
                f"{self._what} holds more than {limits.files:,} files and folders, which is the"
                " limit of one version. Remove what is not needed and keep it again.",
                limits.files,
            )
        if self.bytes > limits.bytes:
            raise self._over(
                f"{self._what} holds more than {limits.bytes:,} bytes (reached at {shown(path)}),"
                f" which is {limits.bound}.",
                limits.bytes,
            )

    def depth(self, path: str, depth: int) -> None:
        """A folder so many folders deep."""
        if depth > self._limits.deepest:
            raise self._over(
                f"{self._what} nests folders more than {self._limits.deepest} deep, at"
                f" {shown(path)}.",
                self._limits.deepest,
            )

    @staticmethod
    def _over(words: str, limit: int) -> TooLarge:
        return TooLarge(words, code="disk.too_large", details={"limit": limit})
