"""Stores as earlier versions left them, to be brought up to date.

`store_0001.jsonl` was written by the last version of revision 0001: sessions with turns, calls, an
approval that is held, a call that is uncertain, artifacts, environments with kept versions and
egress. A line names a table and its columns, those behind it are its rows.
"""

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from studio.core.store import db, migrate, places, raw
from studio.core.store.writer import closing

FILE = Path(__file__).with_name("store_0001.jsonl")


def step(url: str, revision: str) -> None:
    """Bring a store up to this revision and no further."""
    _write(url, lambda conn: migrate._upgrade(conn, revision))


def fill(url: str) -> None:
    """Put everything into a store that is at 0001."""

    def act(conn: sa.Connection) -> None:
        raw.put(conn, "DELETE FROM positions")
        for table, columns, rows in _tables():
            names = ", ".join(f'"{name}"' for name in columns)
            marks = ", ".join("?" * len(columns))
            raw.put_many(conn, f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)

    _write(url, act)


def _write(url: str, act: Callable[[sa.Connection], None]) -> None:
    kind, parsed = places.parse(url)
    engine = places.engine(kind, parsed)
    with closing(places.writing(engine)) as conn:
        raw.put(conn, "BEGIN IMMEDIATE" if kind == "sqlite" else "BEGIN")
        db.revision(conn)  # so that the steps are inside this transaction
        act(conn)
        raw.put(conn, "COMMIT")
        conn.rollback()
    engine.dispose()


def held(url: str) -> dict[str, list[Any]]:
    """What a store holds of it now, in the columns that 0001 had."""
    kind, parsed = places.parse(url)
    engine, found = places.engine(kind, parsed), {}
    with closing(places.reading(engine)) as conn:
        for table, columns, _ in _tables():
            rows = raw.every(conn, _select(table, columns))
            found[table] = sorted((tuple(map(_plain, row)) for row in rows), key=str)
    engine.dispose()
    return found


def given() -> dict[str, list[Any]]:
    """What was put into it."""
    return {table: sorted(map(tuple, rows), key=str) for table, _, rows in _tables()}


def _select(table: str, columns: list[str]) -> str:
    names = ", ".join(f'"{name}"' for name in columns)
    return f"SELECT {names} FROM {table}"


def _tables() -> list[tuple[str, list[str], list[list[Any]]]]:
    found: list[tuple[str, list[str], list[list[Any]]]] = []
    for line in FILE.read_text("utf-8").splitlines():
        told = json.loads(line)
        if isinstance(told, dict):
            found.append((told["table"], told["columns"], []))
        else:
            found[-1][2].append([_value(one) for one in told])
    return found


def _value(told: Any) -> Any:
    return zlib.decompress(base64.b64decode(told["zlib"])) if isinstance(told, dict) else told


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value
