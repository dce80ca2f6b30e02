"""Every fact that can be recorded, one frozen dataclass each.

A class says when its fact is recorded, by whom, and what may follow. `TYPE` is its name on the
wire and in the journal. `LINE` marks facts that open a line of the timeline. `EVIDENCE` is
`observed` when the runtime saw it happen, `claimed` when someone outside said so.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Verdict = Literal["allow", "ask", "deny"]
WaitKind = Literal["approval", "question", "timer", "uncertain"]
Choice = Literal[
    "approve", "deny", "answer",  # a person's
    "ran", "did_not_run", "send_again",  # a person's, of an uncertain call
    "expired", "due",  # the deadline's
    "stopped", "late",  # the turn was stopped; an outcome came after all
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Content:
    """A JSON value that may be too large to keep inline.

    `value` is the whole when `stored` is false. When `stored` is true the bytes (canonical JSON, or
    the raw text when `media` is not `application/json`) lie in the blob store under `hash`, and
    `head` and `tail` (text) are what a reader sees. `size` is bytes, `hash` SHA-256 in hex.
    `room` is set when fewer bytes than usual may stand in the fact.
    """

    hash: str
    size: int
    media: str = "application/json"
    value: Any = None
    stored: bool = False
    head: str = ""
    tail: str = ""
    room: int | None = None


@dataclass(frozen=True, kw_only=True)
class FileRef:
    """One version of an artifact, as a message or a call refers to it; never its bytes."""

    artifact_id: str
    version: int
    name: str
    media: str
    size: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The place in somebody's trace that a command came from (W3C Trace Context).

    `trace_id` is 32 hex characters, `span_id` 16; `state` is their `tracestate`, "" for none.
    `sampled`: they keep that trace.
    """

    trace_id: str
    span_id: str
    sampled: bool = True
    state: str = ""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a call comes from: its kind, the server and the plugin that brought the tool."""

    kind: Literal["mcp", "http", "sandbox", "platform", "agent"]
    server: str | None = None
    plugin: str | None = None
    plugin_version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a provider said a model call took. None is unknown, never zero. `cost` is US dollars.

    `input_tokens` is all that was read: `cached_tokens` (read from a cache) and
    `cache_write_tokens` (written to one) are parts of it. `reasoning_tokens` is a part of
    `output_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One limit of a turn: a number, and whether reaching it stops the turn or only tells."""

    value: int
    hard: bool = True


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a turn. Times are seconds; active time leaves out waiting for people."""

    steps: Limit = field(default_factory=lambda: Limit(value=25))
    calls: Limit = field(default_factory=lambda: Limit(value=100))
    active_seconds: Limit = field(default_factory=lambda: Limit(value=600))
    total_seconds: Limit = field(default_factory=lambda: Limit(value=7 * 86_400))


@dataclass(frozen=True, kw_only=True)
class MatchedRule:
    """A rule of the policy that matched a call, as it stood then, with its words."""

    number: int
    effect: Verdict
    words: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What the policy said of one call, with every rule that matched.

    `read_only` is what the tool said of itself then, so that a later dry run can ask the same.
    """

    verdict: Verdict
    policy_version: int
    read_only: bool = False
    rules: tuple[MatchedRule, ...] = ()
    approvers: int = 1
    not_own: bool = False
    expires_seconds: int | None = None


class Event:
    """Base of every fact."""

    TYPE: ClassVar[str]
    LINE: ClassVar[bool] = False
    ACTOR: ClassVar[str] = "runtime"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "observed"


# Sessions and messages ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SessionStarted(Event):
    """A person or program started a session of one agent version. First fact of every session."""

    TYPE: ClassVar[str] = "session.started"
    agent: str
    agent_version: int
    title: str
    owner: str
    private: bool = False
    limits: Limits = field(default_factory=Limits)
    model: Any = None  # {provider, name} when it is not the one its agent names
    environment_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class SessionModelChosen(Event):
    """A person chose the model of the turns to come; None is the one that the agent names."""

    TYPE: ClassVar[str] = "session.model_chosen"
    ACTOR: ClassVar[str] = "person"
    model: Any
    by: str


