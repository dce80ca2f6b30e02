"""Usage: tokens and cost by day, agent, model, plugin or session."""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api.endpoint import Ask, Endpoint
from studio.core.reader import UsageRow


async def show(ask: Ask[b.UsageQuery, b.NoBody]) -> a.Usage:
    """What was used in some days."""
    query = ask.query
    span = ask.reader.span(since=query.since, until=query.until, days=query.days)
    found = await ask.reader.usage(ask.person, span, query.by, limit=query.limit)
    return a.Usage(
        since=span.first.isoformat(), until=span.last.isoformat(), by=query.by,
        total=_row(found.total), items=tuple(_row(row) for row in found.rows), more=found.more,
        lost=a.take_all(a.LostAttempt, found.lost),
    )  # fmt: skip


def _row(row: UsageRow) -> a.UsageRow:
    unknown = row.unpriced > 0 and not row.cost
    return a.take(a.UsageRow, row, cost=None if unknown else row.cost)


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="show_usage", method="GET", path="/usage", call=show, gives=a.Usage,
        query=b.UsageQuery,
        says="Tokens and cost by day, agent, model, plugin or session; days are UTC.",
    ),
)  # fmt: skip
