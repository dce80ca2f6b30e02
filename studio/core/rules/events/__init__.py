"""Every fact that can be recorded, one frozen dataclass each.

A class says when its fact is recorded, by whom, and what may follow. `TYPE` is its name on the
wire and in the journal. `LINE` marks facts that open a line of the timeline. `EVIDENCE` is
`observed` when the runtime saw it happen, `claimed` when someone outside said so.

The classes lie by noun and are taken from here; `base` is what they share. A journal that is no
session's has its name (`agents`, `policy`, `people`…) for `session_id`.
"""

from studio.core.rules.events.agents import (
    AgentSaved,
    PluginInstalled,
    PluginRemoved,
    PluginUpdated,
    PolicySaved,
    SkillSaved,
)
from studio.core.rules.events.artifacts import ArtifactLinkMade, ArtifactLinkRevoked, ArtifactSaved
from studio.core.rules.events.base import (
    Caller,
    Choice,
    Content,
    Event,
    Fact,
    FileRef,
    Limit,
    Limits,
    MatchedRule,
    Origin,
    Ruling,
    Usage,
    Verdict,
    WaitKind,
)
from studio.core.rules.events.calls import (
    CallCancelled,
    CallDenied,
    CallFailed,
    CallLate,
    CallProposed,
    CallSettled,
    CallStarted,
    CallSucceeded,
    CallUncertain,
    DecisionRecorded,
    WaitOpened,
)
from studio.core.rules.events.environments import (
    DiskKept,
    DiskRestored,
    DiskVersionRemoved,
    EgressTried,
    EnvironmentDeleted,
    EnvironmentForked,
    EnvironmentLabelled,
    EnvironmentLost,
    EnvironmentMade,
    EnvironmentManifestRemoved,
    EnvironmentManifestSaved,
    EnvironmentOwnerChanged,
    EnvironmentReset,
    EnvironmentSecretsChanged,
    EnvironmentStarted,
    EnvironmentStopped,
    ForkedFrom,
    OperationAsked,
    OperationEnded,
    OperationStarted,
    SetupFinished,
    SetupRun,
    SetupStarted,
    TurnRef,
)
from studio.core.rules.events.models import (
    ContextCompacted,
    ModelFailed,
    ModelReplied,
    ModelRequested,
    ModelUncertain,
    SummaryFailed,
    SummaryRequested,
)
from studio.core.rules.events.people import (
    KeyMade,
    KeyRevoked,
    OutsideSenderForgotten,
    OutsideTraceForgotten,
    SignedIn,
    ViewRemoved,
    ViewSaved,
)
from studio.core.rules.events.providers import (
    DefaultModelChosen,
    ProbeAnswered,
    ProbeAsked,
    ProbeFailed,
    ProbeLost,
    ProbeStarted,
    ProviderRemoved,
    ProviderSaved,
)
from studio.core.rules.events.secrets import SecretRemoved, SecretSet, SecretsResealed
from studio.core.rules.events.sessions import (
    LimitReached,
    MessageAccepted,
    SessionModelChosen,
    SessionStarted,
    TurnCancelled,
    TurnCompleted,
    TurnFailed,
    TurnFaulted,
    TurnStarted,
)

__all__ = [
    "EVENTS",
    "OF_ENVIRONMENTS",
    "AgentSaved",
    "ArtifactLinkMade",
    "ArtifactLinkRevoked",
    "ArtifactSaved",
    "CallCancelled",
    "CallDenied",
    "CallFailed",
    "CallLate",
    "CallProposed",
    "CallSettled",
    "CallStarted",
    "CallSucceeded",
    "CallUncertain",
    "Caller",
    "Choice",
    "Content",
    "ContextCompacted",
    "DecisionRecorded",
    "DefaultModelChosen",
    "DiskKept",
    "DiskRestored",
    "DiskVersionRemoved",
    "EgressTried",
    "EnvironmentDeleted",
    "EnvironmentForked",
    "EnvironmentLabelled",
    "EnvironmentLost",
    "EnvironmentMade",
    "EnvironmentManifestRemoved",
    "EnvironmentManifestSaved",
    "EnvironmentOwnerChanged",
    "EnvironmentReset",
    "EnvironmentSecretsChanged",
    "EnvironmentStarted",
    "EnvironmentStopped",
    "Event",
    "Fact",
    "FileRef",
    "ForkedFrom",
    "KeyMade",
    "KeyRevoked",
    "Limit",
    "LimitReached",
    "Limits",
    "MatchedRule",
    "MessageAccepted",
    "ModelFailed",
    "ModelReplied",
    "ModelRequested",
    "ModelUncertain",
    "OperationAsked",
    "OperationEnded",
    "OperationStarted",
    "Origin",
    "OutsideSenderForgotten",
    "OutsideTraceForgotten",
    "PluginInstalled",
    "PluginRemoved",
    "PluginUpdated",
    "PolicySaved",
    "ProbeAnswered",
    "ProbeAsked",
    "ProbeFailed",
    "ProbeLost",
    "ProbeStarted",
    "ProviderRemoved",
    "ProviderSaved",
    "Ruling",
    "SecretRemoved",
    "SecretSet",
    "SecretsResealed",
    "SessionModelChosen",
    "SessionStarted",
    "SetupFinished",
    "SetupRun",
    "SetupStarted",
    "SignedIn",
    "SkillSaved",
    "SummaryFailed",
    "SummaryRequested",
    "TurnCancelled",
    "TurnCompleted",
    "TurnFailed",
    "TurnFaulted",
    "TurnRef",
    "TurnStarted",
    "Usage",
    "Verdict",
    "ViewRemoved",
    "ViewSaved",
    "WaitKind",
    "WaitOpened",
]


def _leaves(base: type[Event]) -> dict[str, type[Event]]:
    return {kind.TYPE: kind for kind in base.__subclasses__()}


EVENTS: dict[str, type[Event]] = _leaves(Event)
OF_ENVIRONMENTS: tuple[type[Event], ...] = tuple(
    kind
    for name, kind in EVENTS.items()
    if name.partition(".")[0]
    in ("environment_manifest", "environment", "setup", "disk", "egress", "operation")
)
