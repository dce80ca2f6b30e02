"""Application keys: `stk_`, 43 characters of chance (256 bits), and 6 of checksum.

The typed prefix and the checksum let a scanner recognise a real key without asking the studio.
"""

import hashlib
import secrets

PREFIX = "stk_"


def make() -> str:
    """A new key. It is shown once; only its SHA-256 is kept."""
    body = secrets.token_urlsafe(32)
    return f"{PREFIX}{body}{_checksum(body)}"


def check(key: str) -> bool:
    """Whether this looks like one of our keys, checksum included."""
    body = key.removeprefix(PREFIX)
    if body == key or len(body) != 49:
        return False
    return secrets.compare_digest(_checksum(body[:-6]), body[-6:])


def _checksum(body: str) -> str:
    return hashlib.sha256(f"{PREFIX}{body}".encode()).hexdigest()[:6]
