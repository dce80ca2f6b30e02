"""Statements straight to the driver, past SQLAlchemy's layers, where that is measured to pay.

One text serves both stores: values are written `?` and given in order. No text here holds a literal
`?` or `%`. The connection is SQLAlchemy's, so both ways of speaking share one transaction.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa


def driver(conn: sa.Connection) -> Any:
    """The driver's own connection."""
    return conn.connection.dbapi_connection


def put(conn: sa.Connection, statement: str, values: Sequence[Any] = ()) -> int:
    """Carry out a change; how many rows it touched."""
    return int(_cursor(conn, statement, values).rowcount)


def put_many(conn: sa.Connection, statement: str, many: Sequence[Sequence[Any]]) -> None:
    """Carry out a change once for each row of values."""
    if len(many) == 1:
        _cursor(conn, statement, many[0])
    elif many:
        text = statement if conn.dialect.name == "sqlite" else _percent(statement)
        driver(conn).cursor().executemany(text, many)


def one(conn: sa.Connection, statement: str, values: Sequence[Any] = ()) -> Any:
    """The first row, or None."""
    return _cursor(conn, statement, values).fetchone()


def every(conn: sa.Connection, statement: str, values: Sequence[Any] = ()) -> list[Any]:
    """All rows."""
    rows: list[Any] = _cursor(conn, statement, values).fetchall()
    return rows


def _cursor(conn: sa.Connection, statement: str, values: Sequence[Any]) -> Any:
    text = statement if conn.dialect.name == "sqlite" else _percent(statement)
    return driver(conn).execute(text, values)


@cache
def _percent(statement: str) -> str:
    return statement.replace("?", "%s")
