"""Traces from outside, as pages and programs see them. What they say is claimed by their senders.

The list is ordered by when the first span came, which never changes. Everybody who signs in may see
them: they are nobody's session.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import sqlalchemy as sa

from studio.core.projections import pages
from studio.core.projections.pages import Page
from studio.core.rules.errors import NotFound
from studio.core.rules.outside import arranging
from studio.core.rules.outside.arranging import Outside, Place
from studio.core.rules.outside.claims import REASONS, Crowd
from studio.core.rules.spans import Span, Trace
from studio.core.store import outside, outside_forgetting, tables
from studio.core.store.outside_forgetting import Sum

STATES = ("completed", "failed", "incomplete")
MOST_SPANS = 50_000
EXPORTED = 200  # spans read at once for an export, and about how many bytes of them
MOST_SENDERS = 50  # that are told by name
EXPORTED_BYTES = 8 * 1024 * 1024
NAMES = 100  # services, and agents, that a list offers
LOOKED = 20_000  # traces that those, and what a filter asks for, are looked for in at once
MS = 1_000_000  # ns

o, s, p = tables.outside_traces.c, tables.outside_spans.c, tables.outside_payloads.c
r = tables.outside_refusals.c


@dataclass(frozen=True, kw_only=True)
class AskedOutside:
    """The filter of the list: "" and None filter nothing. `since` is ms of our clock; where `days`
    were asked for, it follows from them."""

    service: str = ""
    agent: str = ""
    state: str = ""
    since: int | None = None
    days: int | None = None


@dataclass(frozen=True, kw_only=True)
class OutsideRow:
    """A trace in the list. `began` and `ended` are ms of the sender's clock, `taken` and `changed`
    of ours; `cost` is US dollars, and known when every model call said it."""

    id: str
    name: str
    agent: str
    service: str
    talk: str
    sent_by: str
    state: str
    began: int
    ended: int
    taken: int
    changed: int
    spans: int
    models: int
    tools: int
    errors: int
    input_tokens: int
    output_tokens: int
    cost: float
    cost_known: bool


@dataclass(frozen=True, kw_only=True)
class OutsideTrace:
    """One trace: its row and its spans as a tree. `conventions` counts spans by how they were
    recognised ("" when by none), `scopes` by what made them, `loose` those whose parents are
    amiss, by how."""

    row: OutsideRow
    trace: Trace
    conventions: Mapping[str, int] = field(default_factory=dict)
    scopes: Mapping[str, int] = field(default_factory=dict)
    loose: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OutsideSpan:
    """What one span says in full. Times are ns of the sender's clock."""

    trace_id: str
    id: str
    parent: str
    name: str
    service: str
    scope: str
    convention: str
    sent_by: str
    is_error: bool
    words: str
    began: int
    ended: int | None
    attributes: dict[str, Any]
    resource: dict[str, Any]
    events: list[dict[str, Any]]
    links: list[dict[str, Any]]
    cut: dict[str, dict[str, Any]]
    dropped: int


@dataclass(frozen=True, kw_only=True)
class RefusalRow:
    """Spans of a sender that were not kept, by reason, with the last one that was named.

    `crowd` is what is here of a sender that has no room.
    """

    sent_by: str
    code: str
    reason: str
    count: int
    example: str
    time: int
    crowd: Crowd | None = None


@dataclass(frozen=True, kw_only=True)
class OutsideSender:
    """A sender: how many bytes of it are here (None when it never sent any), and the sum of some of
    its traces."""

    sent_by: str
    bytes: int | None
    sum: Sum


