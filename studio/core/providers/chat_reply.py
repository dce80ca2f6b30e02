"""A streamed chat completion put together: text, calls that come in pieces, usage, why it ended."""

from collections.abc import Iterator, Mapping
from typing import Any

from studio.core.providers import errors
from studio.core.providers.drafts import Draft, Pieces, count, inside, mappings
from studio.core.providers.provider import Delta, Reply, State, TextDelta, ThinkingDelta
from studio.core.rules.events import Usage

_STOPS = {"stop": "end", "tool_calls": "calls", "function_call": "calls", "length": "length"}
_THINKING = ("reasoning_content", "reasoning")


class ChatDraft(Draft):
    """A chat completion while it is written. `owner` is who may be given its state."""

    def __init__(self, owner: str, place: int = 0) -> None:
        super().__init__(place)
        self._owner = owner
        self._places: dict[int, int] = {}
        self._stop: str | None = None
        self._usage: Mapping[str, Any] = {}
        self._thinking, self._details = list[str](), list[Mapping[str, Any]]()
        self._extras: list[tuple[Pieces, Any]] = []

    def take(self, chunk: Mapping[str, Any]) -> Iterator[Delta]:
        """Take one piece of the stream; what it adds to the answer."""
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage = usage
        for choice in mappings(chunk.get("choices")):
            delta = choice.get("delta")
            if isinstance(delta, Mapping):
                yield from self._take_delta(delta)
            if isinstance(stop := choice.get("finish_reason"), str):
                self._stop = stop

    def reply(self) -> Reply:
        """The whole reply; ProviderError when it was refused or broke off."""
        if self.refusal or self._stop == "content_filter":
            raise errors.refused("".join(self.refusal))
        if self._stop is None:
            raise errors.broke_off()
        calls = self.proposed()
        stop = _STOPS.get(self._stop, self._stop)
        return Reply(
            text="".join(self.text),
            calls=calls,
            usage=self.usage(),
            stop="calls" if calls and stop == "end" else stop,
            state=self._state(),
        )

    def usage(self) -> Usage:
        """What the server said it took; what it did not say stays unknown."""
        told = self._usage
        read, written = told.get("prompt_tokens_details"), told.get("completion_tokens_details")
        return Usage(
            input_tokens=count(told.get("prompt_tokens")),
            output_tokens=count(told.get("completion_tokens")),
            cached_tokens=count(inside(read, "cached_tokens")),
            cache_write_tokens=count(inside(read, "cache_write_tokens")),
            reasoning_tokens=count(inside(written, "reasoning_tokens")),
        )

    def _take_delta(self, delta: Mapping[str, Any]) -> Iterator[Delta]:
        if text := self.add_text(delta.get("content")):
            yield TextDelta(text=text)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self.grow(refusal)
            self.refusal.append(refusal)
        thought = next((delta[name] for name in _THINKING if delta.get(name)), None)
        if isinstance(thought, str):
            self.grow(thought)
            self._thinking.append(thought)
            yield ThinkingDelta(text=thought)
        for detail in mappings(delta.get("reasoning_details")):
            self.grow(str(detail))
            self._details.append(detail)
        for piece in mappings(delta.get("tool_calls")):
            self._take_call(piece)

    def _take_call(self, piece: Mapping[str, Any]) -> None:
        call = self._call(piece.get("index"), piece.get("id"))
        if isinstance(extra := piece.get("extra_content"), Mapping):
            self.grow(str(extra))
            self._extras.append((call, extra))
        function = piece.get("function")
        if not isinstance(function, Mapping):
            return
        if isinstance(name := function.get("name"), str):
            call.name = call.name or name
        if isinstance(text := function.get("arguments"), str):
            self.grow(text)
            call.arguments.append(text)

    def _call(self, index: Any, call_id: Any) -> Pieces:
        """The call that a piece belongs to: same index, unless it names another id."""
        place = self._places.get(index) if isinstance(index, int) else len(self.calls) - 1
        known = self.calls[place] if place is not None and place >= 0 else None
        named = call_id if isinstance(call_id, str) and call_id else None
        if known is not None and (named is None or not known.id or named == known.id):
            known.id = known.id or named or ""
            return known
        self.calls.append(Pieces(named or ""))
        if isinstance(index, int):
            self._places[index] = len(self.calls) - 1
        return self.calls[-1]

    def _state(self) -> State | None:
        items: list[dict[str, Any]] = []
        if self._thinking:
            items.append({"reasoning_content": "".join(self._thinking)})
        if self._details:
            items.append({"reasoning_details": self._details})
        for call, extra in self._extras:
            items.append({"call": call.id, "extra_content": extra})
        return State(owner=self._owner, items=tuple(items)) if items else None
