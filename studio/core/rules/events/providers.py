"""Facts of the providers of models, the default model, and looks at what is outside.

They stand in the journals `models` and `probes`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from studio.core.rules.events.base import Event


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