@dataclass(frozen=True, kw_only=True)
class MessageAccepted(Event):
    """A message was accepted and opens a turn, which is now queued. `by` is the person's id.

    `caller` is where in a trace of its sender's it came from, when that was said.
    """

    TYPE: ClassVar[str] = "message.accepted"
    LINE: ClassVar[bool] = True
    ACTOR: ClassVar[str] = "person"
    turn_id: str
    number: int
    text: Content
    by: str
    files: tuple[FileRef, ...] = ()
    caller: Caller | None = None


@dataclass(frozen=True, kw_only=True)
class ArtifactSaved(Event):
    """A version of an artifact was kept; its bytes lie in the store under `hash`.

    `source` says how: a person's `upload`, saved by the `agent`, or a part of a call's `result`.
    `by` is a person's id, the agent's name or the tool's. `width` and `height` are pixels; they and
    `pages` are 0 when unknown. The message or the outcome that refers to it follows at once.

    With `media` inode/directory it is a folder of `files` files and `size` bytes: `hash` is the
    digest of its tree in the store of disk versions. `skipped` and `moving` are as in `DiskKept`.
    """

    TYPE: ClassVar[str] = "artifact.saved"
    ACTOR: ClassVar[str] = "maker"
    artifact_id: str
    version: int
    name: str
    media: str
    size: int
    hash: str
    source: Literal["upload", "agent", "result"]
    by: str
    turn_id: str | None = None
    effect_id: str | None = None
    width: int = 0
    height: int = 0
    pages: int = 0
    files: int = 0
    skipped: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ArtifactLinkMade(Event):
    """A person made a link that gives one version to whoever has it, until `expires` (ms).

    The link itself is nowhere: it is signed, and only its id is kept.
    """

    TYPE: ClassVar[str] = "artifact.link_made"
    ACTOR: ClassVar[str] = "person"
    link_id: str
    artifact_id: str
    version: int
    expires: int
    by: str


@dataclass(frozen=True, kw_only=True)
class ArtifactLinkRevoked(Event):
    """A link to an artifact works no more, before its time."""

    TYPE: ClassVar[str] = "artifact.link_revoked"
    ACTOR: ClassVar[str] = "person"
    link_id: str
    artifact_id: str
    by: str


@dataclass(frozen=True, kw_only=True)
class TurnStarted(Event):
    """A worker took the turn up for the first time."""

    TYPE: ClassVar[str] = "turn.started"
    turn_id: str


# Model calls ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ModelRequested(Event):
    """Intent: this request is about to be sent to the model. Recorded before the send.

    `candidate` is the model's place in the agent's chain: 0 is its own, 1 the first fallback.
    """

    TYPE: ClassVar[str] = "model.requested"
    turn_id: str
    effect_id: str
    step: int
    attempt: int
    provider: str
    model: str
    request_hash: str
    candidate: int = 0


@dataclass(frozen=True, kw_only=True)
class ModelReplied(Event):
    """The whole reply, its usage; the calls it proposes follow in the same transaction.

    `provider`, `model` and `candidate` say who answered. `summary` is what the provider wrote for
    people about the thinking. `state` is what it wants back unchanged (`contents.OPAQUE`): its
    bytes go to that provider alone and are shown to nobody.
    """

    TYPE: ClassVar[str] = "model.replied"
    LINE: ClassVar[bool] = True
    ACTOR: ClassVar[str] = "agent"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    turn_id: str
    effect_id: str
    text: Content
    calls: int
    usage: Usage
    stop: str = "end"
    provider: str = ""
    model: str = ""
    candidate: int = 0
    summary: Content | None = None
    state: Content | None = None
    masked: int = 0  # secrets that were taken out of what it says and proposes
    first_token: int | None = None  # ms from the request; the last field, `traces` reads it there


@dataclass(frozen=True, kw_only=True)
class ModelFailed(Event):
    """The attempt failed. `permanent` ends the turn; else the next attempt follows `retry_at`.

    `maybe_billed` says that the model may have begun to work, and nobody told what that cost.
    `successor` is the candidate that is asked next in place of this one; `account` says that the
    failure is of the account or the address, so that no candidate with the same is asked again in
    this turn.
    """

    TYPE: ClassVar[str] = "model.failed"
    LINE: ClassVar[bool] = True
    turn_id: str
    effect_id: str
    code: str
    message: str
    permanent: bool
    usage: Usage = field(default_factory=Usage)
    retry_at: int | None = None
    maybe_billed: bool = False
    successor: int | None = None
    account: bool = False
    first_token: int | None = None  # as in `ModelReplied`, where it broke off after that


