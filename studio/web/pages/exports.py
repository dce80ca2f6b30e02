"""How the export of spans stands: a panel of the page of traces, which looks again by itself."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import Export
from studio.web.render import block
from studio.web.visit import person, reader


@dataclass(frozen=True, kw_only=True)
class ExportView:
    """The panel alone."""

    export: Export


async def panel(request: Request) -> Response:
    """GET /traces/export."""
    view = ExportView(export=await reader(request).export(person(request)))
    return block(request, "traces/_export.html", "export", view)
