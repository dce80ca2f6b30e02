"""Two turns side by side: aligned steps, the first difference, what changed in the arguments."""

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import AskedTurns, SessionView, TurnLine
from studio.core.rules import agent_diff, comparing
from studio.core.rules.agent_diff import FieldChange
from studio.core.rules.comparing import Comparison, Pair
from studio.core.rules.spans import Trace
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, person, reader

OFFERED = 20  # turns of the same agent to compare with
ROWS = 400  # of a page
BEFORE = 10  # rows that stand before the first difference when the page begins there
DIFFED = 20  # calls whose arguments are read and told apart
UNITS = {"cost": "usd", "tokens in": "tokens", "tokens out": "tokens"}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One aligned step, with what differs in its arguments; `number` is its place.

    `is_large`: the arguments differ and are too large to be told apart here.
    """

    number: int
    pair: Pair
    fields: tuple[FieldChange, ...] = ()
    is_large: bool = False


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of both turns; None is unknown. `unit` is ms, usd or tokens."""

    name: str
    unit: str
    left: float | None
    right: float | None


@dataclass(frozen=True, kw_only=True)
class CompareView:
    """A turn, and the one it is compared with; without that one, those that are offered.

    `start` is the place of the first row, `url` leads to the rows from another, and `to_first` to
    the first difference; `most` spans of each were looked at. `other` is the title of the other's
    session, where that is another.
    """

    frame: Frame
    session: SessionView
    trace: Trace
    offered: tuple[TurnLine, ...]
    other: str = ""
    found: Comparison | None = None
    figures: tuple[Figure, ...] = ()
    rows: tuple[Row, ...] = ()
    start: int = 0
    url: str = ""
    to_first: str = ""
    size: int = 0
    most: int = 0


async def show(request: Request) -> Response:
    """GET /sessions/{session_id}/turns/{turn}/comparison?with=<session id>/<turn>."""
    asking, session_id = person(request), request.path_params["session_id"]
    trace = await reader(request).trace(asking, session_id, request.path_params["turn"])
    offered = await _offered(request, trace)
    other_session, _, other_turn = asked(request, "with").partition("/")
    found: Comparison | None = None
    if other_session:  # without a turn, or with a strange one, it is not found
        found = await reader(request).compared(
            asking, (other_session, other_turn), (session_id, trace.turn.id)
        )
    start = _start(found, asked(request, "from")) if found else 0
    query = urlencode({"with": f"{other_session}/{other_turn}"}, safe="/")
    url = f"/sessions/{session_id}/turns/{trace.turn.number}/comparison?{query}&from="
    view = CompareView(
        frame=await frame(request, f"Compare turn {trace.turn.number}", nav="sessions"),
        session=await reader(request).session(asking, session_id),
        trace=trace,
        offered=offered,
        found=found,
        other=await _title(request, other_session) if found and other_session != session_id else "",
        figures=_figures(found) if found else (),
        rows=await _rows(request, found, start) if found else (),
        start=start,
        url=url,
        to_first=_to_first(found, start, url) if found else "",
        size=ROWS,
        most=comparing.MOST,
    )
    return page(request, "turns/compare.html", view)


async def _title(request: Request, session_id: str) -> str:
    return (await reader(request).session(person(request), session_id)).row.title


async def _offered(request: Request, trace: Trace) -> tuple[TurnLine, ...]:
    """The newest of the agent's earlier turns; where there are few, later ones as well."""
    asking, agent = person(request), trace.turn.agent
    earlier = await reader(request).turns(
        asking, AskedTurns(agent=agent, until=trace.turn.opened), limit=OFFERED + 1
    )
    newest = await reader(request).turns(asking, AskedTurns(agent=agent), limit=OFFERED + 1)
    lines = {line.turn.id: line for line in [*earlier.items, *newest.items]}
    return tuple(line for id, line in lines.items() if id != trace.turn.id)[:OFFERED]


def _figures(found: Comparison) -> tuple[Figure, ...]:
    return tuple(
        Figure(name=name, unit=UNITS.get(name, "ms"), left=values[0], right=values[1])
        for name, values in comparing.totals([found.left, found.right])
    )


def _start(found: Comparison, asked_for: str) -> int:
    """The row that the URL asks for; else the first, or some before the first difference."""
    if asked_for.isascii() and asked_for.isdigit() and len(asked_for) < 7:
        return min(int(asked_for), max(len(found.pairs) - 1, 0))
    return 0 if found.first is None or found.first < ROWS else found.first - BEFORE


def _to_first(found: Comparison, start: int, url: str) -> str:
    """Where the first difference is, on these rows or on others; "" without one."""
    if found.first is None:
        return ""
    is_here = start <= found.first < start + ROWS
    return "#first" if is_here else f"{url}{max(found.first - BEFORE, 0)}#first"


async def _rows(request: Request, found: Comparison, start: int) -> tuple[Row, ...]:
    rows, read = list[Row](), 0
    for number, pair in enumerate(found.pairs[start : start + ROWS], start + 1):
        fields: tuple[FieldChange, ...] = ()
        if pair.is_other and read < DIFFED:
            read += 1
            fields = await _changed(request, pair)
        is_large = pair.is_other and not fields
        rows.append(Row(number=number, pair=pair, fields=fields, is_large=is_large))
    return tuple(rows)


async def _changed(request: Request, pair: Pair) -> tuple[FieldChange, ...]:
    """What differs in the arguments of two calls; large ones are told apart on their own pages."""
    values = []
    for span in (pair.left, pair.right):
        assert span is not None, "only what both did has arguments to compare"
        call = await reader(request).call(person(request), span.effect_id or "")
        if call.arguments is None or call.arguments.stored:
            return ()
        values.append(call.arguments.value)
    return agent_diff.fields_changed(*values)