@dataclass(frozen=True, kw_only=True)
class ModelUncertain(Event):
    """The worker died while the model call was out: it may have been billed. It is asked again."""

    TYPE: ClassVar[str] = "model.uncertain"
    LINE: ClassVar[bool] = True
    turn_id: str
    effect_id: str


# Summaries ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SummaryRequested(Event):
    """Intent: the model is about to be asked to summarise the older part of the talk.

    That part is all turns before `before_turn`, and the first `replies` steps of that one; `tokens`
    is about how large the next request would be without the summary.
    """

    TYPE: ClassVar[str] = "summary.requested"
    turn_id: str
    effect_id: str
    attempt: int
    step: int
    provider: str
    model: str
    request_hash: str
    before_turn: int
    replies: int
    tokens: int


@dataclass(frozen=True, kw_only=True)
class ContextCompacted(Event):
    """The model is shown `text` from now on instead of what lies before the place.

    The place is as in `SummaryRequested`. The talk itself stays in the journal, whole.
    """

    TYPE: ClassVar[str] = "context.compacted"
    LINE: ClassVar[bool] = True
    ACTOR: ClassVar[str] = "agent"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    turn_id: str
    effect_id: str
    before_turn: int
    replies: int
    text: Content
    usage: Usage
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, kw_only=True)
class SummaryFailed(Event):
    """There is no summary. It is asked for `again`, or the turn goes on with the newest part alone.

    `maybe_billed` is as in `ModelFailed`.
    """

    TYPE: ClassVar[str] = "summary.failed"
    LINE: ClassVar[bool] = True
    turn_id: str
    effect_id: str
    code: str
    message: str
    again: bool = False
    usage: Usage = field(default_factory=Usage)
    maybe_billed: bool = False


# Calls ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CallProposed(Event):
    """The model proposes a call. `digest` binds everything that would run (see `rules.digests`)."""

    TYPE: ClassVar[str] = "call.proposed"
    LINE: ClassVar[bool] = True
    ACTOR: ClassVar[str] = "agent"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    turn_id: str
    effect_id: str
    step: int
    index: int
    provider_call_id: str
    tool: str
    origin: Origin
    arguments: Content
    tool_hash: str
    digest: str
    destination: str = ""
    repeatable: bool = False
    on_uncertain: Literal["ask", "tell"] = "ask"
    terminal: bool = False
    alone: bool = False
    ruling: Ruling


@dataclass(frozen=True, kw_only=True)
class WaitOpened(Event):
    """The call is held, or its turn stands on a question, a timer or an uncertain effect.

    `deadline` (ms) closes an approval or question as expired, and a timer as due. For a question
    `prompt` and `schema` say what is asked.
    """

    TYPE: ClassVar[str] = "wait.opened"
    turn_id: str
    effect_id: str
    wait_id: str
    kind: WaitKind
    deadline: int | None = None
    approvers: int = 1
    not_own: bool = False
    prompt: str = ""
    schema: Any = None


@dataclass(frozen=True, kw_only=True)
class DecisionRecorded(Event):
    """A person (or a deadline) answered a wait.

    `digest_shown` is the digest on the card that was answered; `digest_decided` binds what may now
    run, and differs only when the person edited the arguments. `closes` is false for the first of
    two approvals. `by` is a person's id, or `deadline`.
    """

    TYPE: ClassVar[str] = "decision.recorded"
    ACTOR: ClassVar[str] = "person"
    turn_id: str
    effect_id: str
    wait_id: str
    choice: Choice
    by: str
    reason: str = ""
    digest_shown: str = ""
    digest_decided: str = ""
    arguments: Content | None = None
    answer: Content | None = None
    closes: bool = True


@dataclass(frozen=True, kw_only=True)
class CallStarted(Event):
    """Intent: the call is about to be sent, for the `send`-th time under `key`."""

    TYPE: ClassVar[str] = "call.started"
    turn_id: str
    effect_id: str
    key: str
    send: int
    digest_sent: str


