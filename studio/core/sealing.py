"""Sealing: a value under a key of its own, and that key under one of a key file.

AES-256-GCM twice (an envelope), so that rotation seals the small keys anew and leaves the values
alone. Whose value it is, its name and its version are bound into both: a row that was moved to
another place does not open there. The key file stands outside the store, for its owner alone.
"""

import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from studio.core.rules.errors import Invalid, Unavailable

KEY_BYTES, NONCE_BYTES, ID_CHARACTERS = 32, 12, 12
LARGEST_FILE = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a sealed value is bound to. `owner` says whose it is, in a word without `|`."""

    owner: str
    name: str
    version: int

    @property
    def bound(self) -> bytes:
        """The bytes that are bound in."""
        assert "|" not in f"{self.owner}{self.name}", "names are checked before they come here"
        return f"{self.owner}|{self.name}|{self.version}".encode()


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """A sealed value: `key` names the key that seals `wrapped`, which seals `value`."""

    key: str
    wrapped: bytes
    value: bytes


class CannotOpen(Exception):
    """The value cannot be opened here; the message says why, in words without its beginning."""


@dataclass(frozen=True, kw_only=True)
class Ring:
    """The keys of a key file by their ids. The first seals, all of them open."""

    keys: Mapping[str, bytes]
    path: str

    @property
    def first(self) -> str:
        """The id of the key that seals."""
        return next(iter(self.keys))

    def seal(self, place: Place, value: bytes) -> Sealed:
        """Seal a value for this place."""
        inner = secrets.token_bytes(KEY_BYTES)
        sealed = Sealed(key="", wrapped=b"", value=_seal(inner, value, place.bound))
        return self._wrapped(place, inner, sealed)

    def open(self, place: Place, sealed: Sealed) -> bytes:
        """The value; CannotOpen says why not."""
        return _open(self._inner(place, sealed), sealed.value, place.bound)

    def again(self, place: Place, sealed: Sealed) -> Sealed:
        """The same value under the key that seals now; the value itself is not touched."""
        return self._wrapped(place, self._inner(place, sealed), sealed)

    def _wrapped(self, place: Place, inner: bytes, sealed: Sealed) -> Sealed:
        key = self.first
        wrapped = _seal(self.keys[key], inner, _with_key(place, key))
        return replace(sealed, key=key, wrapped=wrapped)

    def _inner(self, place: Place, sealed: Sealed) -> bytes:
        key = self.keys.get(sealed.key)
        if key is None:
            raise CannotOpen(f"key {sealed.key} is missing in {self.path}")
        return _open(key, sealed.wrapped, _with_key(place, sealed.key))


class KeyFile:
    """A file of keys, one a line in hex; the first line seals. Read again when it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._ring: Ring | None = None

    def ring(self) -> Ring | None:
        """The keys, or None when there is no such file. Invalid when it may not be used."""
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            self._ring = None
            return None
        except OSError as error:
            raise Unavailable(
                f"The key file {self.path} cannot be read: {error.strerror}.", code="keys.unread"
            ) from None
        with open(file, "rb") as opened:
            found = os.fstat(opened.fileno())
            if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise Invalid(
                    f"{self.path} can be read by others on this machine, so it is not used. "
                    f"Run: chmod 600 {self.path}",
                    code="keys.open",
                )
            seen = (found.st_ino, found.st_mtime_ns, found.st_size)
            if self._ring is None or seen != self._seen:
                self._ring = _ring(self.path, opened.read(LARGEST_FILE + 1))
                self._seen = seen
        return self._ring

    def make(self) -> Ring:
        """The keys; a file with a new one when there is none. Never writes over another."""
        if (ring := self.ring()) is None:
            draft = self._draft([secrets.token_bytes(KEY_BYTES)])
            try:
                os.link(draft, self.path)  # never over one that another process made meanwhile
            except FileExistsError:
                pass
            finally:
                draft.unlink()
            ring = self.ring()
        assert ring is not None, "it was just made"
        return ring

    def turn(self) -> Ring:
        """Put a new key in front of the others; what they sealed still opens."""
        ring = self.make()
        draft = self._draft([secrets.token_bytes(KEY_BYTES), *ring.keys.values()])
        draft.replace(self.path)
        turned = self.ring()
        assert turned is not None, "it was just written"
        return turned

    def _draft(self, keys: list[bytes]) -> Path:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.writelines(f"{key.hex()}\n" for key in keys)
            file.flush()
            os.fsync(file.fileno())
        return draft


def _ring(path: Path, data: bytes) -> Ring:
    lines = [line.strip() for line in data.decode("ascii", "replace").splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    pattern = rf"[0-9a-f]{{{2 * KEY_BYTES}}}"
    if not lines or len(data) > LARGEST_FILE or not all(re.fullmatch(pattern, x) for x in lines):
        raise Invalid(
            f"{path} is not a key file of ours ({2 * KEY_BYTES} hex characters a line). "
            "Put the right file back.",
            code="keys.broken",
        )
    keys = [bytes.fromhex(line) for line in lines]
    return Ring(keys={_id(key): key for key in keys}, path=str(path))


def _id(key: bytes) -> str:
    """A name for a key that tells nothing of it."""
    return sha256(b"operator studio key id" + key).hexdigest()[:ID_CHARACTERS]


def _with_key(place: Place, key: str) -> bytes:
    return place.bound + f"|{key}".encode()


def _seal(key: bytes, value: bytes, bound: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, value, bound)


def _open(key: bytes, sealed: bytes, bound: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], bound)
    except (InvalidTag, ValueError):
        raise CannotOpen("it was changed, or belongs to another place") from None
