"""Runtime: every verb a person or program may use, in one object. Built once by `app.py`."""

from studio.core.store.uploads import Upload
from studio.core.verbs.agents import AgentVerbs, Plan, Wanted
from studio.core.verbs.artifacts import ArtifactVerbs, SavedArtifact
from studio.core.verbs.backfills import BackfillVerbs
from studio.core.verbs.decisions import MISSING, Decided, DecisionVerbs
from studio.core.verbs.environments import (
    ARCHIVE_BYTES,
    EnvironmentVerbs,
    ForkPlan,
    Made,
    ManifestPlan,
)
from studio.core.verbs.links import LONGEST_MINUTES, LinkVerbs, MadeLink
from studio.core.verbs.models import ModelVerbs
from studio.core.verbs.outside import OutsideVerbs, TakenSpans
from studio.core.verbs.people import PeopleVerbs
from studio.core.verbs.plugins import PluginPlan, PluginVerbs, SkillSaved
from studio.core.verbs.policy import PolicyVerbs, Saved
from studio.core.verbs.secrets import SecretVerbs
from studio.core.verbs.servers import ServerVerbs
from studio.core.verbs.sessions import Preview, Sent, SessionVerbs, Started, Stopped
from studio.core.verbs.views import ViewVerbs

__all__ = [
    "ARCHIVE_BYTES",
    "LONGEST_MINUTES",
    "MISSING",
    "Decided",
    "ForkPlan",
    "Made",
    "MadeLink",
    "ManifestPlan",
    "Plan",
    "PluginPlan",
    "Preview",
    "Runtime",
    "Saved",
    "SavedArtifact",
    "Sent",
    "SkillSaved",
    "Started",
    "Stopped",
    "TakenSpans",
    "Upload",
    "Wanted",
]


class Runtime(
    SessionVerbs, ArtifactVerbs, DecisionVerbs, AgentVerbs, PluginVerbs, PolicyVerbs, PeopleVerbs,
    SecretVerbs, ModelVerbs, ServerVerbs, EnvironmentVerbs, LinkVerbs, BackfillVerbs, OutsideVerbs,
    ViewVerbs,
):  # fmt: skip
    """All the verbs; web and API know this object and the `Reader`."""
