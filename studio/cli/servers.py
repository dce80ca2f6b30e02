"""MCP servers from the command line: how each is, and what one would bring."""

import time
from typing import Any

from api_client import Client
from api_client.shapes import ServerPreview
from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.core.rules.errors import Refused, Unavailable

PATIENCE = 120.0
PAUSE = 0.3


def index(context: Context) -> None:
    """List servers."""
    with context.client() as studio:
        items = studio.servers.list()["items"]
    if context.as_json:
        context.terminal.json(items)
        return
    context.terminal.table(
        ("NAME", "PLUGIN", "STATE", "TOOLS", "ANSWERED IN", "ASKED", "USED BY"),
        [
            (s["name"], f"{s['plugin']} {s['plugin_version']}" if s["plugin"] else "-",
             s["state"], len(s["tools"]) if s["listed"] else "-",
             "-" if s["latency"] is None else f"{s['latency']} ms", s["asked"] or "-",
             ", ".join(s["agents"]) or "-")
            for s in items
        ],
        none="No servers.",
    )  # fmt: skip
    for server in items:
        if server["error"]:
            context.terminal.warn(server["error"])


def preview(context: Context) -> int:
    """Have a worker look at a server, and show what it would bring."""
    given = context.given
    with context.client() as studio:
        if given.target[0].startswith(("http://", "https://")) and len(given.target) == 1:
            entry: dict[str, Any] = {"transport": "http", "url": given.target[0]}
        else:
            entry = {"transport": "stdio", "command": given.target}
        asked = studio.servers.preview({"name": "preview", **entry}, confirm=given.yes)
        found = _waited(studio, asked["id"], given.agent)
    if context.as_json:
        context.terminal.json(found)
    elif found["state"] == "answered":
        _show(context, found)
    if found["state"] != "answered":
        raise Refused(found["message"] or "Nobody knows what was found.", code=found["code"])
    return 0


def _waited(studio: Client, id: str, agent: str) -> ServerPreview:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = studio.servers.show_preview(id, agent=agent)
        if found["ended"] is not None:
            return found
        time.sleep(PAUSE)
    raise Unavailable("No worker has looked at it. Is one at work?", code="preview.slow")


def _show(context: Context, found: ServerPreview) -> None:
    about = found["about"]
    words = f"{about.get('name', 'It')} {about.get('version', '')}".strip()
    context.terminal.say(f"{words} lists {found['count']} tools, in {found['took']} ms.")
    context.terminal.table(
        ("TOOL", "POLICY", "IT SAYS", "DEFINITION"),
        [
            (tool["called"], tool["sentence"], ", ".join(tool["hints"]) or "-", tool["hash"][:12])
            for tool in found["tools"]
        ],
        none="It offers nothing.",
    )  # fmt: skip
    for tool in found["tools"]:
        if tool["problem"]:
            context.terminal.warn(f"{tool['name']}: {tool['problem']}")


COMMANDS: tuple[Command, ...] = (
    Command(
        group="servers", name="list", says="list MCP servers with how each is",
        example="studio servers list", run=index,
    ),
    Command(
        group="servers", name="preview", says="look what a server would bring",
        example="studio servers preview --yes -- npx -y a-server /some/folder", run=preview,
        arguments=(
            argument("target", nargs="+", metavar="COMMAND|URL", help="a command, or an address"),
            argument("--agent", default="", metavar="NAME", help="judge its tools for this agent"),
            argument("--yes", action="store_true", help="let a worker start the command"),
        ),
    ),
)  # fmt: skip
