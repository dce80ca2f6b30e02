"""Tokens and cost by day, agent, model, plugin or session, over days in UTC.

What a person may not see is in no sum. A row holds what is known and how many attempts said nothing
of their tokens (`untold`) or have no price (`unpriced`): with any of them a sum is a lower bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Literal

import sqlalchemy as sa

from studio.core.projections.sessions import visible
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid
from studio.core.store import tables

By = Literal["day", "agent", "model", "plugin", "session"]
BYS: tuple[By, ...] = ("day", "agent", "model", "plugin", "session")
EPOCH = date(1970, 1, 1)
DAY = 86_400_000
MOST_DAYS = 366
NANO = 1_000_000_000
LOST_SHOWN = 50
NO_PLUGIN = ""

days, by_session, plugins = tables.usage_days.c, tables.usage_sessions.c, tables.usage_plugins.c
TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens",
          "reasoning_tokens")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Span:
    """Days, both counted in, UTC."""

    first: date
    last: date

    @property
    def days(self) -> int:
        """How many."""
        return (self.last - self.first).days + 1


@dataclass(frozen=True, kw_only=True)
class UsageRow:
    """What was used. `key` is the day, agent, plugin or session's id, or `provider/model`.

    `cost` is US dollars. Cached and cache-write tokens are parts of the input, reasoning ones of
    the output. `lost` attempts failed, or nobody knows what became of them, and were or may have
    been billed; they are in the sums. Calls are counted for plugins alone, whose tokens and cost
    are their calls' shares of the replies that asked for them.
    """

    key: str = ""
    label: str = ""
    provider: str = ""
    attempts: int = 0
    untold: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float = 0.0
    lost: int = 0
    lost_unpriced: int = 0
    lost_cost: float = 0.0
    calls: int = 0
    failed: int = 0
    denied: int = 0
    held: int = 0


@dataclass(frozen=True, kw_only=True)
class LostRow:
    """An attempt that failed, or whose outcome nobody recorded, and that was or may be billed.

    None is unknown. `certain` says that the provider told of its use.
    """

    effect_id: str
    session_id: str
    title: str
    agent: str
    provider: str
    model: str
    time: int
    certain: bool
    message: str
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


@dataclass(frozen=True, kw_only=True)
class UsageView:
    """Usage in a span. `rows` are the groups, the dearest first (days in their order).

    `more` says that there are groups beyond these; `days` has a row for every day of the span.
    """

    span: Span
    by: By
    total: UsageRow
    days: tuple[UsageRow, ...]
    rows: tuple[UsageRow, ...]
    more: bool
    lost: tuple[LostRow, ...]


def span(first: str, last: str, count: int, today: date) -> Span:
    """The days that are asked for: two dates, or as many days as `count` until today."""
    if not first and not last:
        if not 1 <= count <= MOST_DAYS:
            raise _bad(days=f"must be from 1 to {MOST_DAYS}.")
        return Span(first=today - timedelta(days=count - 1), last=today)
    faults = {}
    parsed = {}
    for name, text in (("since", first), ("until", last)):
        try:
            parsed[name] = date.fromisoformat(text) if text else today
        except ValueError:
            faults[name] = "must be a day, such as 2026-11-29."
    if faults:
        raise _bad(**faults)
    since = parsed["since"] if first else parsed["until"] - timedelta(days=count - 1)
    found = Span(first=since, last=parsed["until"])
    if found.first < EPOCH or found.days < 1:
        raise _bad(since="must be a day before the last one, and not before 1970.")
    if found.days > MOST_DAYS:
        raise _bad(since=f"is more than {MOST_DAYS} days before the last one.")
    return found


def view(conn: sa.Connection, person: Person, asked: Span, by: By, limit: int) -> UsageView:
    """The sums, the days, the groups and the lost attempts: four statements."""
    daily = {row.key: row for row in _grouped(conn, person, asked, "day")}
    each = (asked.first + timedelta(days=n) for n in range(asked.days))
    every = tuple(daily.get(day.isoformat(), UsageRow(key=day.isoformat())) for day in each)
    total = _total(every)
    found = [row for row in every if row.attempts]
    if by != "day":
        found = list(groups(conn, person, asked, by, total, limit + 1))
        limit = limit if by == "session" else len(found)
    return UsageView(
        span=asked, by=by, total=total, days=every, lost=tuple(_lost(conn, person, asked)),
        rows=tuple(found if by == "day" else found[:limit]),
        more=by == "session" and len(found) > limit,
    )  # fmt: skip


def groups(
    conn: sa.Connection, person: Person, asked: Span, by: By, total: UsageRow, limit: int
) -> Iterator[UsageRow]:
    """The groups, the dearest first."""
    if by == "plugin":
        yield from _plugins(conn, person, asked, total)
    elif by == "session":
        yield from _sessions(conn, person, asked, limit)
    else:
        yield from _grouped(conn, person, asked, by)


def sessions_after(
    conn: sa.Connection, person: Person, asked: Span, after: tuple[int, str], limit: int
) -> tuple[list[UsageRow], tuple[int, str] | None]:
    """Sessions in the order of their place, and the place of the last; None at the end.

    Those that were used on a later day than they began stand first, under day 0, then the others
    by their day: each is there once.
    """
    day, session_id = after
    if day == 0:
        sums = _later(person, asked).subquery()
        query = sa.select(sums).where(sums.c.key > session_id).order_by(sums.c.key).limit(limit)
        found = sorted(_named(conn, query), key=lambda row: row.key)
        if len(found) == limit:
            return found, (0, found[-1].key)
        return found, (_number(asked.first), "")
    table = by_session
    later = tables.usage_sessions.alias("later")
    again = sa.select(later.c.day).where(
        later.c.session_id == table.session_id,
        later.c.day > later.c.start,
        *_inside(later.c, asked),
    )
    query = _plain().add_columns(table.day.label("on_day")).where(
        sa.tuple_(table.day, table.session_id) > sa.tuple_(day, session_id),
        table.day <= _number(asked.last), table.day == table.start, ~again.exists(),
        *visible(person, table.private, table.owner),
    ).order_by(table.day, table.session_id).limit(limit)  # fmt: skip
    read = conn.execute(_with_names(query)).mappings()
    rows = sorted(read, key=lambda row: (row["on_day"], row["key"]))
    found = [_session(row) for row in rows]
    if len(rows) < limit:
        return found, None
    return found, (rows[-1]["on_day"], found[-1].key)


def total(conn: sa.Connection, person: Person, asked: Span) -> UsageRow:
    """All of it."""
    return _total(tuple(_grouped(conn, person, asked, "day")))


def _grouped(conn: sa.Connection, person: Person, asked: Span, by: By) -> Iterator[UsageRow]:
    keys: list[Any] = {
        "day": [days.day], "agent": [days.agent], "model": [days.provider, days.model],
    }[by]  # fmt: skip
    query = _sums(days).add_columns(*keys)
    query = query.where(*_inside(days, asked), *visible(person, days.private, days.owner))
    query = query.group_by(*keys)
    if by == "day":
        query = query.order_by(days.day)
    else:
        query = query.order_by(sa.desc("nano"), sa.desc("input_tokens"), *keys)
    for row in conn.execute(query).mappings():
        yield _row(row)


def _plugins(
    conn: sa.Connection, person: Person, asked: Span, total: UsageRow
) -> Iterator[UsageRow]:
    """Each plugin, then what is no plugin's: the rest of the sums."""
    names = ("calls", "failed", "denied", "held", "untold", "unpriced", "nano", *TOKENS)
    query = sa.select(*(_sum(plugins[name]) for name in names), plugins.plugin.label("key"))
    query = query.where(*_inside(plugins, asked), *visible(person, plugins.private, plugins.owner))
    query = query.group_by(plugins.plugin).order_by(sa.desc("nano"), sa.desc("calls"), "key")
    found = [_row(row) for row in conn.execute(query).mappings()]
    yield from found
    if total.attempts:
        left = {
            name: getattr(total, name) - sum(getattr(row, name) for row in found) for name in TOKENS
        }
        cost = round(total.cost - sum(row.cost for row in found), 9)
        yield UsageRow(
            key=NO_PLUGIN, label="no plugin", cost=cost, unpriced=total.unpriced,
            untold=total.untold, **left,
        )  # fmt: skip


