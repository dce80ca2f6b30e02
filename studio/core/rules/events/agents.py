"""Facts of what agents are made of and held to: manifests, plugins, skills, the policy.

They stand in the journals `agents`, `plugins` (skills too) and `policy`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from studio.core.rules.events.base import Event


@dataclass(frozen=True, kw_only=True)
class AgentSaved(Event):
    """A new version of an agent manifest was saved."""

    TYPE: ClassVar[str] = "agent.saved"
    ACTOR: ClassVar[str] = "person"
    name: str
    version: int
    manifest: Any
    digest: str
    by: str


@dataclass(frozen=True, kw_only=True)
class PluginInstalled(Event):
    """A plugin was installed. Its files, and their list under `hash`, are in the blob store.

    `servers` and `skills` are JSON as its description has them, `files` counts, `size` is bytes.
    """

    TYPE: ClassVar[str] = "plugin.installed"
    ACTOR: ClassVar[str] = "person"
    name: str
    revision: int
    version: str
    hash: str
    description: str
    servers: Any
    skills: Any
    about: Any
    files: int
    size: int
    by: str


@dataclass(frozen=True, kw_only=True)
class PluginUpdated(Event):
    """Another version took its place; `changes` is what the person was shown and confirmed."""

    TYPE: ClassVar[str] = "plugin.updated"
    ACTOR: ClassVar[str] = "person"
    name: str
    revision: int
    version: str
    hash: str
    description: str
    servers: Any
    skills: Any
    about: Any
    files: int
    size: int
    by: str
    changes: Any = None


@dataclass(frozen=True, kw_only=True)
class PluginRemoved(Event):
    """A plugin was removed: no agent is offered anything of it any more."""

    TYPE: ClassVar[str] = "plugin.removed"
    ACTOR: ClassVar[str] = "person"
    name: str
    revision: int
    version: str
    hash: str
    by: str


@dataclass(frozen=True, kw_only=True)
class SkillSaved(Event):
    """A skill was saved by its content, for agents that name it `name@hash`."""

    TYPE: ClassVar[str] = "skill.saved"
    ACTOR: ClassVar[str] = "person"
    name: str
    hash: str
    description: str
    requires: Any
    license: str
    files: int
    size: int
    by: str


@dataclass(frozen=True, kw_only=True)
class PolicySaved(Event):
    """A new version of the policy was saved."""

    TYPE: ClassVar[str] = "policy.saved"
    ACTOR: ClassVar[str] = "person"
    version: int
    rules: Any
    by: str
    note: str = ""