def page(
    conn: sa.Connection, asked: AskedOutside, *, limit: int, cursor: str | None
) -> Page[OutsideRow]:
    """One page, the newest first. A filter by names looks at so many traces, whatever it finds; it
    says when there are more, and the next page goes on with those."""
    pages.one_of("state", asked.state, STATES)
    bound = pages.filter_digest(list="outside_traces", **pages.still(vars(asked)))
    place = pages.place(cursor, bound, int, str)
    within = [o.taken >= asked.since] if asked.since is not None else []
    if place is not None:
        within.append(sa.tuple_(o.taken, o.id) < sa.tuple_(*map(sa.literal, place)))
    edge = _edge(conn, within) if asked.service or asked.agent or asked.state else None
    if edge is not None:
        within.append(sa.tuple_(o.taken, o.id) >= sa.tuple_(*map(sa.literal, edge)))
    query = sa.select(*_columns()).where(*within, *_chosen(asked))
    query = query.order_by(o.taken.desc(), o.id.desc()).limit(pages.size(limit) + 1)
    found = [_row(row) for row in conn.execute(query).mappings()]
    items = tuple(found[:limit])
    if len(found) > limit:
        return Page(items=items, next=pages.cursor(bound, (items[-1].taken, items[-1].id)))
    if edge is not None:
        return Page(items=items, next=pages.cursor(bound, edge), complete=False)
    return Page(items=items)


def _edge(conn: sa.Connection, within: list[Any]) -> tuple[int, str] | None:
    """The last trace of those that are looked at; None when there are fewer."""
    query = sa.select(o.taken, o.id).where(*within).order_by(o.taken.desc(), o.id.desc())
    row = conn.execute(query.limit(1).offset(LOOKED - 1)).one_or_none()
    return None if row is None else (row.taken, row.id)


