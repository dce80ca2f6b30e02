"""How the export of spans stands: a panel of the page of traces, which looks again by itself."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import CollectorState
from studio.web.render import block
from studio.web.visit import person, reader


@dataclass(frozen=True, kw_only=True)
class CollectorView:
    """The panel alone."""

    collector: CollectorState


async def panel(request: Request) -> Response:
    """GET /traces/collector."""
    view = CollectorView(collector=await reader(request).collector(person(request)))
    return block(request, "traces/_collector.html", "collector", view)