@dataclass(frozen=True, kw_only=True)
class CallSucceeded(Event):
    """The tool answered. Final."""

    TYPE: ClassVar[str] = "call.succeeded"
    ACTOR: ClassVar[str] = "tool"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    turn_id: str
    effect_id: str
    result: Content
    masked: int = 0
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CallFailed(Event):
    """The call did not do what was asked: bad arguments, the tool's own error, a time-out. Final.

    `settled` says that nothing happened outside, so that a new try may use a new key.
    """

    TYPE: ClassVar[str] = "call.failed"
    turn_id: str
    effect_id: str
    code: str
    message: str
    settled: bool = False
    result: Content | None = None
    masked: int = 0
    files: tuple[FileRef, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CallDenied(Event):
    """The policy or a person said no; the model is told `reason`. Final, never sent."""

    TYPE: ClassVar[str] = "call.denied"
    turn_id: str
    effect_id: str
    by: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class CallCancelled(Event):
    """The turn was stopped, or a sibling ended it, before this call was sent. Final."""

    TYPE: ClassVar[str] = "call.cancelled"
    turn_id: str
    effect_id: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class CallUncertain(Event):
    """The call was sent and nobody recorded what came of it. Never sent again by itself."""

    TYPE: ClassVar[str] = "call.uncertain"
    turn_id: str
    effect_id: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class CallSettled(Event):
    """A person said what became of an uncertain call; `send_again` re-opens it, same key."""

    TYPE: ClassVar[str] = "call.settled"
    ACTOR: ClassVar[str] = "person"
    turn_id: str
    effect_id: str
    choice: Literal["ran", "did_not_run", "send_again"]
    by: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class CallLate(Event):
    """An outcome came after the call was closed. It is kept for the reader and used by nobody."""

    TYPE: ClassVar[str] = "call.late"
    ACTOR: ClassVar[str] = "tool"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    turn_id: str
    effect_id: str
    outcome: Literal["succeeded", "failed"]
    message: str = ""
    result: Content | None = None


# Ends -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LimitReached(Event):
    """A limit of the turn was reached. A hard one is followed by the turn's end."""

    TYPE: ClassVar[str] = "limit.reached"
    LINE: ClassVar[bool] = True
    turn_id: str
    limit: str
    value: int
    hard: bool


@dataclass(frozen=True, kw_only=True)
class TurnCompleted(Event):
    """The turn ended with an answer; `output` is set when the agent has an output schema."""

    TYPE: ClassVar[str] = "turn.completed"
    LINE: ClassVar[bool] = True
    turn_id: str
    output: Content | None = None


@dataclass(frozen=True, kw_only=True)
class TurnFailed(Event):
    """The turn ended without an answer, for a typed reason."""

    TYPE: ClassVar[str] = "turn.failed"
    LINE: ClassVar[bool] = True
    turn_id: str
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class TurnCancelled(Event):
    """A person stopped the turn. `ran` names the calls that had run, `unknown` those out."""

    TYPE: ClassVar[str] = "turn.cancelled"
    LINE: ClassVar[bool] = True
    ACTOR: ClassVar[str] = "person"
    turn_id: str
    by: str
    reason: str = ""
    ran: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


# Journals of other things: `session_id` is `agents`, `plugins`, `policy`, `people`, `secrets`… ---


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


@dataclass(frozen=True, kw_only=True)
class KeyMade(Event):
    """An application key was made. The key itself is never recorded, only its SHA-256."""

    TYPE: ClassVar[str] = "key.made"
    ACTOR: ClassVar[str] = "person"
    key_id: str
    name: str
    role: str
    hash: str
    by: str


@dataclass(frozen=True, kw_only=True)
class KeyRevoked(Event):
    """An application key was revoked and opens nothing from now on."""

    TYPE: ClassVar[str] = "key.revoked"
    ACTOR: ClassVar[str] = "person"
    key_id: str
    by: str


@dataclass(frozen=True, kw_only=True)
class SecretSet(Event):
    """A secret got a value, sealed elsewhere. `owner` is whose it is: the studio's, or another's.

    Neither the value nor its sealed form is ever recorded in a journal.
    """

    TYPE: ClassVar[str] = "secret.set"
    ACTOR: ClassVar[str] = "person"
    owner: str
    name: str
    version: int
    by: str


@dataclass(frozen=True, kw_only=True)
class SecretRemoved(Event):
    """A secret was removed; its sealed value is gone. `version` is the one it had."""

    TYPE: ClassVar[str] = "secret.removed"
    ACTOR: ClassVar[str] = "person"
    owner: str
    name: str
    version: int
    by: str


@dataclass(frozen=True, kw_only=True)
class SecretsResealed(Event):
    """Every sealed value is under another key of the key file now; the values are the same."""

    TYPE: ClassVar[str] = "secrets.resealed"
    ACTOR: ClassVar[str] = "person"
    key: str
    count: int
    by: str


@dataclass(frozen=True, kw_only=True)
class ProviderSaved(Event):
    """A provider of models was saved; its key, if it has one, is sealed elsewhere."""

    TYPE: ClassVar[str] = "provider.saved"
    ACTOR: ClassVar[str] = "person"
    name: str
    provider: Any
    key_version: int | None
    by: str


@dataclass(frozen=True, kw_only=True)
class ProviderRemoved(Event):
    """A saved provider was removed, with its key."""

    TYPE: ClassVar[str] = "provider.removed"
    ACTOR: ClassVar[str] = "person"
    name: str
    by: str


@dataclass(frozen=True, kw_only=True)
class DefaultModelChosen(Event):
    """From now on new sessions of agents that name no model get this one; "" is none."""

    TYPE: ClassVar[str] = "model.default_chosen"
    ACTOR: ClassVar[str] = "person"
    provider: str
    model: str
    by: str


@dataclass(frozen=True, kw_only=True)
class ProbeAsked(Event):
    """A person asked a worker to look at something outside: a model, a server.

    `kind` says who looks, `target` names what in a word, `subject` is all that is needed to look.
    """

    TYPE: ClassVar[str] = "probe.asked"
    ACTOR: ClassVar[str] = "person"
    probe_id: str
    kind: str
    target: str
    subject: Any
    by: str


@dataclass(frozen=True, kw_only=True)
class ProbeStarted(Event):
    """Intent: this worker is about to look. It has until `until` (ms); it is never sent again."""

    TYPE: ClassVar[str] = "probe.started"
    probe_id: str
    worker: str
    until: int


@dataclass(frozen=True, kw_only=True)
class ProbeAnswered(Event):
    """What was found, as JSON. `masked` counts the secrets that were taken out of it."""

    TYPE: ClassVar[str] = "probe.answered"
    EVIDENCE: ClassVar[Literal["observed", "claimed"]] = "claimed"
    probe_id: str
    answer: Any
    masked: int = 0


@dataclass(frozen=True, kw_only=True)
class ProbeFailed(Event):
    """It could not be looked at, and why."""

    TYPE: ClassVar[str] = "probe.failed"
    probe_id: str
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class ProbeLost(Event):
    """The worker that looked is gone; nobody knows what it found. It is not sent again."""

    TYPE: ClassVar[str] = "probe.lost"
    probe_id: str


@dataclass(frozen=True, kw_only=True)
class ViewSaved(Event):
    """Filters of a list were saved under a name, changed, or brought back. All of it, each time.

    `list` is the page they belong to, `query` that of its URL; with `shared` everybody sees it.
    """

    TYPE: ClassVar[str] = "view.saved"
    ACTOR: ClassVar[str] = "person"
    view_id: str
    list: str
    name: str
    query: str
    owner: str
    shared: bool
    by: str


@dataclass(frozen=True, kw_only=True)
class ViewRemoved(Event):
    """A saved view was taken away; it can be brought back."""

    TYPE: ClassVar[str] = "view.removed"
    ACTOR: ClassVar[str] = "person"
    view_id: str
    by: str


@dataclass(frozen=True, kw_only=True)
class SignedIn(Event):
    """A person came in by a single-use link."""

    TYPE: ClassVar[str] = "person.signed_in"
    ACTOR: ClassVar[str] = "person"
    person: str
    role: str


# Environments: manifests stand in the journal `environments`, each environment in one of its own,
# whose `session_id` is its id ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TurnRef:
    """A turn of a session, as an environment's fact names it."""

    session_id: str
    turn_id: str


@dataclass(frozen=True, kw_only=True)
class ForkedFrom:
    """Where a fork began: an environment, and the version of its disk, None for an empty one."""

    environment_id: str
    name: str
    version: int | None = None


@dataclass(frozen=True, kw_only=True)
class SetupRun:
    """One command of a setup: `exit` is the shell's code or minus the signal.

    `output` has room for 5 KiB; what is longer lies in the blob store. `began` is when (ms, UTC).
    """

    run: str
    exit: int
    seconds: float
    output: Content
    words: str = ""  # why it was ended early
    began: int | None = None


@dataclass(frozen=True, kw_only=True)
class EnvironmentManifestSaved(Event):
    """A new version of an environment manifest was saved. `manifest` is its JSON as written."""

    TYPE: ClassVar[str] = "environment_manifest.saved"
    ACTOR: ClassVar[str] = "person"
    name: str
    version: int
    manifest: Any
    digest: str
    by: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentManifestRemoved(Event):
    """Every version of a manifest that no environment is made from was removed."""

    TYPE: ClassVar[str] = "environment_manifest.removed"
    ACTOR: ClassVar[str] = "person"
    name: str
    version: int
    by: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentMade(Event):
    """An environment was made. First fact of its journal; `definition` holds for its whole life.

    `manifest` and `manifest_version` name what it was made from, None when it was written inline.
    `digest` is that of the definition, which is whole: defaults are written out.
    """

    TYPE: ClassVar[str] = "environment.made"
    ACTOR: ClassVar[str] = "person"
    name: str
    kind: str
    manifest: str | None
    manifest_version: int | None
    definition: Any
    digest: str
    labels: Any
    owner: str
    by: str
    forked_from: ForkedFrom | None = None


@dataclass(frozen=True, kw_only=True)
class EnvironmentLabelled(Event):
    """A person changed the labels; `labels` are all there are from now on."""

    TYPE: ClassVar[str] = "environment.labelled"
    ACTOR: ClassVar[str] = "person"
    labels: Any
    by: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentOwnerChanged(Event):
    """From now on it is this person's alone to use; "" is everybody's."""

    TYPE: ClassVar[str] = "environment.owner_changed"
    ACTOR: ClassVar[str] = "person"
    owner: str
    by: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentStarted(Event):
    """It is ready for commands. `isolation` is what this machine gave it, `worker` who runs it.

    `gaps` are what it does not enforce, in sentences.
    """

    TYPE: ClassVar[str] = "environment.started"
    isolation: str = ""
    worker: str = ""
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EnvironmentStopped(Event):
    """Its processes have ended; the disk stays. `by` is a person, or "" (idle, the studio ends)."""

    TYPE: ClassVar[str] = "environment.stopped"
    ACTOR: ClassVar[str] = "person"
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class EnvironmentReset(Event):
    """Its disk is empty again; setup runs before the next command. Kept versions stay."""

    TYPE: ClassVar[str] = "environment.reset"
    ACTOR: ClassVar[str] = "person"
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class EnvironmentLost(Event):
    """Its disk or its machine is gone; turns are refused until it is restored or reset."""

    TYPE: ClassVar[str] = "environment.lost"
    reason: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentSecretsChanged(Event):
    """A secret of this environment was set or removed: its own journal says which.

    It stands in the journal `secrets`, which every process follows to open and mask what is new.
    """

    TYPE: ClassVar[str] = "environment.secrets_changed"
    ACTOR: ClassVar[str] = "person"
    environment_id: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentForked(Event):
    """Another environment was made from this one, with this version of its disk or an empty one."""

    TYPE: ClassVar[str] = "environment.forked"
    ACTOR: ClassVar[str] = "person"
    into: str
    name: str
    version: int | None
    by: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentDeleted(Event):
    """It is gone with its disk and its secrets. `by` is a person, or "" when it was long unused."""

    TYPE: ClassVar[str] = "environment.deleted"
    ACTOR: ClassVar[str] = "person"
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class SetupStarted(Event):
    """Intent: the files are staged and so many setup commands are about to run on a new disk.

    `turn_id` is the turn that stands on it.
    """

    TYPE: ClassVar[str] = "setup.started"
    commands: int
    turn_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class SetupFinished(Event):
    """What became of the setup. `failed` is the number (from 1) of the command that failed.

    `problem` says what else stood in the way; when it failed the next turn tries again.
    """

    TYPE: ClassVar[str] = "setup.finished"
    ok: bool
    runs: tuple[SetupRun, ...] = ()
    failed: int | None = None
    problem: str = ""
    turn_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class DiskKept(Event):
    """A version of the disk was kept; its bytes lie in the disk store under `digest`.

    `bytes` is all files together, `added` what was new to the store. `turn` made it, else `by`.
    `skipped` names what is kept by nobody (sockets, devices), `moving` the files that changed while
    they were read; both at most 100 paths. `milliseconds` is how long the keeping took.
    """

    TYPE: ClassVar[str] = "disk.kept"
    ACTOR: ClassVar[str] = "person"
    version: int
    digest: str
    files: int
    folders: int
    bytes: int
    added: int
    reason: Literal["setup", "turn", "hand", "restore", "import", "fork"]
    turn: TurnRef | None = None
    note: str = ""
    by: str = ""
    skipped: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()
    milliseconds: int = 0


@dataclass(frozen=True, kw_only=True)
class DiskRestored(Event):
    """The disk is as version `source` was; what it became is version `version`."""

    TYPE: ClassVar[str] = "disk.restored"
    ACTOR: ClassVar[str] = "person"
    source: int
    version: int
    by: str


@dataclass(frozen=True, kw_only=True)
class DiskVersionRemoved(Event):
    """A version was removed; its bytes go when no other version holds them."""

    TYPE: ClassVar[str] = "disk.version_removed"
    ACTOR: ClassVar[str] = "person"
    version: int
    by: str


@dataclass(frozen=True, kw_only=True)
class OperationAsked(Event):
    """A person wants something done to the disk as a whole; a worker does it.

    `version` is what is to be restored, `archive` the hash of the bytes that are to be imported.
    """

    TYPE: ClassVar[str] = "operation.asked"
    ACTOR: ClassVar[str] = "person"
    operation_id: str
    act: Literal["keep", "restore", "reset", "start", "stop", "import"]
    by: str
    note: str = ""
    version: int | None = None
    archive: str = ""
    archive_name: str = ""


@dataclass(frozen=True, kw_only=True)
class OperationStarted(Event):
    """Intent: this worker is about to do it. All of them may be begun anew when a worker dies."""

    TYPE: ClassVar[str] = "operation.started"
    operation_id: str
    worker: str


@dataclass(frozen=True, kw_only=True)
class OperationEnded(Event):
    """What came of it; `version` is the one it made. When it is not `ok`, nothing changed."""

    TYPE: ClassVar[str] = "operation.ended"
    operation_id: str
    ok: bool
    version: int | None = None
    code: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class EgressTried(Event):
    """Something in the environment tried to reach a host. Never a path, a header or a body.

    `up` and `down` are bytes; `turns` (at most 16) ran at that moment. `tries` is 1, or how many of
    a command's are counted here that were not told one by one. `effect_id` is the call whose
    command it was, where that is known; its turn is the first. `began` is ms, UTC.
    """

    TYPE: ClassVar[str] = "egress.tried"
    host: str
    port: int
    outcome: Literal["allowed", "refused", "failed"]
    reason: str = ""
    up: int = 0
    down: int = 0
    milliseconds: int = 0
    turns: tuple[TurnRef, ...] = ()
    tries: int = 1
    effect_id: str | None = None
    began: int | None = None


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One line of a journal: an event with its place. `time` is milliseconds since 1970, UTC.

    `seq` counts 1, 2, 3… within a session; `position` orders all facts of the store.
    """

    session_id: str
    seq: int
    position: int
    id: str
    time: int
    actor: str
    evidence: str
    event: Event

    @property
    def turn_id(self) -> str | None:
        """The turn this fact belongs to, if any."""
        return getattr(self.event, "turn_id", None)


def _leaves(base: type[Event]) -> dict[str, type[Event]]:
    return {kind.TYPE: kind for kind in base.__subclasses__()}


EVENTS: dict[str, type[Event]] = _leaves(Event)
OF_ENVIRONMENTS: tuple[type[Event], ...] = tuple(
    kind
    for name, kind in EVENTS.items()
    if name.partition(".")[0]
    in ("environment_manifest", "environment", "setup", "disk", "egress", "operation")
)
