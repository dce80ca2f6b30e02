"""Usage: tokens and cost by day, agent, model, plugin or session, and as a file to take away."""

import csv
import io
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from studio.core.projections.usage import BYS, By
from studio.core.reader import Span, UsageRow, UsageView
from studio.core.rules.errors import Invalid
from studio.web import filtering
from studio.web.filtering import Fault, Wrong
from studio.web.format import known, money
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, person, reader

MEASURES = ("cost", "tokens")
RANGES = (7, 30, 90)
HEIGHT = 100
STEP = 10  # units of the drawing a day
RISKY = ("=", "+", "-", "@", "\t", "\r")
COLUMNS = (
    "attempts", "untold", "unpriced", "input_tokens", "output_tokens", "cached_tokens",
    "cache_write_tokens", "reasoning_tokens", "cost", "lost", "lost_unpriced", "lost_cost",
)  # fmt: skip
PLUGIN_COLUMNS = (
    "calls", "failed", "denied", "held", "untold", "unpriced", "input_tokens", "output_tokens",
    "cached_tokens", "cache_write_tokens", "reasoning_tokens", "cost",
)  # fmt: skip
CHECKS: dict[str, filtering.Read] = {
    "by": filtering.one_of("group", BYS), "measure": filtering.one_of("measure", MEASURES),
}  # fmt: skip
KEYS: dict[str, tuple[str, ...]] = {
    "day": ("day",), "agent": ("agent",), "model": ("provider", "model"), "plugin": ("plugin",),
    "session": ("session", "title", "agent"),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A day of the chart: where its bar stands, and what it says. `doubt`: a part is unknown."""

    x: int
    y: float
    height: float
    day: str
    words: str
    doubt: bool


@dataclass(frozen=True, kw_only=True)
class IndexView:
    """The page. `query` is the range as the URL has it, without its leading &."""

    frame: Frame
    usage: UsageView
    by: str
    measure: str
    days: int
    since: str
    until: str
    query: str
    bars: tuple[Bar, ...] = ()
    highest: float = 0
    wrong: Wrong = field(default_factory=dict)


async def index(request: Request) -> Response:
    """GET /usage."""
    kept, wrong = filtering.read(request, CHECKS)
    by, measure = _by(request), kept["measure"]
    try:
        span = _span(request)
    except Invalid as refusal:
        span = reader(request).span()
        wrong |= {name: _fault(request, name, said) for name, said in refusal.fields.items()}
    found = await reader(request).usage(person(request), span, by)
    measure = measure or ("cost" if found.total.cost else "tokens")
    highest = max((_worth(row, measure) for row in found.days), default=0)
    since, until = asked(request, "since"), asked(request, "until")
    view = IndexView(
        frame=await frame(request, "Usage", nav="usage"), usage=found, by=by, measure=measure,
        days=0 if since or until or wrong else span.days, since=since or span.first.isoformat(),
        until=until or span.last.isoformat(), query=_query(span, wrong, since or until),
        bars=tuple(_bars(found.days, measure, highest)), highest=highest,
        wrong=wrong,
    )  # fmt: skip
    return page(request, "usage/index.html", view, status=422 if wrong else 200)


async def export(request: Request) -> Response:
    """GET /usage/export: every group of the range as CSV or JSON, streamed."""
    filtering.refused(filtering.read(request, CHECKS)[1])
    by, span = _by(request), _span(request)
    format: Literal["csv", "json"] = "json" if asked(request, "format") == "json" else "csv"
    rows = reader(request).usage_rows(person(request), span, by)
    name = f"usage-by-{by}-{span.first.isoformat()}-to-{span.last.isoformat()}.{format}"
    written = _as_json(rows, by, span) if format == "json" else _as_csv(rows, by)
    kind = {"csv": "text/csv; charset=utf-8", "json": "application/json"}[format]
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Type": kind}
    return StreamingResponse(written, headers=headers)


def _by(request: Request) -> By:
    wanted = asked(request, "by")
    return next((one for one in BYS if one == wanted), "agent")


def _span(request: Request) -> Span:
    count = asked(request, "days")
    if count and not (count.isascii() and count.isdigit() and len(count) < 6):
        raise Invalid("", fields={"days": "is no number of days."})
    days = int(count) if count else 30
    return reader(request).span(
        since=asked(request, "since"), until=asked(request, "until"), days=days
    )


def _fault(request: Request, name: str, said: str) -> Fault:
    """A refused range beside its field."""
    typed = asked(request, name)
    words = f"“{typed}”: {name} {said}" if typed else f"{name} {said}"
    return Fault(typed=typed, message=f"{words} The last 30 days are shown.")


def _query(span: Span, wrong: Wrong, dates: str) -> str:
    if dates and not wrong:
        return f"since={span.first.isoformat()}&until={span.last.isoformat()}"
    return f"days={span.days}"


# The chart ------------------------------------------------------------------------------------


def _worth(row: UsageRow, measure: str) -> float:
    return row.cost if measure == "cost" else row.input_tokens + row.output_tokens


def _bars(days: tuple[UsageRow, ...], measure: str, highest: float) -> list[Bar]:
    found = []
    for index, row in enumerate(days):
        height = round(_worth(row, measure) / highest * HEIGHT, 2) if highest else 0.0
        doubt = bool(row.unpriced if measure == "cost" else row.untold)
        height = max(height, 1.5) if row.attempts else 0.0
        found.append(
            Bar(x=index * STEP, y=HEIGHT - height, height=height, day=row.key,
                words=_words(row, measure), doubt=doubt)
        )  # fmt: skip
    return found


def _words(row: UsageRow, measure: str) -> str:
    if not row.attempts:
        return f"{row.key}: nothing"
    if measure == "cost":
        return f"{row.key}: {money(row.cost, not row.unpriced)}"
    return f"{row.key}: {known(row.input_tokens + row.output_tokens, row.untold)} tokens"


# The file -------------------------------------------------------------------------------------


async def _as_csv(rows: AsyncIterator[list[UsageRow]], by: By) -> AsyncIterator[str]:
    yield _line([*KEYS[by], *_columns(by)])
    async for some in rows:
        yield "".join(_line(list(_cells(row, by).values())) for row in some)


async def _as_json(rows: AsyncIterator[list[UsageRow]], by: By, span: Span) -> AsyncIterator[str]:
    head = {"by": by, "since": span.first.isoformat(), "until": span.last.isoformat()}
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "items": ['
    before = ""
    async for some in rows:
        for row in some:
            yield before + json.dumps(_cells(row, by), ensure_ascii=False)
            before = ",\n"
    yield "]}\n"


def _columns(by: By) -> tuple[str, ...]:
    return PLUGIN_COLUMNS if by == "plugin" else COLUMNS


def _cells(row: UsageRow, by: By) -> dict[str, Any]:
    """A row by column. A cost of which nothing is known is null, or empty."""
    keys = {
        "day": (row.key,), "agent": (row.key,), "model": (row.provider, row.label),
        "plugin": (row.key or row.label,), "session": (row.key, row.label, row.provider),
    }[by]  # fmt: skip
    found: dict[str, Any] = dict(zip(KEYS[by], keys, strict=True))
    found.update({name: getattr(row, name) for name in _columns(by)})
    if row.unpriced and not row.cost:
        found["cost"] = None
    return found


def _line(cells: list[Any]) -> str:
    """A line of CSV in which no spreadsheet finds a formula."""
    out = io.StringIO()
    csv.writer(out).writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.9f}".rstrip("0").rstrip(".")
    text = str(cell)
    return f"'{text}" if isinstance(cell, str) and text.startswith(RISKY) else text
