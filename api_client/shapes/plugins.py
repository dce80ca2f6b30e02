"""Plugins and skills."""

from typing import Any, TypedDict

from api_client.shapes.calls import CallRow


class PluginCounts(TypedDict):
    """What its calls came to, of those that you may see; `held` is now."""

    calls: int
    succeeded: int
    failed: int
    denied: int
    held: int
    uncertain: int


class Plugin(TypedDict):
    """A plugin in the list."""

    name: str
    version: str
    description: str
    source: str
    where: str
    problem: str
    revision: int
    hash: str
    servers: list[str]
    skills: list[str]
    agents: list[str]
    counts: PluginCounts
    files: int
    size: int
    by: str
    time: str


class Plugins(TypedDict):
    """Every plugin, by name."""

    items: list[Plugin]


class PluginServer(TypedDict):
    """A server of a plugin, with the names of its tools as last listed."""

    name: str
    transport: str
    target: str
    asks: list[str]
    tools: list[str]
    gap: str


class PluginFile(TypedDict):
    """A file of a plugin or skill."""

    path: str
    hash: str
    size: int


class PluginSkill(TypedDict):
    """A skill of a plugin."""

    name: str
    description: str
    hash: str
    license: str
    requires: dict[str, Any]
    files: list[PluginFile]


class PluginChange(TypedDict):
    """One difference. `kind` is version, about, authority, server, tool, skill or file."""

    kind: str
    words: str


class PluginRevision(TypedDict):
    """A version that was put here, and what it changed."""

    revision: int
    version: str
    hash: str
    by: str
    time: str
    removed: str | None
    removed_by: str | None
    changes: list[PluginChange]


class PluginDetail(TypedDict):
    """One plugin. Its ETag is the revision."""

    plugin: Plugin
    servers: list[PluginServer]
    skills: list[PluginSkill]
    history: list[PluginRevision]
    removed: bool


class PluginPlan(TypedDict):
    """What putting a plugin here changed, or would change."""

    name: str
    version: str
    hash: str
    revision: int
    current: int
    current_version: str
    creates: bool
    saved: bool
    changes: list[PluginChange]
    warnings: list[str]
    files: int
    size: int


class PluginCalls(TypedDict):
    """Calls of a plugin, the newest first."""

    items: list[CallRow]
    next: str | None


class SkillSaved(TypedDict):
    """A skill that was saved by its content."""

    name: str
    hash: str
    reference: str
    description: str
    saved: bool
    files: int
    size: int
