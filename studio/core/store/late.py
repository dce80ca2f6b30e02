"""What is to be exported as the journal grows: turns that ended, and what came of them later.

Of a turn that is over, an outcome that comes late, a person's word on a call, a version of the disk
and a try to reach a host change or add a few spans. Each is found by its own fact.
"""

import json
from typing import Any

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.store import collector, raw
from studio.core.store.collector import Ended, Place, Window

_SAID = ", ".join(f"'{one.TYPE}'" for one in (e.DecisionRecorded, e.CallSettled, e.CallLate))
_AROUND = ", ".join(f"'{one.TYPE}'" for one in (e.DiskKept, e.EgressTried))
COMING = (
    "SELECT position, session_id, seq, type, time, turn_id, effect_id, "  # noqa: S608
    f"CASE WHEN type IN ({_AROUND}) THEN payload ELSE '' END FROM events "
    "WHERE position > ? AND position <= ? "
    f"AND type IN ({collector.ENDING}, {_SAID}, {_AROUND}) ORDER BY position LIMIT ?"
)
IS_OVER = "SELECT 1 FROM turns WHERE id = ? AND ended IS NOT NULL"
END = (
    f"SELECT position FROM events WHERE turn_id = ? AND type IN ({collector.ENDING}) "  # noqa: S608
    "ORDER BY seq DESC LIMIT 1"
)
_ENDS = frozenset({e.TurnCompleted.TYPE, e.TurnFailed.TYPE, e.TurnCancelled.TYPE})


def coming(conn: sa.Connection, after: Place, limit: int) -> Window:
    """What there is behind a place, in the journal's order; looked at are so many facts."""
    last = int(raw.one(conn, collector.LAST)[0])
    reach = min(last, after.at + collector.FACTS)
    rows = raw.every(conn, COMING, (after.at, reach, limit))
    over: dict[str, int | None] = {}
    found = list[Ended]()
    for row in rows:
        found += _found(conn, row, over)
    cut = len(rows) == limit
    return Window(
        turns=tuple(found), scanned=Place(at=rows[-1][0] if cut else max(reach, after.at)),
        more=cut or reach < last,
    )  # fmt: skip


def _found(conn: sa.Connection, row: Any, over: dict[str, int | None]) -> list[Ended]:
    position, journal, seq, kind, time, turn_id, effect_id, payload = row
    if kind in _ENDS:
        return [Ended(turn_id=turn_id, time=time, place=Place(at=position))] if turn_id else []
    turns, of = [turn_id] if turn_id else [], f"effect {effect_id}"
    if payload:
        said = json.loads(payload)
        refs = said.get("turns", ()) if kind == e.EgressTried.TYPE else [said.get("turn")]
        turns = [ref["turn_id"] for ref in refs if ref]
        of = f"connect {journal} {seq}"
        if kind == e.DiskKept.TYPE:
            of = f"keep {journal} {said['version']}"
    late = [one for one in turns if (end := _end(conn, one, over)) is not None and end < position]
    # all but the last leave the place before the fact, so that a death between loses none
    places = [Place(at=position - 1)] * (len(late) - 1) + [Place(at=position)]
    return [
        Ended(turn_id=one, time=time, place=place, of=of, came=position)
        for one, place in zip(late, places, strict=False)
    ]  # fmt: skip


def _end(conn: sa.Connection, turn_id: str, known: dict[str, int | None]) -> int | None:
    """Where a turn ended in the journal; None while it is in hand."""
    if turn_id not in known:
        is_over = raw.one(conn, IS_OVER, (turn_id,)) is not None
        row = raw.one(conn, END, (turn_id,)) if is_over else None
        known[turn_id] = int(row[0]) if row is not None else None
    return known[turn_id]
