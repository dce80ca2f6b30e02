"""What derived rows need: changes in order and in few statements, words both stores can keep."""

from typing import Any

import sqlalchemy as sa

from studio.core.rules.session import Call, Session, Turn
from studio.core.store import raw

Row = tuple[Any, ...]


class Changes:
    """New rows first, one statement a table; then changes, in the order of their facts."""

    def __init__(self) -> None:
        self._inserts: dict[str, list[Row]] = {}
        self._updates: list[tuple[str, list[Row]]] = []

    def insert(self, statement: str, row: Row) -> None:
        """A new row."""
        self._inserts.setdefault(statement, []).append(row)

    def update(self, statement: str, row: Row) -> None:
        """A change to a row that is there by then."""
        if self._updates and self._updates[-1][0] == statement:
            self._updates[-1][1].append(row)
        else:
            self._updates.append((statement, [row]))

    def carry_out(self, conn: sa.Connection) -> None:
        """All of them."""
        for statement, rows in self._inserts.items():
            raw.put_many(conn, statement, rows)
        for statement, rows in self._updates:
            raw.put_many(conn, statement, rows)


def plain(text: str) -> str:
    """Text that both stores take: no zero characters, no halves of surrogate pairs."""
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def find_turn(session: Session, turn_id: str) -> Turn | None:
    """A turn of the session while its window keeps it."""
    if session.turn is not None and session.turn.id == turn_id:
        return session.turn
    return next((turn for turn in reversed(session.past) if turn.id == turn_id), None)


def find_call(session: Session, turn_id: str, effect_id: str) -> Call | None:
    """A call of such a turn."""
    turn = find_turn(session, turn_id)
    return turn.calls.get(effect_id) if turn is not None else None
