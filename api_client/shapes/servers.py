"""MCP servers, and what one would bring."""

from typing import Any, TypedDict


class Server(TypedDict):
    """A server as a worker last found it; `state` is up, down or never asked."""

    id: str
    name: str
    plugin: str | None
    plugin_version: str | None
    transport: str
    destination: str
    state: str
    error: str
    said: str
    latency: int | None
    tools: list[str]
    listed: str | None
    asked: str | None
    changed: str | None
    agents: list[str]


class Servers(TypedDict):
    """Every server, by name."""

    items: list[Server]


class PreviewTool(TypedDict):
    """A tool that a server would bring."""

    name: str
    called: str
    description: str
    schema: Any
    output: Any
    hints: list[str]
    hash: str
    problem: str
    verdict: str
    sentence: str


class ServerPreview(TypedDict):
    """A look at a server; `state` is waiting, running, answered, failed or unknown."""

    id: str
    target: str
    state: str
    by: str
    asked: str
    ended: str | None
    code: str
    message: str
    about: Any
    took: int | None
    said: str
    count: int
    tools: list[PreviewTool]
    policy_version: int


class PreviewAsked(TypedDict):
    """The look that a worker will take."""

    id: str