def _sessions(conn: sa.Connection, person: Person, asked: Span, limit: int) -> Iterator[UsageRow]:
    """The dearest sessions, without adding up all of them.

    A session that was used on no later day than it began has one row: of those the dearest of each
    day are enough. The others are added up. One that is in neither list is dearer than no session
    of either, so both together hold the dearest.
    """
    dear: list[Any] = [sa.desc("nano"), sa.desc("input_tokens")]
    later = _later(person, asked).order_by(*dear, "key").limit(limit)
    table = by_session
    each = (
        _plain()
        .where(
            table.day == _number(asked.first) + n,
            table.start == table.day,
            *visible(person, table.private, table.owner),
        )
        .order_by(table.nano.desc(), table.input_tokens.desc())
        .limit(limit)
        .subquery()
        for n in range(asked.days)
    )
    single = sa.union_all(*(sa.select(one) for one in each)).subquery()
    first = sa.select(single).order_by(*dear, "key").limit(limit)
    best: dict[str, UsageRow] = {}
    for row in (*_named(conn, later), *_named(conn, first)):
        best.setdefault(row.key, row)
    ordered = sorted(best.values(), key=lambda row: (-row.cost, -row.input_tokens, row.key))
    yield from ordered[:limit]


def _plain() -> sa.Select[Any]:
    columns: list[Any] = [by_session[name] for name in tables.USED]
    return sa.select(*columns, by_session.session_id.label("key"))


