"""Application keys; the key itself is in one answer only."""

from dataclasses import dataclass

from studio.api.shapes import Time


@dataclass(frozen=True, kw_only=True)
class Key:
    """An application key; the key itself is shown once, when it is made."""

    id: str
    name: str
    role: str
    by: str
    made: Time
    used: Time | None
    revoked: Time | None


@dataclass(frozen=True, kw_only=True)
class Keys:
    """Every application key, the newest first."""

    items: tuple[Key, ...]


@dataclass(frozen=True, kw_only=True)
class MadeKey:
    """A new application key. `key` is shown now and never again."""

    id: str
    key: str
    name: str
    role: str
