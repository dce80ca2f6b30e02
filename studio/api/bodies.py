"""What a program may send: the bodies and the queries, each a shape."""

from dataclasses import dataclass
from typing import Annotated, Literal

from studio.api.shapes import (
    ABSENT,
    JSON,
    SAFE_WHOLE,
    Absent,
    Count,
    Name,
    Natural,
    Positive,
    Short,
    Text,
    Whole,
)

PAGE_MOST = 200
Limit = Annotated[int, Whole(low=1, high=PAGE_MOST)]
Cursor = Annotated[str, Text(low=1, high=2_000), "The `next` of the page before; opaque."]
Seq = Annotated[int, Whole(low=0, high=SAFE_WHOLE)]
Reason = Annotated[str, Text(high=4_000, lines=True)]
Message = Annotated[str, Text(low=1, lines=True), "At most 1 MiB of UTF-8, and not blank."]
AgentName = Annotated[str, Text(low=1, high=63)]


@dataclass(frozen=True, kw_only=True)
class NoQuery:
    """No query at all."""


@dataclass(frozen=True, kw_only=True)
class NoBody:
    """No body, or an empty object."""


# Sessions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SessionsQuery:
    """Which sessions."""

    q: Short = ""
    agent: Short = ""
    status: Literal[
        "", "idle", "queued", "running", "held", "waiting", "completed", "failed", "cancelled"
    ] = ""
    needs: Literal["", "held", "questions", "uncertain", "any"] = ""
    plugin: Annotated[Short, "Those that called something of this plugin."] = ""
    environment: Annotated[Short, "Those that work in the environment with this id."] = ""
    limit: Limit = 50
    cursor: Cursor | None = None


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a message: text, or a file (an artifact of the session, or an upload)."""

    type: Literal["text", "file"]
    text: Annotated[Message, "Of a text."] | None = None
    artifactId: Annotated[Name, "Of a file that the session has."] | None = None
    version: Annotated[Positive, "Without it the newest."] | None = None
    uploadId: Annotated[Name, "Of a file that was sent for this message."] | None = None


Parts = Annotated[list[Part], Count(low=1, high=100), "Instead of the text: texts and files."]


@dataclass(frozen=True, kw_only=True)
class UploadQuery:
    """What a file is called, where the body does not say."""

    name: Short = ""


@dataclass(frozen=True, kw_only=True)
class ArtifactQuery:
    """What a file is called, and of which artifact it is a new version."""

    name: Short = ""
    artifact: Annotated[Name, "The artifact that gets a version."] | None = None


@dataclass(frozen=True, kw_only=True)
class PageQuery:
    """Which page."""

    limit: Limit = 50
    cursor: Cursor | None = None


@dataclass(frozen=True, kw_only=True)
class NewModel:
    """A model of a saved provider, for one session; without a provider the agent's own."""

    provider: Short = ""
    name: Annotated[Short, "Without it the provider's first."] = ""


@dataclass(frozen=True, kw_only=True)
class NewSession:
    """A session to start, with a first message or without."""

    agent: AgentName
    title: Short = ""
    message: Message | None = None
    private: Annotated[bool, "Only you and admins may see it."] = False
    version: Annotated[Positive, "A version of the agent; without it the newest."] | None = None
    model: NewModel | None = None
    environment: Annotated[Name, "The name or id of an environment."] | None = None
    parts: Parts | None = None


@dataclass(frozen=True, kw_only=True)
class NewMessage:
    """A message; it opens a turn."""

    text: Message | None = None
    parts: Parts | None = None


@dataclass(frozen=True, kw_only=True)
class DenyAndSend:
    """A message, with everything that is held denied and the turn stopped first."""

    text: Message | None = None
    parts: Parts | None = None
    reason: Annotated[Reason, "What the agent is told of the denied calls."] = ""


@dataclass(frozen=True, kw_only=True)
class Stop:
    """Why the turn is stopped."""

    reason: Reason = ""


@dataclass(frozen=True, kw_only=True)
class EventsQuery:
    """Which facts: those behind `after`, oldest first."""

    after: Seq = 0
    limit: Limit = 200


@dataclass(frozen=True, kw_only=True)
class CallsQuery:
    """Which calls: the newest, or those before a seq."""

    before: Seq | None = None
    limit: Limit = 200


@dataclass(frozen=True, kw_only=True)
class PluginCallsQuery:
    """Which calls of a plugin, the newest first."""

    state: Literal[
        "", "succeeded", "failed", "denied", "held", "uncertain", "cancelled", "started"
    ] = ""
    limit: Limit = 50
    cursor: Cursor | None = None


# Approvals --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ApprovalsQuery:
    """Which waits: the oldest first while open, the newest first once closed."""

    state: Literal["open", "closed"] = "open"
    kind: Literal["", "approval", "question", "uncertain", "timer"] = ""
    agent: Short = ""
    tool: Short = ""
    plugin: Short = ""
    session: Annotated[Name, "The id of a session."] | None = None
    older_than: (
        Annotated[Natural, "Seconds: only those that have waited at least this long."] | None
    ) = None
    q: Short = ""
    limit: Limit = 50
    cursor: Cursor | None = None


