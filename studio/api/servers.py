"""MCP servers: how each is, and a look at what one would bring."""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api.endpoint import Ask, Endpoint, Link


async def index(ask: Ask[b.NoQuery, b.NoBody]) -> a.Servers:
    """Every server."""
    return a.Servers(items=a.take_all(a.Server, await ask.reader.servers(ask.person)))


async def preview(ask: Ask[b.NoQuery, b.NewPreview]) -> a.PreviewAsked:
    """Have a worker look at a server."""
    found = await ask.runtime.preview_server(ask.person, ask.body.server, confirm=ask.body.confirm)
    return a.PreviewAsked(id=found)


async def show(ask: Ask[b.PreviewQuery, b.NoBody]) -> a.ServerPreview:
    """What was found."""
    found = await ask.reader.server_preview(ask.person, ask.part("id"), ask.query.agent)
    probe = found.probe
    return a.take(
        a.ServerPreview, found, id=probe.id, target=probe.target, state=probe.state, by=probe.by,
        asked=probe.asked, ended=probe.ended, code=probe.code, message=probe.message,
        about=dict(found.about), tools=a.take_all(a.PreviewTool, found.tools),
    )  # fmt: skip


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_servers", method="GET", path="/servers", call=index, gives=a.Servers,
        says="List MCP servers with how each is.",
    ),
    Endpoint(
        name="preview_server", method="POST", path="/servers/previews", call=preview,
        gives=a.PreviewAsked, body=b.NewPreview, status=202,
        says="Have a worker look what a server would bring.",
        links=(Link(to="show_server_preview", part="id", value="$response.body#/id"),),
    ),
    Endpoint(
        name="show_server_preview", method="GET", path="/servers/previews/{id}", call=show,
        gives=a.ServerPreview, query=b.PreviewQuery, says="Read what a look at a server found.",
    ),
)  # fmt: skip
