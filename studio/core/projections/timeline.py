"""The timeline of a session: one line a fact that opens one, in windows by its sequence number."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from studio.core.projections import calls, pages, sessions, turn_disks, waits
from studio.core.projections.calls import CallRow
from studio.core.projections.turn_disks import TurnDisk
from studio.core.projections.waits import WaitRow
from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.events import Content, FileRef, Usage
from studio.core.store import tables

LIMIT_MOST = 500
KINDS = {
    e.MessageAccepted.TYPE: "person",
    e.ModelReplied.TYPE: "agent",
    e.CallProposed.TYPE: "call",
    e.ModelFailed.TYPE: "model_failed",
    e.ModelUncertain.TYPE: "model_uncertain",
    e.ContextCompacted.TYPE: "compacted",
    e.SummaryFailed.TYPE: "summary_failed",
    e.LimitReached.TYPE: "limit",
    e.TurnFaulted.TYPE: "faulted",
    e.TurnCompleted.TYPE: "completed",
    e.TurnFailed.TYPE: "failed",
    e.TurnCancelled.TYPE: "cancelled",
}
ENDS = (e.TurnCompleted.TYPE, e.TurnFailed.TYPE, e.TurnCancelled.TYPE)
ENDED = frozenset(KINDS[type] for type in ENDS)
LOST = "The model call was out when the worker stopped. It may have been billed; it is asked again."

CALL = ("call.", "wait.", "decision.")

c, t = tables.events.c, tables.turns.c
opens_a_line = c.line == sa.literal_column("1")  # as in the index, to the letter


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line. However it was fetched, the line of one `seq` is the same at the same facts.

    `kind` is person, agent, call, model_failed, model_uncertain, compacted, summary_failed, limit,
    faulted, completed, failed or cancelled. `text` is its words: the whole, or head and tail with a
    note of what is left out.
    `call` and `wait` (the call's newest) are set on a call's line; `payload` is the event's fields.
    `model` is who answered, in place of another when `is_fallback`; `summary` is what the provider
    wrote about the thinking. `is_cut` says that the answer ended at its longest length. `disk` is
    what the turn that ends here kept of its environment's disk.
    """

    seq: int
    time: int
    kind: str
    turn_id: str
    turn_number: int
    effect_id: str | None
    text: str
    content: Content | None
    call: CallRow | None
    wait: WaitRow | None
    by: str | None
    code: str
    message: str
    usage: Usage | None
    payload: dict[str, Any]
    files: tuple[FileRef, ...] = ()
    model: str = ""
    is_fallback: bool = False
    is_cut: bool = False
    summary: str = ""
    disk: TurnDisk | None = None


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A window of lines, oldest first, and where it ends.

    `seq` is the session's newest fact at this very read: the cursor of the live stream. `position`
    is the position of that fact. `first_seq` and `last_seq` are those of the lines, for `before`
    and `after`.
    """

    lines: tuple[Line, ...]
    has_earlier: bool
    has_later: bool
    first_seq: int | None
    last_seq: int | None
    seq: int
    position: int


@dataclass(frozen=True, kw_only=True)
class Grown:
    """Facts of a session, oldest first, and the lines they made or changed, as these are now."""

    facts: tuple[e.Fact, ...]
    lines: tuple[Line, ...]


def window(
    conn: sa.Connection, person: Person, session_id: str, *, before: int | None,
    after: int | None, limit: int,
) -> Timeline:  # fmt: skip
    """The newest lines, those before a seq, or those after one: at most five statements."""
    count = pages.size(limit, most=LIMIT_MOST)
    head = sessions.head(conn, person, session_id, *_outside(before, after))
    query = _lines().where(c.session_id == session_id, opens_a_line)
    if before is not None:
        query = query.where(c.seq < before)
    if after is not None:
        query = query.where(c.seq > after)
    order = c.seq if after is not None else c.seq.desc()
    found = sessions.rows(conn, query.order_by(order).limit(count + 1))
    more, found = len(found) > count, found[:count]
    if after is None:
        found.reverse()
    lines = _made(conn, found)
    return Timeline(
        lines=tuple(lines),
        has_earlier=more if after is None else bool(head["earlier"]),
        has_later=more if after is not None else bool(head["later"]),
        first_seq=lines[0].seq if lines else None,
        last_seq=lines[-1].seq if lines else None,
        seq=head["seq"], position=head["position"],
    )  # fmt: skip


def grown(conn: sa.Connection, person: Person, session_id: str, facts: Collection[e.Fact]) -> Grown:
    """The lines that these facts of a session made or changed: at most six statements."""
    sessions.head(conn, person, session_id)
    effects = {
        fact.event.effect_id  # type: ignore[attr-defined]
        for fact in facts
        if fact.event.TYPE.startswith(CALL)
    }
    seqs = {fact.seq for fact in facts if fact.event.LINE}
    found: dict[int, sa.RowMapping] = {}
    if seqs:
        query = _lines().where(c.session_id == session_id, c.seq.in_(list(seqs)))
        found |= {row["seq"]: row for row in sessions.rows(conn, query)}
    if effects:
        # by the effect alone, so that no planner walks the session's lines instead
        query = _lines().where(c.effect_id.in_(list(effects)))
        found |= {row["seq"]: row for row in sessions.rows(conn, query) if row["line"]}
    lines = _made(conn, [found[seq] for seq in sorted(found)]) if found else []
    return Grown(facts=tuple(facts), lines=tuple(lines))


def ends(
    conn: sa.Connection, person: Person, session_id: str, turn_ids: Collection[str]
) -> list[Line]:
    """The lines that end these turns of a session, oldest first: at most five statements."""
    sessions.head(conn, person, session_id)
    query = _lines().where(
        c.turn_id.in_(list(turn_ids)), c.session_id == session_id, c.type.in_(ENDS)
    )
    return _made(conn, sessions.rows(conn, query.order_by(c.seq)))


def _outside(before: int | None, after: int | None) -> list[sa.ColumnElement[Any]]:
    """Whether there are lines on the far side of where the window begins."""
    mine = sa.select(1).where(c.session_id == tables.sessions.c.id, opens_a_line)
    earlier = sa.exists(mine.where(c.seq <= (after or 0)))
    later = sa.exists(mine.where(c.seq >= before)) if before is not None else sa.false()
    return [earlier.label("earlier"), later.label("later")]


def _lines() -> sa.Select[Any]:
    return sa.select(
        c.session_id, c.seq, c.time, c.type, c.line, c.turn_id, c.effect_id, c.payload, t.number
    ).join_from(tables.events, tables.turns, t.id == c.turn_id)


def _made(conn: sa.Connection, found: Sequence[sa.RowMapping]) -> list[Line]:
    """Lines with the calls, waits and disks they show: two statements, three where turns end."""
    ended = [row["turn_id"] for row in found if row["type"] in ENDS]
    of_turns = turn_disks.of_turns(conn, ended)
    proposed = [row["effect_id"] for row in found if row["type"] == e.CallProposed.TYPE]
    of_effects = calls.full(conn, proposed)
    of_waits = waits.newest_of(conn, of_effects)
    lines = [_line(row, of_effects, of_waits) for row in found]
    return [
        replace(line, disk=of_turns.get(line.turn_id)) if line.kind in ENDED else line
        for line in lines
    ]


def _line(row: sa.RowMapping, of_effects: dict[str, CallRow], of_waits: dict[str, WaitRow]) -> Line:
    payload: dict[str, Any] = json.loads(row["payload"])
    effect_id = row["effect_id"]
    is_call = row["type"] == e.CallProposed.TYPE
    content = _content(payload.get("text") or payload.get("output"))
    usage = payload.get("usage")
    call = of_effects[effect_id] if is_call else None
    return Line(
        seq=row["seq"], time=row["time"], kind=KINDS[row["type"]], turn_id=row["turn_id"],
        turn_number=row["number"], effect_id=effect_id, content=content,
        text=_text(row["type"], payload, content), by=payload.get("by"),
        call=call, files=call.files if call else calls.refs(payload.get("files", [])),
        wait=of_waits.get(effect_id) if is_call else None,
        code=payload.get("code") or payload.get("limit", ""),
        message=payload.get("message") or "", usage=Usage(**usage) if usage else None,
        payload=payload, is_fallback=bool(payload.get("candidate")),
        is_cut=payload.get("stop") == "length",
        model=payload.get("model", "") if payload.get("provider") != "scripted" else "",
        summary=contents.words(summary) if (summary := _content(payload.get("summary"))) else "",
    )  # fmt: skip


def _content(made: dict[str, Any] | None) -> Content | None:
    return Content(**made) if made else None


def _text(kind: str, payload: dict[str, Any], content: Content | None) -> str:
    if content is not None:
        return contents.words(content)
    match kind:
        case e.CallProposed.TYPE:
            return str(payload["tool"])
        case e.ModelUncertain.TYPE:
            return LOST
        case e.LimitReached.TYPE:
            return _limit(payload)
        case e.TurnFaulted.TYPE:
            return _fault(payload)
        case e.TurnCancelled.TYPE:
            return str(payload["reason"])
        case _:
            return str(payload.get("message", ""))


def _limit(payload: dict[str, Any]) -> str:
    name = payload["limit"].replace("_", " ")
    then = "It stops here." if payload["hard"] else "It goes on."
    return f"The turn reached its limit: {payload['value']:,} {name}. {then}"


def _fault(payload: dict[str, Any]) -> str:
    return (
        f"The studio itself failed, try {payload['tries']} of {payload['most']}. The next is "
        f"{payload['wait'] // 1000} s later. Its log says what happened, at {payload['fault']}."
    )
