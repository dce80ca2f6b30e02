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
    """A server or tool that could not be offered, or only under another name."""

    source: str
    message: str
    kind: str


class Version(TypedDict):
    """A saved version."""

    version: int
    by: str
    time: str
    note: str


class Versions(TypedDict):
    """Saved versions, the newest first."""

    items: list[Version]


class AgentVersion(TypedDict):
    """A saved version of an agent and what it changed."""

    version: int
    by: str
    time: str
    changes: list[str]


class AgentVersions(TypedDict):
    """Versions of an agent, the newest first; `next` is `before` of the following call."""

    items: list[AgentVersion]
    latest: int
    next: int | None


class DiffField(TypedDict):
    """One value that differs."""

    path: str
    before: str | None
    after: str | None


class DiffThing(TypedDict):
    """A tool, server, plugin, skill or sub-agent that differs."""

    name: str
    change: str
    fields: list[DiffField]


class DiffLine(TypedDict):
    """A line of a text; `parts` are [text, whether it is what changed]."""

    change: str
    old: int | None
    new: int | None
    left_out: int
    parts: list[Any]


class DiffSection(TypedDict):
    """A part of the manifest that differs."""

    name: str
    moved: bool
    things: list[DiffThing]
    fields: list[DiffField]
    lines: list[DiffLine]


class DiffVerdict(TypedDict):
    """What the policy of now says of a tool in both versions."""

    tool: str
    change: str
    before: str
    before_sentence: str
    after: str
    after_sentence: str


class AgentDiff(TypedDict):
    """How two versions of an agent differ."""

    name: str
    old: int
    new: int
    latest: int
    policy_version: int
    sections: list[DiffSection]
    verdicts: list[DiffVerdict]


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
