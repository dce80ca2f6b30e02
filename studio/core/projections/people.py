"""Application keys, for the admin's page. A key itself is nowhere, only its name and last use."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class KeyRow:
    """An application key: who made it when, when it was last used and when revoked (ms or None)."""

    id: str
    name: str
    role: str
    by: str
    made: int
    used: int | None
    revoked: int | None