@dataclass(frozen=True, kw_only=True)
class NewDecision:
    """A person's answer to a wait; If-Match carries the digest that was shown."""

    choice: Literal["approve", "deny", "answer", "ran", "did_not_run", "send_again"]
    reason: Annotated[Reason, "What the agent is told of a denial."] = ""
    arguments: Annotated[JSON, "With approve: run with these instead."] | Absent = ABSENT
    answer: Annotated[JSON, "With answer: the answer to a question."] | Absent = ABSENT


# Agents, policy, keys -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AgentQuery:
    """Which version of the agent."""

    version: Positive | None = None


@dataclass(frozen=True, kw_only=True)
class VersionsQuery:
    """Which versions of the agent: those before this one."""

    before: Positive | None = None


@dataclass(frozen=True, kw_only=True)
class DiffQuery:
    """Which two versions; without them the newest and the one before it."""

    old: Positive | None = None
    new: Positive | None = None


@dataclass(frozen=True, kw_only=True)
class SaveQuery:
    """Whether to save or only to plan."""

    dryRun: Annotated[bool, "Only say what would change and what is wrong."] = False


@dataclass(frozen=True, kw_only=True)
class NewAgent:
    """One of the agents that are saved together."""

    manifest: Annotated[JSON, "Its manifest; /v1/schemas/agent.json says what one may hold."]
    version: Annotated[Natural, "The version you looked at; 0: there is none yet."] | None = None


@dataclass(frozen=True, kw_only=True)
class NewAgents:
    """Agents to save in one transaction: all of them, or none."""

    items: Annotated[list[NewAgent], Count(low=1, high=200)]


@dataclass(frozen=True, kw_only=True)
class UsageQuery:
    """Which days, and how what was used in them is grouped."""

    by: Literal["day", "agent", "model", "plugin", "session"] = "agent"
    since: Annotated[str, Text(high=10), "The first day (UTC), such as 2026-11-01."] = ""
    until: Annotated[str, Text(high=10), "The last day, counted in; without it today."] = ""
    days: Annotated[int, Whole(low=1, high=366), "Without `since`: how many days."] = 30
    limit: Limit = 50


@dataclass(frozen=True, kw_only=True)
class OutsideTracesQuery:
    """Which traces from outside."""

    service: Short = ""
    agent: Short = ""
    state: Literal["", "completed", "failed", "incomplete"] = ""
    limit: Limit = 50
    cursor: Cursor | None = None


@dataclass(frozen=True, kw_only=True)
class OutsideSenderQuery:
    """Which traces of a sender: all, or those whose last span came before a moment."""

    sent_by: Annotated[Name, "The sender, as its traces name it."]
    before: Annotated[str, Text(high=40), "ISO 8601, UTC without a zone; without it now."] = ""


@dataclass(frozen=True, kw_only=True)
class PolicyQuery:
    """Which version of the policy."""

    version: Natural | None = None


Rules = Annotated[list[JSON], Count(high=500), "Rules; docs/policy.md says what one may hold."]


@dataclass(frozen=True, kw_only=True)
class NewPolicy:
    """The whole rule set that replaces the one in force."""

    rules: Rules
    note: Short = ""


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """A rule set to try on recorded calls."""

    rules: Rules
    limit: Annotated[int, Whole(low=1, high=10_000)] = 1_000


@dataclass(frozen=True, kw_only=True)
class NewProvider:
    """A provider of models to save under the name in the path."""

    kind: Literal["anthropic", "openai", "google", "chat"]
    models: Annotated[list[Name], Count(low=1, high=100)]
    base_url: Annotated[str, Text(high=2_000)] = ""
    key: (
        Annotated[str, Text(high=8_192), "Sealed. Absent keeps it, empty takes it away."] | Absent
    ) = ABSENT
    reads: Annotated[list[Literal["text", "image", "pdf", "audio"]], Count(high=4)] | None = None
    context_window: Annotated[int, Whole(low=256, high=100_000_000)] | None = None
    prices: Annotated[dict[str, JSON], "US dollars for a million tokens, by kind."] | None = None


@dataclass(frozen=True, kw_only=True)
class NewTest:
    """Which model of the provider to ask; without a name the first."""

    model: Short = ""


@dataclass(frozen=True, kw_only=True)
class NewDefaultModel:
    """The model of agents that name none; without a provider none."""

    provider: Short = ""
    model: Short = ""


@dataclass(frozen=True, kw_only=True)
class NewSecret:
    """A value for a secret; no answer ever holds it."""

    value: Annotated[str, Text(low=8, high=8_192, lines=True)]


@dataclass(frozen=True, kw_only=True)
class NewPreview:
    """A server to look at, described as in a manifest."""

    server: JSON
    confirm: Annotated[bool, "A program may be started on the worker's machine."] = False


@dataclass(frozen=True, kw_only=True)
class NewBackfill:
    """Which turns are sent once more: those that ended then, of one session or of all."""

    since: Annotated[str, Text(high=40), "ISO 8601, UTC without a zone; counted in."] = ""
    until: Annotated[str, Text(high=40), "The same, not counted in; without it now."] = ""
    session: Annotated[str, Text(high=100), "The id of one session."] = ""


@dataclass(frozen=True, kw_only=True)
class PreviewQuery:
    """For which agent the tools are judged."""

    agent: Short = ""


@dataclass(frozen=True, kw_only=True)
class NewKey:
    """An application key to make."""

    name: Annotated[str, Text(low=1, high=60)]
    role: Literal["sender", "viewer", "operator", "admin"] = "operator"
