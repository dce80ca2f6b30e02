"""What a program is given: the answers, each a shape, and how they are taken from the core's rows.

These are a promise to programs and change slower than the rows they are taken from.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

from studio.api.answers.agents import (
    Agent,
    AgentDetail,
    AgentDiff,
    Agents,
    AgentVersion,
    AgentVersions,
    DiffField,
    DiffLine,
    DiffSection,
    DiffThing,
    DiffVerdict,
    Gap,
    Plan,
    Plans,
    Tool,
    Version,
    Versions,
)
from studio.api.answers.approvals import Approval, ApprovalDetail, Approvals, Decided, Decision
from studio.api.answers.artifacts import (
    Artifact,
    ArtifactDetail,
    Artifacts,
    ArtifactVersion,
    SavedArtifact,
    Upload,
)
from studio.api.answers.calls import Call, Calls, Content
from studio.api.answers.disks import (
    DiskChange,
    DiskDiff,
    DiskEntry,
    DiskFolder,
    DiskTextDiff,
    Operation,
    OperationAsked,
    Operations,
)
from studio.api.answers.environment_manifests import (
    EnvironmentFile,
    EnvironmentManifest,
    EnvironmentManifestDetail,
    EnvironmentManifestDiff,
    EnvironmentManifests,
    EnvironmentManifestVersion,
    EnvironmentManifestVersions,
    MadeFrom,
    ManifestPlan,
)
from studio.api.answers.environments import (
    DiskVersion,
    DiskVersions,
    EgressTries,
    EgressTry,
    Environment,
    EnvironmentDetail,
    EnvironmentMade,
    Environments,
    EnvironmentSecret,
    EnvironmentSecrets,
    EnvironmentSetup,
    EnvironmentTurn,
    ForkedFrom,
    ForkPlan,
    SetupRun,
)
from studio.api.answers.health import Error, Fault, Health, Ready
from studio.api.answers.keys import Key, Keys, MadeKey
from studio.api.answers.models import DefaultModel, Models, Probe, SavedProvider
from studio.api.answers.plugins import (
    Plugin,
    PluginCalls,
    PluginChange,
    PluginCounts,
    PluginDetail,
    PluginFile,
    PluginPlan,
    PluginRevision,
    Plugins,
    PluginServer,
    PluginSkill,
    SkillSaved,
)
from studio.api.answers.policy import Change, Policy, PolicySaved, Rule, Tried
from studio.api.answers.secrets import Secret, Secrets, SecretSet, SecretsRotated
from studio.api.answers.servers import PreviewAsked, PreviewTool, Server, ServerPreview, Servers
from studio.api.answers.sessions import (
    Event,
    Events,
    LimitUse,
    Preview,
    PreviewMessage,
    Sent,
    Session,
    SessionDetail,
    Sessions,
    Started,
    Stopped,
    Trace,
    Turn,
)
from studio.api.answers.usage import LostAttempt, Usage, UsageRow
from studio.api.answers.views import View, Views

__all__ = [
    "Agent",
    "AgentDetail",
    "AgentDiff",
    "AgentVersion",
    "AgentVersions",
    "Agents",
    "Approval",
    "ApprovalDetail",
    "Approvals",
    "Artifact",
    "ArtifactDetail",
    "ArtifactVersion",
    "Artifacts",
    "Call",
    "Calls",
    "Change",
    "Content",
    "Decided",
    "Decision",
    "DefaultModel",
    "DiffField",
    "DiffLine",
    "DiffSection",
    "DiffThing",
    "DiffVerdict",
    "DiskChange",
    "DiskDiff",
    "DiskEntry",
    "DiskFolder",
    "DiskTextDiff",
    "DiskVersion",
    "DiskVersions",
    "EgressTries",
    "EgressTry",
    "Environment",
    "EnvironmentDetail",
    "EnvironmentFile",
    "EnvironmentMade",
    "EnvironmentManifest",
    "EnvironmentManifestDetail",
    "EnvironmentManifestDiff",
    "EnvironmentManifestVersion",
    "EnvironmentManifestVersions",
    "EnvironmentManifests",
    "EnvironmentSecret",
    "EnvironmentSecrets",
    "EnvironmentSetup",
    "EnvironmentTurn",
    "Environments",
    "Error",
    "Event",
    "Events",
    "Fault",
    "ForkPlan",
    "ForkedFrom",
    "Gap",
    "Health",
    "Key",
    "Keys",
    "LimitUse",
    "LostAttempt",
    "MadeFrom",
    "MadeKey",
    "ManifestPlan",
    "Models",
    "Operation",
    "OperationAsked",
    "Operations",
    "Plan",
    "Plans",
    "Plugin",
    "PluginCalls",
    "PluginChange",
    "PluginCounts",
    "PluginDetail",
    "PluginFile",
    "PluginPlan",
    "PluginRevision",
    "PluginServer",
    "PluginSkill",
    "Plugins",
    "Policy",
    "PolicySaved",
    "Preview",
    "PreviewAsked",
    "PreviewMessage",
    "PreviewTool",
    "Probe",
    "Ready",
    "Rule",
    "SavedArtifact",
    "SavedProvider",
    "Secret",
    "SecretSet",
    "Secrets",
    "SecretsRotated",
    "Sent",
    "Server",
    "ServerPreview",
    "Servers",
    "Session",
    "SessionDetail",
    "Sessions",
    "SetupRun",
    "SkillSaved",
    "Started",
    "Stopped",
    "Tool",
    "Trace",
    "Tried",
    "Turn",
    "Upload",
    "Usage",
    "UsageRow",
    "Version",
    "Versions",
    "View",
    "Views",
    "take",
    "take_all",
]

T = TypeVar("T")


def take(shape: type[T], row: object, **more: Any) -> T:
    """The answer of a row: the fields they share by name, and `more`."""
    names = [item.name for item in fields(shape)]  # type: ignore[arg-type]
    return shape(**{name: getattr(row, name) for name in names if name not in more}, **more)


def take_all(shape: type[T], rows: Sequence[object]) -> tuple[T, ...]:
    """The answers of many rows."""
    return tuple(take(shape, row) for row in rows)
