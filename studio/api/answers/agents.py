"""Agents, their versions and tools, and what saving one changes."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import JSON, Time


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent in the list: its newest version."""

    name: str
    version: int
    description: str
    model: str
    provider: str
    tools: int
    servers: int
    plugins: tuple[str, ...]
    by: str
    time: Time


@dataclass(frozen=True, kw_only=True)
class Agents:
    """Every agent, by name."""

    items: tuple[Agent, ...]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool of an agent as it was last found, and what the policy says of it."""

    name: str
    kind: str
    server: str | None
    plugin: str | None
    plugin_version: str | None
    origin: str
    description: str
    schema: JSON
    read_only: bool
    repeatable: bool
    destination: str
    verdict: Annotated[str, "allow, ask, deny or depends."]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A server or tool that could not be offered, or only under another name."""

    source: str
    message: str
    kind: Annotated[str, "missing, renamed, or needed by a skill."]


@dataclass(frozen=True, kw_only=True)
class Version:
    """A saved version, of an agent or of the policy."""

    version: int
    by: str
    time: Time
    note: str


@dataclass(frozen=True, kw_only=True)
class Versions:
    """Saved versions, the newest first."""

    items: tuple[Version, ...]


@dataclass(frozen=True, kw_only=True)
class AgentVersion:
    """A saved version of an agent and what it changed."""

    version: int
    by: str
    time: Time
    changes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AgentVersions:
    """Versions of an agent, the newest first."""

    items: tuple[AgentVersion, ...]
    latest: int
    next: Annotated[int | None, "Give it as `before` for the versions before these."]


@dataclass(frozen=True, kw_only=True)
class DiffField:
    """One value that differs; null where there is none, else text, or JSON as text."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class DiffThing:
    """A tool, server, plugin, skill or sub-agent that differs."""

    name: str
    change: Annotated[str, "added, removed or changed."]
    fields: tuple[DiffField, ...]


@dataclass(frozen=True, kw_only=True)
class DiffLine:
    """A line of a text. `parts` are [text, whether it is what changed]."""

    change: Annotated[str, "same, added, removed, or gap (lines left out)."]
    old: int | None
    new: int | None
    left_out: int
    parts: tuple[JSON, ...]


@dataclass(frozen=True, kw_only=True)
class DiffSection:
    """A part of the manifest that differs; `moved`: the same things in another order."""

    name: str
    moved: bool
    things: tuple[DiffThing, ...]
    fields: tuple[DiffField, ...]
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, kw_only=True)
class DiffVerdict:
    """What the policy of now says of a tool in both versions; "" where it is not there."""

    tool: str
    change: Annotated[str, "added, removed, changed or same."]
    before: str
    before_sentence: str
    after: str
    after_sentence: str


@dataclass(frozen=True, kw_only=True)
class AgentDiff:
    """How two versions of an agent differ."""

    name: str
    old: int
    new: int
    latest: int
    policy_version: int
    sections: tuple[DiffSection, ...]
    verdicts: tuple[DiffVerdict, ...]


@dataclass(frozen=True, kw_only=True)
class AgentDetail:
    """One version of an agent. Its ETag is the version."""

    name: str
    version: int
    latest: int
    time: Time
    by: str
    manifest: dict[str, JSON]
    digest: str
    tools: tuple[Tool, ...]
    gaps: tuple[Gap, ...]
    listed: Annotated[Time | None, "When a worker last asked for its tools."]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What saving an agent changed, or would change."""

    name: str
    version: Annotated[int, "The version that is, or would be, the newest."]
    creates: Annotated[bool, "It makes a new version; false when nothing differs."]
    saved: Annotated[bool, "False for a dry run, and when nothing differs."]
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    digest: str


@dataclass(frozen=True, kw_only=True)
class Plans:
    """What saving agents together changed, or would change, in the order they were sent."""

    items: tuple[Plan, ...]
