"""Plugins and skills: what is here, what it brings, and what putting one here changes."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.answers.calls import Call
from studio.api.shapes import JSON, Time


@dataclass(frozen=True, kw_only=True)
class PluginCounts:
    """What its calls came to, of those that you may see; `held` is now."""

    calls: int
    succeeded: int
    failed: int
    denied: int
    held: int
    uncertain: int


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A plugin in the list."""

    name: str
    version: str
    description: str
    source: Annotated[str, "installed, or folder: read from a folder of a worker's machine."]
    where: Annotated[str, "Machine and folder, of a folder."]
    problem: Annotated[str, "Why nothing of it is used; empty when it is."]
    revision: Annotated[int, "How many versions were put here; 0 for a folder."]
    hash: Annotated[str, "SHA-256 over its list of files."]
    servers: tuple[str, ...]
    skills: tuple[str, ...]
    agents: Annotated[tuple[str, ...], "Agents whose newest version uses it."]
    counts: PluginCounts
    files: int
    size: Annotated[int, "Bytes of all files."]
    by: str
    time: Time


@dataclass(frozen=True, kw_only=True)
class Plugins:
    """Every plugin, by name."""

    items: tuple[Plugin, ...]


@dataclass(frozen=True, kw_only=True)
class PluginServer:
    """A server of a plugin, with the names of its tools as last listed."""

    name: str
    transport: str
    target: Annotated[str, "Its address or its command."]
    asks: Annotated[tuple[str, ...], "Settings and secrets that it is given."]
    tools: tuple[str, ...]
    gap: Annotated[str, "Why it did not answer when it was last asked."]


@dataclass(frozen=True, kw_only=True)
class PluginFile:
    """A file of a plugin or skill."""

    path: str
    hash: str
    size: int


@dataclass(frozen=True, kw_only=True)
class PluginSkill:
    """A skill of a plugin."""

    name: str
    description: str
    hash: str
    license: str
    requires: dict[str, JSON]
    files: tuple[PluginFile, ...]


@dataclass(frozen=True, kw_only=True)
class PluginChange:
    """One difference. `kind` is version, about, authority, server, tool, skill or file."""

    kind: str
    words: str


@dataclass(frozen=True, kw_only=True)
class PluginRevision:
    """A version that was put here, and what it changed."""

    revision: int
    version: str
    hash: str
    by: str
    time: Time
    removed: Time | None
    removed_by: str | None
    changes: tuple[PluginChange, ...]


@dataclass(frozen=True, kw_only=True)
class PluginDetail:
    """One plugin. Its ETag is the revision."""

    plugin: Plugin
    servers: tuple[PluginServer, ...]
    skills: tuple[PluginSkill, ...]
    history: tuple[PluginRevision, ...]
    removed: bool


@dataclass(frozen=True, kw_only=True)
class PluginPlan:
    """What putting a plugin here changed, or would change."""

    name: str
    version: str
    hash: str
    revision: Annotated[int, "The revision that it makes, or keeps."]
    current: Annotated[int, "The revision before; 0 when there was none."]
    current_version: str
    creates: Annotated[bool, "False when these very files are here already."]
    saved: Annotated[bool, "False for a dry run, and when nothing differs."]
    changes: tuple[PluginChange, ...]
    warnings: tuple[str, ...]
    files: int
    size: int


@dataclass(frozen=True, kw_only=True)
class PluginCalls:
    """Calls of a plugin, the newest first."""

    items: tuple[Call, ...]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class SkillSaved:
    """A skill that was saved by its content."""

    name: str
    hash: str
    reference: Annotated[str, "As an agent's manifest names it."]
    description: str
    saved: bool
    files: int
    size: int
