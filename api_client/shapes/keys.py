"""Application keys, and whether the server is up."""

from typing import TypedDict


class Key(TypedDict):
    """An application key, without the key."""

    id: str
    name: str
    role: str
    by: str
    made: str
    used: str | None
    revoked: str | None


class Keys(TypedDict):
    """Every application key."""

    items: list[Key]


class MadeKey(TypedDict):
    """A new application key; `key` is shown this once."""

    id: str
    key: str
    name: str
    role: str


class Health(TypedDict):
    """The process answers."""

    status: str


class Ready(TypedDict):
    """Whether requests can be served."""

    ready: bool
