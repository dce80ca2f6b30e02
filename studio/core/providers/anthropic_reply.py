"""A streamed message of Anthropic's put together: blocks that open, grow and close."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from studio.core.providers import errors
from studio.core.providers.drafts import Draft, Pieces, count, inside
from studio.core.providers.provider import Delta, Reply, State, TextDelta, ThinkingDelta
from studio.core.rules.events import Usage

_STOPS = {
    "end_turn": "end", "stop_sequence": "end", "tool_use": "calls", "max_tokens": "length",
    "model_context_window_exceeded": "length",
}  # fmt: skip
_HIDDEN = frozenset({"thinking", "redacted_thinking"})


class MessageDraft(Draft):
    """A message while it is written. `owner` is who may be given its state.

    `is_summarized` says that the thinking that comes is a summary for people.
    """

    def __init__(self, owner: str, place: int = 0, *, is_summarized: bool = False) -> None:
        super().__init__(place)
        self._owner, self._is_summarized = owner, is_summarized
        self._items: list[dict[str, Any]] = []
        self._open: dict[Any, dict[str, Any] | Pieces] = {}
        self._order: list[dict[str, Any] | Pieces] = []
        self._stop: str | None = None
        self._usage: dict[str, Any] = {}
        self._is_whole = False

    def take(self, chunk: Mapping[str, Any]) -> Iterator[Delta]:
        """Take one event of the stream; what it adds to the answer. An unknown one adds nothing."""
        match chunk.get("type"):
            case "message_start":
                self._told(inside(chunk.get("message"), "usage"))
            case "content_block_start":
                yield from self._begin(chunk.get("index"), chunk.get("content_block"))
            case "content_block_delta":
                yield from self._grow(chunk.get("index"), chunk.get("delta"))
            case "message_delta":
                self._told(chunk.get("usage"))
                if isinstance(stop := inside(chunk.get("delta"), "stop_reason"), str):
                    self._stop = stop
                details = inside(chunk.get("delta"), "stop_details")
                if isinstance(why := inside(details, "explanation"), str):
                    self.refusal.append(why)
            case "message_stop":
                self._is_whole = True
            case _:
                pass

    def reply(self) -> Reply:
        """The whole reply; ProviderError when it was refused or broke off."""
        if self._stop == "refusal":
            raise errors.refused("".join(self.refusal or self.text))
        if self._stop is None or not self._is_whole:
            raise errors.broke_off()
        calls = self.proposed()
        stop = _STOPS.get(self._stop, self._stop)
        return Reply(
            text="".join(self.text), calls=calls, usage=self.usage(), state=self._state(),
            stop="calls" if calls and stop == "end" else stop, summary="".join(self.summary),
        )  # fmt: skip

    def usage(self) -> Usage:
        """What the server said it took. What came from or went into the cache is counted apart."""
        plain = count(self._usage.get("input_tokens"))
        cached = count(self._usage.get("cache_read_input_tokens"))
        written = count(self._usage.get("cache_creation_input_tokens"))
        details = self._usage.get("output_tokens_details")
        return Usage(
            input_tokens=None if plain is None else plain + (cached or 0) + (written or 0),
            output_tokens=count(self._usage.get("output_tokens")),
            cached_tokens=cached,
            cache_write_tokens=written,
            reasoning_tokens=count(inside(details, "thinking_tokens")),
        )

    def _told(self, usage: Any) -> None:
        if isinstance(usage, Mapping):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _begin(self, index: Any, block: Any) -> Iterator[Delta]:
        if not isinstance(block, Mapping):
            return
        kind = block.get("type")
        if kind == "tool_use":
            call = Pieces(str(block.get("id") or ""), str(block.get("name") or ""))
            if given := block.get("input"):
                call.whole = json.dumps(given, ensure_ascii=False)
                self.grow(call.whole)
            self.calls.append(call)
            self._hold(index, call)
        elif kind in _HIDDEN:
            kept = {name: value for name, value in block.items() if value is not None}
            self.grow(*(value for value in kept.values() if isinstance(value, str)))
            self._hold(index, kept)
            yield ThinkingDelta()
        elif kind == "text":
            self._hold(index, {"text": 0})
            yield from self._text(index, block.get("text"))

    def _hold(self, index: Any, part: dict[str, Any] | Pieces) -> None:
        self._open[index if isinstance(index, int) else None] = part
        self._order.append(part)

    def _grow(self, index: Any, delta: Any) -> Iterator[Delta]:
        if not isinstance(delta, Mapping):
            return
        part = self._open.get(index)
        match delta.get("type"):
            case "text_delta":
                yield from self._text(index, delta.get("text"))
            case "input_json_delta" if isinstance(part, Pieces):
                if isinstance(text := delta.get("partial_json"), str):
                    self.grow(text)
                    part.arguments.append(text)
            case "thinking_delta" if isinstance(part, dict):
                thought = self._append(part, "thinking", delta.get("thinking"))
                if self._is_summarized:
                    self.summary.append(thought)
                yield ThinkingDelta(text=thought, is_summary=self._is_summarized)
            case "signature_delta" if isinstance(part, dict):
                self._append(part, "signature", delta.get("signature"))
            case _:
                pass

    def _text(self, index: Any, text: Any) -> Iterator[Delta]:
        if added := self.add_text(text):
            part = self._open.get(index)
            if not isinstance(part, dict) or "text" not in part:
                part = {"text": 0}
                self._hold(index, part)
            part["text"] += len(added)
            yield TextDelta(text=added)

    def _append(self, part: dict[str, Any], name: str, text: Any) -> str:
        if not isinstance(text, str):
            return ""
        self.grow(text)
        part[name] = part.get(name, "") + text
        return text

    def _state(self) -> State | None:
        """The order of the blocks, when there is any that goes back unchanged."""
        if not any(isinstance(part, dict) and "type" in part for part in self._order):
            return None
        items = [
            {"call": part.id} if isinstance(part, Pieces) else part
            for part in self._order
            if part != {"text": 0}
        ]
        return State(owner=self._owner, items=tuple(items))
