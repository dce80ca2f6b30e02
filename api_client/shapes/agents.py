"""Agents, their versions and tools."""

from typing import Any, TypedDict


class Agent(TypedDict):
    """An agent in the list: its newest version."""

    name: str
    version: int
    description: str
    model: str
    provider: str
    tools: int
    servers: int
    plugins: list[str]
    by: str
    time: str


class Agents(TypedDict):
    """Every agent, by name."""

    items: list[Agent]


class Tool(TypedDict):
    """A tool of an agent, and what the policy says of it."""

    name: str
    kind: str
    server: str | None
    plugin: str | None
    plugin_version: str | None
    origin: str
    description: str
    schema: Any
    read_only: bool
    repeatable: bool
    destination: str
    verdict: str
    sentence: str


class Gap(TypedDict):
    """A server or tool that could not be offered."""

    source: str
    message: str


class Version(TypedDict):
    """A saved version."""

    version: int
    by: str
    time: str
    note: str


class Versions(TypedDict):
    """Saved versions, the newest first."""

    items: list[Version]


class AgentDetail(TypedDict):
    """One version of an agent."""

    name: str
    version: int
    latest: int
    time: str
    by: str
    manifest: dict[str, Any]
    digest: str
    tools: list[Tool]
    gaps: list[Gap]
    listed: str | None


class Plan(TypedDict):
    """What saving an agent changed, or would change."""

    name: str
    version: int
    creates: bool
    saved: bool
    changes: list[str]
    warnings: list[str]
    digest: str


class Plans(TypedDict):
    """What saving agents together changed, or would change."""

    items: list[Plan]
