"""A store that writes down what it is asked, with the real interface."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa

from studio.core.store import raw
from studio.core.store.db import Db

T = TypeVar("T")


@dataclass
class CountingDb:
    """A store that writes down every statement a question asks (on SQLite)."""

    db: Db
    statements: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.db, name)

    async def read(self, act: Callable[[sa.Connection], T]) -> T:
        """Read, and write down what was asked."""

        def traced(conn: sa.Connection) -> T:
            raw.driver(conn).set_trace_callback(self.statements.append)
            try:
                return act(conn)
            finally:
                raw.driver(conn).set_trace_callback(None)

        return await self.db.read(traced)
