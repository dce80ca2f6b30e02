"""What a provider must do: take a request, give a stream of deltas and one reply.

Providers know nothing of the store. They are called only by the worker, off the web's path.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from studio.core.rules.events import Usage


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key in a resolved model object, opened. It is never recorded, logged or shown.

    `of` names what was opened, so that another value of the same is known to replace it.
    """

    value: str = field(repr=False)
    of: str = ""


@dataclass(frozen=True, kw_only=True)
class ToolOffer:
    """A tool as the model sees it. `schema` is JSON Schema of the arguments (an object)."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ProposedCall:
    """A call the model asks for. `arguments` is any JSON; `broken` holds text that was not JSON."""

    id: str
    name: str
    arguments: Any
    broken: str | None = None


@dataclass(frozen=True, kw_only=True)
class FilePart:
    """A file that a message carries, whole. `media` is its media type, such as `image/png`.

    Only what `rules.models.reads` says of the model is given: images, PDF, audio, text.
    """

    name: str
    media: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class State:
    """What a provider wants back unchanged with its reply: signed thinking, encrypted reasoning.

    `owner` says who may have it: one provider at one address and one family of models. `items` are
    that provider's own, JSON; nobody else looks into them and no person is shown them.
    """

    owner: str
    items: tuple[Any, ...] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of the talk.

    `user`: text and files. `assistant`: text, calls and the state that came with them. `tool`:
    text is the result of call `call_id`.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ProposedCall, ...] = ()
    call_id: str = ""
    name: str = ""
    failed: bool = False
    files: tuple[FilePart, ...] = ()
    state: State | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """One model call. `options` is the resolved `model` object, whole; it may hold a `Key`."""

    model: str
    instructions: str
    messages: tuple[Message, ...]
    tools: tuple[ToolOffer, ...] = ()
    output_schema: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    traceparent: str | None = None
    tracestate: str | None = None
    purpose: Literal["reply", "summary"] = "reply"  # only the scripted model asks

    @property
    def trace_headers(self) -> dict[str, str]:
        """The headers of W3C Trace Context that go with it."""
        pairs = {"traceparent": self.traceparent, "tracestate": self.tracestate}
        return {name: value for name, value in pairs.items() if value}


@dataclass(frozen=True, kw_only=True)
class TextDelta:
    """A piece of the answer as it is written."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ThinkingDelta:
    """A piece of the model's thinking, or nothing while it thinks unseen. It is never recorded.

    `is_summary` says that the provider wrote it for people; it comes whole in the reply.
    """

    text: str = ""
    is_summary: bool = False


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The whole answer, the calls it asks for, what it took and why it stopped; comes last.

    `stop` is `end`, `calls`, `length`, or the provider's own word. `summary` is what the provider
    wrote for people about the thinking, if anything.
    """

    text: str
    calls: tuple[ProposedCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    stop: str = "end"
    state: State | None = None
    summary: str = ""


Delta = TextDelta | ThinkingDelta


class ProviderError(Exception):
    """The model call failed. `permanent` is never tried again; `retry_after` is seconds.

    `message` is a plain sentence for the person, and below it the provider's own `words`; neither
    holds a key. `begun` says that the answer had begun to come, so that it may have been billed;
    `usage` is what had been told of it by then.
    """

    def __init__(
        self, code: str, message: str, *, permanent: bool, retry_after: float | None = None,
        words: str = "",
    ) -> None:  # fmt: skip
        self.message = f"{message}\nIt says: “{words}”" if words else message
        super().__init__(self.message)
        self.code, self.words = code, words
        self.permanent, self.retry_after = permanent, retry_after
        self.begun, self.usage = False, Usage()


class Provider(Protocol):
    """A model provider. `stream` may be closed at any time and then lets go of the connection."""

    name: str

    def stream(self, request: Request) -> AsyncIterator[Delta | Reply]:
        """Yield deltas and, last, one Reply; raise ProviderError."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
