"""Application keys, for the admin's page. A key itself is nowhere, only its name and last use."""

from dataclasses import dataclass

import sqlalchemy as sa

from studio.core.rules.access import Person, needs
from studio.core.store import people


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


def keys(conn: sa.Connection, person: Person) -> list[KeyRow]:
    """Every key, the newest first; for admins: one statement."""
    needs(person, "admin", "see the application keys")
    rows = [
        KeyRow(
            id=key.id, name=key.name, role=key.role, by=key.by, made=key.made, used=key.used,
            revoked=key.revoked,
        )
        for key in people.list_keys(conn)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (row.made, row.id), reverse=True)
