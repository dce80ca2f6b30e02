"""MCP servers: how each is and who uses it; and what one would bring, looked at beforehand."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import ServerPreview, ServerRow
from studio.core.rules.errors import Invalid, StudioError
from studio.web import errors
from studio.web.pages.agents import SchemaRow, some_rows
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, is_swap, may, onward, person, reader, runtime, text, typed

NAME = "preview"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was typed: a command or an address, and the name of a secret that goes with it."""

    target: str = ""
    secret: str = ""


@dataclass(frozen=True, kw_only=True)
class ServersView:
    """All servers, and the form of a preview. `command` is what is to be confirmed, in parts."""

    frame: Frame
    servers: tuple[ServerRow, ...]
    may_edit: bool
    form: Asked = field(default_factory=Asked)
    command: tuple[str, ...] = ()
    error: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PreviewView:
    """One look. `rows` are the arguments of each tool, by the tool's name."""

    frame: Frame
    preview: ServerPreview
    rows: dict[str, tuple[SchemaRow, ...]]
    agents: tuple[str, ...]
    agent: str


async def index(request: Request) -> Response:
    """GET /servers; `?region=servers` gives the list alone."""
    view = await _view(request)
    if is_swap(request) and asked(request, "region") == "servers":
        return block(request, "servers/index.html", "servers", view)
    return page(request, "servers/index.html", view)


async def ask(request: Request) -> Response:
    """POST /servers/previews: what would be started is shown first, then a worker looks."""
    form = await typed(request)
    given = Asked(target=text(form, "target").strip(), secret=text(form, "secret").strip())
    try:
        entry = _entry(given)
        probe_id = await runtime(request).preview_server(
            person(request), entry, confirm=text(form, "confirm") == "yes"
        )
    except StudioError as refusal:
        return await _again(request, given, refusal)
    return onward(request, f"/servers/previews/{probe_id}")


async def show(request: Request) -> Response:
    """GET /servers/previews/{probe_id}; `?agent=` judges the tools for that agent."""
    agent = asked(request, "agent")
    preview = await reader(request).server_preview(
        person(request), request.path_params["probe_id"], agent
    )
    view = PreviewView(
        frame=await frame(request, "What it would bring", nav="servers", live="/live/servers"),
        preview=preview,
        rows={tool.name: some_rows(tool.schema) for tool in preview.tools},
        agents=tuple(row.name for row in await reader(request).agents(person(request))),
        agent=agent,
    )
    if is_swap(request) and asked(request, "region") == "found":
        return block(request, "servers/preview.html", "found", view)
    return page(request, "servers/preview.html", view)


def _entry(given: Asked) -> dict[str, Any]:
    """The description of what was typed, as it would stand in a manifest."""
    if not given.target:
        words = "is needed: a command, or an address that begins with http."
        raise Invalid("Say which server.", fields={"target": words}, code="server.invalid")
    secret = {"secret": given.secret} if given.secret else None
    if given.target.startswith(("http://", "https://")):
        headers = {"headers": {"Authorization": secret}} if secret else {}
        return {"name": NAME, "transport": "http", "url": given.target, **headers}
    try:
        command = shlex.split(given.target)
    except ValueError as wrong:
        words = f"cannot be read as a command: {wrong}."
        raise Invalid(
            "Say which server.", fields={"target": words}, code="server.invalid"
        ) from None
    env = {"env": {given.secret: secret}} if secret else {}
    return {"name": NAME, "transport": "stdio", "command": command, **env}


async def _again(request: Request, given: Asked, refusal: StudioError) -> Response:
    """The form with what was typed; a command that must be confirmed is shown part by part."""
    if refusal.code == "server.not_confirmed":
        command = tuple(str(part) for part in _entry(given)["command"])
        view = await _view(request, form=given, command=command)
        return page(request, "servers/index.html", view)
    fields = refusal.fields if isinstance(refusal, Invalid) else {}
    view = await _view(request, form=given, error=refusal.message, fields=_told(fields))
    return page(request, "servers/index.html", view, status=errors.status(refusal))


def _told(faults: Mapping[str, str]) -> dict[str, str]:
    """The faults of a description at the two fields of the form."""
    of_secret = ("headers", "env", "secret")
    return {"secret" if path.startswith(of_secret) else "target": words
            for path, words in faults.items()}  # fmt: skip


async def _view(request: Request, **more: Any) -> ServersView:
    return ServersView(
        frame=await frame(request, "Servers", nav="servers", live="/live/servers"),
        servers=tuple(await reader(request).servers(person(request))),
        may_edit=may(request, "admin"),
        **more,
    )
