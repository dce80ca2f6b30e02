"""Turns over all sessions, the newest first, and how long agents and tools usually take.

Ids of turns sort by when they were opened, which never changes: they are the order and the cursor.
A page, and what is usual, looks through so many of the newest turns and says when there are more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

import sqlalchemy as sa

from studio.core.projections import pages, sessions
from studio.core.projections.pages import Page
from studio.core.projections.sessions import TurnRow
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid
from studio.core.store import tables

STATUSES = (
    "queued", "running", "held", "waiting", "completed", "failed", "cancelled",
)  # fmt: skip
FILTERS = (
    "agent", "status", "tool", "plugin", "error", "seconds", "under", "cost", "days", "since",
    "until",
)  # fmt: skip
LOOKED = 20_000  # turns that one look goes through, whatever is asked for
USUAL = 1_000  # newest turns, or calls, that say what is usual
SHOWN = 8
DAY = 86_400_000

s, t, f = tables.sessions.c, tables.turns.c, tables.effects.c


@dataclass(frozen=True, kw_only=True)
class AskedTurns:
    """The filter of the list: "" and None filter nothing. Times are ms, costs US dollars.

    `tool` is a part of the name of a tool that it called, `error` one of a code or of the words of
    what went wrong, of the turn or of anything it did. Where `days` were asked for, `since` follows
    from them: it moves from look to look, and the list stays the same one.
    """

    agent: str = ""
    status: str = ""
    tool: str = ""
    plugin: str = ""
    error: str = ""
    least_ms: int | None = None
    most_ms: int | None = None
    least_cost: float | None = None
    since: int | None = None
    until: int | None = None
    days: float | None = None


def of_texts(given: Mapping[str, str], now: int) -> AskedTurns:
    """The filter as an address has it: agent, status, tool, plugin, error; seconds and cost, the
    least; under, the most seconds; since and until, days (UTC) counted in, or days until now.

    What is no number and no day filters nothing.
    """
    since, until = day(given.get("since", "")), day(given.get("until", ""))
    days = number(given.get("days", ""))
    if since is not None:
        days = None
    elif days:
        since = now - int(days * DAY)
    least, most = number(given.get("seconds", "")), number(given.get("under", ""))
    return AskedTurns(
        **{name: given.get(name, "") for name in ("agent", "status", "tool", "plugin", "error")},
        least_ms=None if least is None else int(least * 1000),
        most_ms=None if most is None else int(most * 1000),
        least_cost=number(given.get("cost", "")), since=since,
        until=None if until is None else until + DAY, days=days,
    )  # fmt: skip


def checked_days(given: Mapping[str, str]) -> None:
    """Invalid when since or until is no day, or the last day comes before the first."""
    wrong = {
        name: "is no day: write it as 2026-11-30."
        for name in ("since", "until")
        if given.get(name) and day(given[name]) is None
    }
    first, last = day(given.get("since", "")), day(given.get("until", ""))
    if first is not None and last is not None and last < first:
        wrong["until"] = "is before `since`."
    if wrong:
        raise Invalid("A filter is not understood.", code="filter.invalid", fields=wrong)


def number(text: str) -> float | None:
    """A number that is not negative and not absurd; None when it is no such thing."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e6 else None


def day(text: str) -> int | None:
    """When that day begins (ms, UTC); None when it is no day."""
    try:
        return (date.fromisoformat(text) - date(1970, 1, 1)).days * DAY if text else None
    except ValueError:
        return None


@dataclass(frozen=True, kw_only=True)
class TurnLine:
    """A turn in the list, with its session's title and agent."""

    turn: TurnRow
    title: str
    agent: str
    agent_version: int


@dataclass(frozen=True, kw_only=True)
class Usual:
    """How long something took, over the newest `count` of its kind: percentiles in ms.

    `wrong` counts those that failed, were denied or are uncertain.
    """

    name: str
    count: int
    p50: int
    p95: int
    wrong: int


_TURN = [field.name for field in fields(TurnRow)]
_COLUMNS = [
    *(t[name].label(f"t_{name}") for name in _TURN),
    s.title.label("s_title"), s.agent.label("s_agent"), s.agent_version.label("s_version"),
]  # fmt: skip


def page(
    conn: sa.Connection, person: Person, asked: AskedTurns, *, limit: int, cursor: str | None
) -> Page[TurnLine]:
    """One page of the next `LOOKED` turns: two statements."""
    pages.one_of("status", asked.status, STATUSES)
    bound = pages.filter_digest(list="turns", **pages.still(vars(asked)))
    place = pages.place(cursor, bound, str)
    least = _least(conn, place)
    query = _chosen(sa.select(*_COLUMNS), person, asked, least)
    if place is not None:
        query = query.where(t.id < place[0])
    found = sessions.rows(conn, query.order_by(t.id.desc()).limit(pages.size(limit) + 1))
    items = tuple(_line(row) for row in found[:limit])
    if len(found) > limit:
        return Page(items=items, next=pages.cursor(bound, (items[-1].turn.id,)))
    elif least:
        return Page(items=items, next=pages.cursor(bound, (least,)), complete=False)
    return Page(items=items)


