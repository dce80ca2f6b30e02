"""MCP servers, and what one would bring, as programs are given them."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.answers.calls import Ms
from studio.api.shapes import JSON, Time


@dataclass(frozen=True, kw_only=True)
class Server:
    """An MCP server of the newest agents or of a plugin, as a worker last found it."""

    id: Annotated[str, "The same for the same description."]
    name: str
    plugin: str | None
    plugin_version: str | None
    transport: str
    destination: Annotated[str, "Its command or address."]
    state: Annotated[str, "up, down or never asked."]
    error: Annotated[str, "Why it is down."]
    said: Annotated[str, "Its last line beside the protocol."]
    latency: Annotated[Ms | None, "How long the last listing took."]
    tools: Annotated[tuple[str, ...], "The names it lists."]
    listed: Time | None
    asked: Time | None
    changed: Annotated[Time | None, "When its state became another."]
    agents: Annotated[tuple[str, ...], "Agents whose newest version uses it."]


@dataclass(frozen=True, kw_only=True)
class Servers:
    """Every server, by name."""

    items: tuple[Server, ...]


@dataclass(frozen=True, kw_only=True)
class PreviewTool:
    """A tool that a server would bring."""

    name: str
    called: Annotated[str, "The name models would know it by."]
    description: str
    schema: JSON
    output: JSON
    hints: Annotated[tuple[str, ...], "What the server says of it."]
    hash: Annotated[str, "Binds its definition."]
    problem: Annotated[str, "Why it would be left out or renamed; empty when it would not."]
    verdict: str
    sentence: Annotated[str, "What the policy says of it."]


@dataclass(frozen=True, kw_only=True)
class ServerPreview:
    """A look at a server. `state` is waiting, running, answered, failed or unknown."""

    id: str
    target: str
    state: str
    by: str
    asked: Time
    ended: Time | None
    code: str
    message: str
    about: Annotated[JSON, "Who the server says it is."]
    took: Annotated[Ms | None, "How long the listing took."]
    said: str
    count: Annotated[int, "How many tools it lists; `tools` may be fewer."]
    tools: tuple[PreviewTool, ...]
    policy_version: int


@dataclass(frozen=True, kw_only=True)
class PreviewAsked:
    """A look that a worker will take."""

    id: str
