"""Agents: the newest version of each, and one version with its tools as last found."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class AgentBrief:
    """The agent of a session: the version it is on, the newest one, and a line about it."""

    name: str
    version: int
    latest: int
    description: str


@dataclass(frozen=True, kw_only=True)
class AgentRow:
    """An agent in the list: its newest version and when and by whom that was saved."""

    name: str
    version: int
    description: str
    model: str
    provider: str
    tools: int
    servers: int
    plugins: tuple[str, ...]
    by: str
    time: int


@dataclass(frozen=True, kw_only=True)
class ToolView:
    """A tool of an agent version. `schema` is JSON Schema of its arguments, None while unknown.

    `verdict` is what the policy would say: allow, ask, deny, or depends (on the arguments), and
    `sentence` says so in words.
    """

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


@dataclass(frozen=True, kw_only=True)
class GapView:
    """A server or tool that could not be offered when the tools were last looked for."""

    source: str
    message: str


@dataclass(frozen=True, kw_only=True)
class VersionRow:
    """A saved version, of an agent or of the policy."""

    version: int
    by: str
    time: int
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class AgentView:
    """One version of an agent. `listed` is when a worker last listed its tools, None if never."""

    name: str
    version: int
    latest: int
    time: int
    by: str
    manifest: dict[str, Any]
    digest: str
    tools: tuple[ToolView, ...]
    gaps: tuple[GapView, ...]
    listed: int | None
    versions: tuple[VersionRow, ...]