def _later(person: Person, asked: Span) -> sa.Select[Any]:
    """The sums of sessions that were used on a later day than they began."""
    table = by_session
    sums = _sums(table).add_columns(table.session_id.label("key"), table.start.label("begun"))
    inner = sums.where(
        table.day > table.start, *_inside(table, asked),
        *visible(person, table.private, table.owner),
    ).group_by(table.session_id, table.start).subquery()  # fmt: skip
    begun = tables.usage_sessions.alias("begun")
    joined = sa.and_(
        begun.c.day == inner.c.begun, begun.c.session_id == inner.c.key,
        begun.c.day >= _number(asked.first),
    )  # fmt: skip
    columns: list[Any] = [
        (inner.c[name] + sa.func.coalesce(begun.c[name], 0)).label(name) for name in tables.USED
    ]
    return sa.select(*columns, inner.c.key).join_from(inner, begun, joined, isouter=True)


def _named(conn: sa.Connection, query: sa.Select[Any]) -> list[UsageRow]:
    return [_session(row) for row in conn.execute(_with_names(query)).mappings()]


def _with_names(query: sa.Select[Any]) -> sa.Select[Any]:
    found, s = query.subquery(), tables.sessions.c
    joined = sa.select(found, s.title.label("title"), s.agent.label("of_agent"))
    return joined.join_from(found, tables.sessions, s.id == found.c.key)


def _session(row: Any) -> UsageRow:
    plain = {name: row[name] for name in (*tables.USED, "key")}
    return replace(_row(plain), label=row["title"], provider=row["of_agent"])


def _lost(conn: sa.Connection, person: Person, asked: Span) -> Iterator[LostRow]:
    """The newest attempts that failed and were, or may have been, billed."""
    f, s = tables.effects.c, tables.sessions.c
    told = sa.or_(f.input_tokens.is_not(None), f.output_tokens.is_not(None), f.cost.is_not(None))
    first, end = _number(asked.first) * DAY, (_number(asked.last) + 1) * DAY
    query = (
        sa.select(
            f.id, f.session_id, s.title, s.agent, f.server, f.tool, f.proposed_at, f.state,
            f.message, f.input_tokens, f.output_tokens, f.cost,
        )
        .join_from(tables.effects, tables.sessions, s.id == f.session_id)
        .where(
            sa.text("kind = 'model' AND state IN ('failed', 'uncertain')"),
            sa.or_(f.state == "uncertain", f.maybe_billed == 1, told),
            f.proposed_at >= first, f.proposed_at < end, *visible(person),
        )
        .order_by(f.proposed_at.desc(), f.id.desc())
        .limit(LOST_SHOWN)
    )  # fmt: skip
    for row in conn.execute(query):
        certain = any(one is not None for one in (row.input_tokens, row.output_tokens, row.cost))
        yield LostRow(
            effect_id=row.id, session_id=row.session_id, title=row.title, agent=row.agent,
            provider=row.server or "", model=row.tool, time=row.proposed_at, certain=certain,
            message=row.message or "Nobody recorded what came of it.",
            input_tokens=row.input_tokens, output_tokens=row.output_tokens, cost=row.cost,
        )  # fmt: skip


def _sums(table: Any) -> sa.Select[Any]:
    columns: list[Any] = [_sum(table[name]) for name in tables.USED]
    return sa.select(*columns)


def _sum(column: Any) -> sa.ColumnElement[int]:
    return sa.cast(sa.func.sum(column), sa.BigInteger).label(column.name)


def _inside(table: Any, asked: Span) -> tuple[sa.ColumnElement[bool], ...]:
    return table.day >= _number(asked.first), table.day <= _number(asked.last)


def _number(day: date) -> int:
    return (day - EPOCH).days


def _row(row: Any) -> UsageRow:
    found = {name: int(row[name]) for name in row if name not in KEYS}
    nano, lost = found.pop("nano", 0), found.pop("lost_nano", 0)
    key, provider = str(row.get("key", "")), row.get("provider", "")
    if "day" in row:
        key = (EPOCH + timedelta(days=row["day"])).isoformat()
    elif "agent" in row:
        key = row["agent"]
    elif "model" in row:
        key = f"{provider}/{row['model']}"
    label = row.get("model", key)
    return UsageRow(
        key=key, label=label, provider=provider, cost=nano / NANO, lost_cost=lost / NANO, **found
    )


KEYS = frozenset({"key", "day", "agent", "provider", "model"})


def _total(rows: tuple[UsageRow, ...]) -> UsageRow:
    names = ("attempts", "untold", "unpriced", "lost", "lost_unpriced", *TOKENS)
    whole = {name: sum(getattr(row, name) for row in rows) for name in names}
    money = {
        name: round(sum(getattr(row, name) for row in rows), 9) for name in ("cost", "lost_cost")
    }
    return UsageRow(**whole, **money)


def _bad(**fields: str) -> Invalid:
    name, words = next(iter(fields.items()))
    return Invalid(f"These days cannot be shown: {name} {words}", fields=fields, code="usage.days")
