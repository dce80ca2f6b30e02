"""Calls about MCP servers."""

from collections.abc import Mapping
from typing import Any

from api_client.call import Call, get, part
from api_client.shapes import PreviewAsked, ServerPreview, Servers


def index() -> Call[Servers]:
    """Every server, with how it is."""
    return get("/v1/servers")


def preview(server: Mapping[str, Any], *, confirm: bool = False) -> Call[PreviewAsked]:
    """Have a worker look what a server would bring; `confirm` lets it start a program."""
    return Call(
        method="POST", path="/v1/servers/previews",
        body={"server": dict(server), "confirm": confirm},
    )  # fmt: skip


def show_preview(id: str, *, agent: str = "") -> Call[ServerPreview]:
    """What a look found, judged for an agent."""
    return get(f"/v1/servers/previews/{part(id)}", agent=agent or None)
