"""What people asked to be done to disks, as they see it."""

from dataclasses import dataclass

import sqlalchemy as sa

from studio.core.projections import environments
from studio.core.rules.errors import NotFound
from studio.core.store import operations
from studio.core.store.operations import Operation

STATES = {"asked": "waiting", "started": "running"}


@dataclass(frozen=True, kw_only=True)
class OperationRow:
    """One of them. `state` is waiting, running, done or failed; times are ms.

    `source` is the version that is restored, `version` the one that was made. When it failed,
    `code` and `message` say why, and nothing changed.
    """

    id: str
    environment_id: str
    act: str
    source: int | None
    archive_name: str
    note: str
    by: str
    state: str
    asked: int
    started: int | None
    ended: int | None
    version: int | None
    code: str
    message: str

    @property
    def is_over(self) -> bool:
        """Nothing more will come of it."""
        return self.ended is not None


def one(conn: sa.Connection, operation_id: str) -> OperationRow:
    """One operation."""
    found = operations.get(conn, operation_id)
    if found is None:
        raise NotFound("There is no such operation.", code="operation.not_found")
    return _row(found)


def of_environment(conn: sa.Connection, word: str, limit: int) -> tuple[OperationRow, ...]:
    """The newest of an environment, the last one first."""
    it = environments.one(conn, word)
    return tuple(_row(found) for found in operations.newest(conn, it.id, limit))


def _row(found: Operation) -> OperationRow:
    given = {
        name: getattr(found, name)
        for name in OperationRow.__dataclass_fields__
        if name not in ("state",)
    }
    return OperationRow(**given, state=STATES.get(found.state, found.state))