def names(conn: sa.Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Services and agents of the newest traces, by name."""
    newest = sa.select(o.service, o.agent).where(o.changed > 0)
    of = newest.order_by(o.taken.desc(), o.id.desc()).limit(LOOKED).subquery().c
    found = []
    for column in (of.service, of.agent):
        query = sa.select(column).where(column != "").distinct().order_by(column)
        found.append(tuple(conn.execute(query.limit(NAMES)).scalars()))
    return found[0], found[1]


def moves(conn: sa.Connection) -> int:
    """A number that grows whenever spans came, were refused or went."""
    return outside.moves(conn)


def refusals(conn: sa.Connection) -> list[RefusalRow]:
    """What was refused lately, the newest first."""
    query = sa.select(r.sent_by, r.code, r.count, r.example, r.time).order_by(r.time.desc(), r.code)
    rows = conn.execute(query.limit(NAMES)).mappings()
    return [
        RefusalRow(
            reason=REASONS.get(row["code"], row["code"]), **row,
            crowd=outside.room(conn, row["sent_by"]) if row["code"] == "sender_full" else None,
        )
        for row in rows
    ]  # fmt: skip


def one(conn: sa.Connection, trace_id: str) -> OutsideTrace:
    """One trace with all its spans as a tree: two statements, whatever its size."""
    it = head(conn, trace_id)
    query = sa.select(*(s[name] for name in _SPAN)).where(s.trace_id == trace_id)
    rows = conn.execute(query.limit(MOST_SPANS)).all()
    told = Outside(
        id=it.id, name=it.name, agent=it.agent, service=it.service, state=it.state,
        began=it.began, ended=it.ended,
    )  # fmt: skip
    trace = arranging.arranged(told, map(_place, rows), _span)
    return OutsideTrace(
        row=it,
        trace=trace,
        loose=Counter(span.loose for span in trace.spans if span.loose),
        conventions=Counter(one.convention for one in rows),
        scopes=Counter(one.scope for one in rows),
    )


def head(conn: sa.Connection, trace_id: str) -> OutsideRow:
    """The row of one trace; Gone when it was forgotten, NotFound when nobody knows of it."""
    found = row(conn, trace_id)
    if found is None:
        raise outside_forgetting.missing(conn, trace_id)
    return found


def row(conn: sa.Connection, trace_id: str) -> OutsideRow | None:
    """The row of one trace, if it is here."""
    query = sa.select(*_columns()).where(o.id == trace_id, o.changed > 0)
    found = conn.execute(query).mappings().one_or_none()
    return None if found is None else _row(found)


def sender(conn: sa.Connection, sent_by: str, before: int) -> OutsideSender:
    """What is here of a sender, and of that what its traces are whose last span came before a
    time."""
    return OutsideSender(
        sent_by=sent_by, bytes=outside_forgetting.kept(conn, sent_by),
        sum=outside_forgetting.in_all(conn, sent_by, before),
    )  # fmt: skip


def senders(conn: sa.Connection) -> list[tuple[str, int, int]]:
    """The senders of which most is kept: names, spans and bytes."""
    return outside_forgetting.largest(conn, MOST_SENDERS)


def span(conn: sa.Connection, trace_id: str, span_id: str) -> OutsideSpan:
    """One span in full."""
    query = _full().where(s.trace_id == trace_id, s.span_id == span_id)
    row = conn.execute(query).one_or_none()
    if row is None:
        raise NotFound("This trace has no such span.", code="outside_span.not_found")
    return _whole(row)


def window(conn: sa.Connection, trace_id: str, after: str) -> list[OutsideSpan]:
    """Some spans in full, by id, behind `after`; none when there are no more. For an export."""
    query = _full().where(s.trace_id == trace_id, s.span_id > after)
    found, size = list[OutsideSpan](), 0
    for row in conn.execute(query.order_by(s.span_id).limit(EXPORTED)):
        size += outside.size(bytes(row.data))
        if found and size > EXPORTED_BYTES:
            break
        found.append(_whole(row))
    return found


_ROW = [one.name for one in fields(OutsideRow) if one.name != "cost_known"]
_SPAN = (
    "span_id", "parent_id", "name", "kind", "what", "state", "began", "ended", "server", "agent",
    "service", "scope", "code", "words", "input_tokens", "output_tokens", "cached_tokens",
    "reasoning_tokens", "cost", "convention",
)  # fmt: skip
_FULL = (
    "trace_id", "span_id", "parent_id", "name", "service", "scope", "convention", "sent_by",
    "state", "words", "began", "ended",
)  # fmt: skip


def _columns() -> Iterator[sa.ColumnElement[Any]]:
    yield from (o[name] for name in _ROW)
    yield o.unpriced


def _chosen(asked: AskedOutside) -> Iterator[sa.ColumnElement[bool]]:
    yield o.changed > 0
    for column, value in (
        (o.service, asked.service),
        (o.agent, asked.agent),
        (o.state, asked.state),
    ):
        if value:
            yield column == value


def _row(row: sa.RowMapping) -> OutsideRow:
    values = {name: row[name] for name in _ROW}
    values["began"], values["ended"] = row["began"] // MS, row["ended"] // MS
    return OutsideRow(**values, cost_known=not row["unpriced"])


def _place(row: Any) -> Place:
    end = None if row.ended is None else row.ended // MS
    return Place(row.span_id, row.parent_id, row.began // MS, end, row.kind, row.words, row)


def _span(place: Place) -> Span:
    row = place.of
    return Span(
        id=place.id, parent=place.parent, name=row.name, kind=place.kind, what=row.what,
        state=row.state, start=place.start, end=place.end, depth=place.depth,
        server=row.server, code=row.code,
        words=place.words, is_critical=place.is_critical, is_slowest=place.is_slowest,
        loose=place.loose,
        input_tokens=row.input_tokens, output_tokens=row.output_tokens,
        cached_tokens=row.cached_tokens, reasoning_tokens=row.reasoning_tokens, cost=row.cost,
    )  # fmt: skip


def _full() -> sa.Select[Any]:
    joined = tables.outside_spans.join(
        tables.outside_payloads, (p.trace_id == s.trace_id) & (p.span_id == s.span_id)
    )
    return sa.select(*(s[name] for name in _FULL), p.data).select_from(joined)


def _whole(row: Any) -> OutsideSpan:
    said = outside.unpack(bytes(row.data))
    return OutsideSpan(
        trace_id=row.trace_id, id=row.span_id, parent=row.parent_id, name=row.name,
        service=row.service, scope=row.scope, convention=row.convention, sent_by=row.sent_by,
        is_error=row.state == "failed", words=row.words, began=row.began, ended=row.ended,
        attributes=said.get("attributes", {}), resource=said.get("resource", {}),
        events=said.get("events", []), links=said.get("links", []), cut=said.get("cut", {}),
        dropped=said.get("dropped", 0),
    )  # fmt: skip
