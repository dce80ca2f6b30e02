"""Two turns side by side: aligned steps, the first difference, what changed in the arguments."""

from dataclasses import dataclass

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
ROWS = 400
DIFFED = 20  # calls whose arguments are read and told apart


@dataclass(frozen=True, kw_only=True)
class Row:
    """One aligned step, with what differs in its arguments; `number` is its place."""

    number: int
    pair: Pair
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of both turns; None is unknown. `unit` is ms or usd."""

    name: str
    unit: str
    left: float | None
    right: float | None


@dataclass(frozen=True, kw_only=True)
class CompareView:
    """A turn, and the one it is compared with; without that one, those that are offered."""

    frame: Frame
    session: SessionView
    trace: Trace
    offered: tuple[TurnLine, ...]
    found: Comparison | None = None
    figures: tuple[Figure, ...] = ()
    rows: tuple[Row, ...] = ()


async def show(request: Request) -> Response:
    """GET /sessions/{session_id}/turns/{turn}/comparison?with=<session id>/<turn>."""
    asking, session_id = person(request), request.path_params["session_id"]
    trace = await reader(request).trace(asking, session_id, request.path_params["turn"])
    newest = await reader(request).turns(
        asking, AskedTurns(agent=trace.turn.agent), limit=OFFERED + 1
    )
    offered = [line for line in newest.items if line.turn.id != trace.turn.id][:OFFERED]
    other_session, _, other_turn = asked(request, "with").partition("/")
    found: Comparison | None = None
    if other_session and other_turn:
        found = await reader(request).compared(
            asking, (other_session, other_turn), (session_id, trace.turn.id)
        )
    view = CompareView(
        frame=await frame(request, f"Compare turn {trace.turn.number}", nav="sessions"),
        session=await reader(request).session(asking, session_id),
        trace=trace,
        offered=tuple(offered),
        found=found,
        figures=_figures(found) if found else (),
        rows=await _rows(request, found) if found else (),
    )
    return page(request, "turns/compare.html", view)


def _figures(found: Comparison) -> tuple[Figure, ...]:
    return tuple(
        Figure(name=name, unit="usd" if name == "cost" else "ms", left=values[0], right=values[1])
        for name, values in comparing.totals([found.left, found.right])
    )


async def _rows(request: Request, found: Comparison) -> tuple[Row, ...]:
    rows, read = list[Row](), 0
    for number, pair in enumerate(found.pairs[:ROWS], 1):
        fields: tuple[FieldChange, ...] = ()
        if pair.change == "arguments" and read < DIFFED:
            read += 1
            fields = await _changed(request, pair)
        rows.append(Row(number=number, pair=pair, fields=fields))
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
