"""Patterns of paths as agents write them, and names as they can be told."""

import fnmatch
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from studio.core.sandboxes import paths
from studio.core.sandboxes.contract import SandboxError

LONGEST = 1_000
_Name = Callable[[str], object]  # whether one name matches; None stands for any number of names


def globbed(pattern: str) -> Callable[[str], bool]:
    """Whether a path from the disk's root matches; SandboxError `pattern.bad`, `path.outside`.

    `**` alone between slashes stands for any number of folders, `*` and `?` do not cross one,
    `[a-c]` and `[!a-c]` are one character of a set. The effort grows with pattern times path.
    """
    if not pattern or len(pattern) > LONGEST:
        words = f"A pattern of paths has 1 to {LONGEST:,} characters, like src/**/*.py."
        raise SandboxError("pattern.bad", words)
    names = paths.parts(pattern)
    if ".." in names:
        raise paths.outside(pattern)
    wanted = [_name(name) if name != "**" else None for name in names]
    return lambda path: _matches(wanted, path.split("/"))


def shown(path: str) -> str:
    """A path as it can be told: bytes that are no UTF-8 as `\\xff`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@lru_cache(maxsize=256)
def _name(name: str) -> _Name:
    # The standard library's translation never tries two stars in every split.
    return re.compile(fnmatch.translate(name)).match


def _matches(wanted: Sequence[_Name | None], names: Sequence[str]) -> bool:
    """Go on greedily; when it fails, the last `**` takes one name more."""
    at = here = 0
    again, star = 0, -1
    while here < len(names):
        item = wanted[at] if at < len(wanted) else _never
        if item is None:
            star, again = at, here
            at += 1
        elif item(names[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            again += 1
            at, here = star + 1, again
        else:
            return False
    return all(item is None for item in wanted[at:])


def _never(_: str) -> bool:
    return False