def _least(conn: sa.Connection, place: pages.Place | None = None) -> str:
    """The oldest turn of the next `LOOKED`; "" when there is none behind it."""
    newest = sa.select(t.id).order_by(t.id.desc())
    if place is not None:
        newest = newest.where(t.id < place[0])
    found = list(conn.execute(newest.limit(2).offset(LOOKED - 1)).scalars())
    return found[0] if len(found) > 1 else ""


def usual(
    conn: sa.Connection, person: Person, asked: AskedTurns
) -> tuple[list[Usual], list[Usual]]:
    """What agents and tools usually take among the newest turns asked for: three statements."""
    least = _least(conn)
    ended = _chosen(
        sa.select(s.agent, t.opened, t.ended, t.status), person, asked, least
    ).where(t.ended.is_not(None))  # fmt: skip
    turns = conn.execute(ended.order_by(t.id.desc()).limit(USUAL)).all()
    agents = _usual((name, end - begun, status == "failed") for name, begun, end, status in turns)
    mine = _chosen(sa.select(t.id), person, asked, least).order_by(t.id.desc()).limit(USUAL)
    sent = (
        sa.select(f.tool, f.started_at, f.ended_at, f.state)
        .where(f.turn_id.in_(mine), f.kind != "model", f.started_at.is_not(None))
        .where(f.ended_at.is_not(None))
        .limit(10 * USUAL)
    )
    calls = conn.execute(sent).all()
    wrong = ("failed", "uncertain")
    tools = _usual((name, end - begun, state in wrong) for name, begun, end, state in calls)
    return agents, tools


def _chosen(query: sa.Select[Any], person: Person, asked: AskedTurns, least: str) -> sa.Select[Any]:
    """Those asked for, from `least` on. The concatenations keep SQLite on the order of turns."""
    conditions: list[sa.ColumnElement[bool]] = [
        *sessions.visible(person, t.private, t.owner),
        *([t.id >= least] if least else []),
        *([s.agent.concat("") == asked.agent] if asked.agent else []),
        *([t.status == asked.status] if asked.status else []),
        *([t.opened >= asked.since] if asked.since is not None else []),
        *([t.opened < asked.until] if asked.until is not None else []),
        *([t.ended - t.opened >= asked.least_ms] if asked.least_ms is not None else []),
        *([t.ended - t.opened <= asked.most_ms] if asked.most_ms is not None else []),
        *([t.cost >= asked.least_cost] if asked.least_cost is not None else []),
    ]
    if asked.tool:
        conditions.append(_did(f.kind != "model", _holds(f.tool, asked.tool)))
    if asked.plugin:
        conditions.append(_did(f.plugin.concat("") == asked.plugin))
    if asked.error:
        of_turn = sa.or_(_holds(t.code, asked.error), _holds(t.message, asked.error))
        of_effect = sa.or_(_holds(f.code, asked.error), _holds(f.message, asked.error))
        conditions.append(sa.or_(of_turn, _did(of_effect)))
    joined = tables.turns.join(tables.sessions, s.id == t.session_id)
    return query.select_from(joined).where(*conditions)


def _did(*what: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """It did something like that."""
    return sa.exists().where(f.turn_id == t.id, *what)


def _holds(column: sa.ColumnElement[str], words: str) -> sa.ColumnElement[bool]:
    """The words are in it, in capitals or not."""
    return sa.func.lower(column).like(pages.like(words.lower()), escape=pages.BACKSLASH)


def _line(row: sa.RowMapping) -> TurnLine:
    values = {name: row[f"t_{name}"] for name in _TURN}
    values["cost_known"] = bool(values["cost_known"])
    return TurnLine(
        turn=TurnRow(**values), title=row["s_title"], agent=row["s_agent"],
        agent_version=row["s_version"],
    )  # fmt: skip


def _usual(found: Iterable[tuple[str, int, bool]]) -> list[Usual]:
    took, wrong = dict[str, list[int]](), dict[str, int]()
    for name, lasted, is_wrong in found:
        took.setdefault(name, []).append(max(lasted, 0))
        wrong[name] = wrong.get(name, 0) + is_wrong
    often = sorted(took.items(), key=lambda item: (-len(item[1]), item[0]))[:SHOWN]
    return [
        Usual(name=name, count=len(all_), p50=at(all_, 0.5), p95=at(all_, 0.95), wrong=wrong[name])
        for name, all_ in often
    ]


def at(values: Sequence[int], share: float) -> int:
    """The value that `share` (0 to 1) of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    rank = max(-(-len(ordered) * int(share * 100) // 100), 1)
    return ordered[rank - 1]
