"""A streamed response of OpenAI's put together: items that are added, grow and are done."""

from collections.abc import Iterator, Mapping
from typing import Any

from studio.core.providers import errors
from studio.core.providers.drafts import Draft, Pieces, count, inside, mappings
from studio.core.providers.provider import Delta, Reply, State, TextDelta, ThinkingDelta
from studio.core.rules.events import Usage

_STOPS = {"max_output_tokens": "length", "max_messages": "length", "content_filter": "refused"}


class _Item:
    """One item of the output: a message, a call, or what is the provider's own."""

    def __init__(self, kind: str) -> None:
        self.kind, self.text, self.names = kind, 0, dict[str, str]()
        self.call: Pieces | None = None
        self.whole: Mapping[str, Any] | None = None


class ResponseDraft(Draft):
    """A response while it is written. `owner` is who may be given its state; `key` is hidden."""

    def __init__(self, owner: str, place: int = 0, *, key: str = "") -> None:
        super().__init__(place)
        self._owner, self._key = owner, key
        self._items: dict[Any, _Item] = {}
        self._stop: str | None = None
        self._usage: Mapping[str, Any] = {}

    def take(self, chunk: Mapping[str, Any]) -> Iterator[Delta]:
        """Take one event of the stream; what it adds to the answer. An unknown one adds nothing."""
        kind, at = str(chunk.get("type")), chunk.get("output_index")
        match kind.removeprefix("response."):
            case "output_text.delta":
                yield from self._text(self._item(at, "message"), chunk.get("delta"))
            case "refusal.delta":
                self._refuse(chunk.get("delta"))
            case "function_call_arguments.delta":
                self._argue(self._item(at, "function_call"), chunk.get("delta"))
            case "reasoning_summary_part.added":
                self.summary.append("\n\n" if self.summary else "")
            case "reasoning_summary_text.delta":
                yield from self._think(chunk.get("delta"), is_summary=True)
            case "reasoning_text.delta":
                yield from self._think(chunk.get("delta"), is_summary=False)
            case "output_item.added":
                self._begin(at, chunk.get("item"))
            case "output_item.done":
                yield from self._finish(at, chunk.get("item"))
            case "completed" | "incomplete" | "failed":
                yield from self._end(kind, chunk.get("response"))
            case "error":
                raise errors.of_event(chunk, key=self._key)
            case _:
                pass

    def reply(self) -> Reply:
        """The whole reply; ProviderError when it was refused or broke off."""
        if self.refusal or self._stop == "refused":
            raise errors.refused("".join(self.refusal))
        if self._stop is None:
            raise errors.broke_off()
        calls = self.proposed()
        return Reply(
            text="".join(self.text), calls=calls, usage=self.usage(), state=self._state(),
            stop="calls" if calls and self._stop == "end" else self._stop,
            summary="".join(self.summary),
        )  # fmt: skip

    def usage(self) -> Usage:
        """What the server said it took; what it did not say stays unknown."""
        told = self._usage
        read, written = told.get("input_tokens_details"), told.get("output_tokens_details")
        return Usage(
            input_tokens=count(told.get("input_tokens")),
            output_tokens=count(told.get("output_tokens")),
            cached_tokens=count(inside(read, "cached_tokens")),
            cache_write_tokens=count(inside(read, "cache_write_tokens")),
            reasoning_tokens=count(inside(written, "reasoning_tokens")),
        )

    def _item(self, at: Any, kind: str) -> _Item:
        """The item at this place; one that was never added begins where it is first spoken of."""
        key = (at if isinstance(at, int) else None, kind)
        if key not in self._items:
            item = self._items[key] = _Item(kind)
            if kind == "function_call":
                item.call = Pieces("")
                self.calls.append(item.call)
        return self._items[key]

    def _begin(self, at: Any, item: Any) -> None:
        if isinstance(item, Mapping):
            self._name(self._item(at, str(item.get("type"))), item)

    def _name(self, found: _Item, item: Mapping[str, Any]) -> None:
        for name in ("id", "phase"):
            if isinstance(value := item.get(name), str):
                found.names[name] = value
        if found.call is not None:
            found.call.id = str(item.get("call_id") or item.get("id") or found.call.id)
            found.call.name = str(item.get("name") or found.call.name)

    def _finish(self, at: Any, item: Any) -> Iterator[Delta]:
        """An item is done: what it holds counts, also when no piece of it was ever sent."""
        if not isinstance(item, Mapping):
            return
        kind = str(item.get("type"))
        found = self._item(at, kind)
        self._name(found, item)
        if found.call is not None:
            if isinstance(whole := item.get("arguments"), str) and not found.call.arguments:
                self._argue(found, whole)
        elif kind == "message":
            for part in mappings(item.get("content")):
                if part.get("type") == "refusal" and not self.refusal:
                    self._refuse(part.get("refusal"))
                elif not found.text:
                    yield from self._text(found, part.get("text"))
        else:
            self.grow(str(item))
            found.whole = item
            yield ThinkingDelta()

    def _end(self, kind: str, response: Any) -> Iterator[Delta]:
        if isinstance(usage := inside(response, "usage"), Mapping):
            self._usage = usage
        if kind == "response.failed":
            raise errors.of_event(inside(response, "error"), key=self._key)
        if not self._items:
            for at, item in enumerate(mappings(inside(response, "output"))):
                yield from self._finish(at, item)
        reason = str(inside(inside(response, "incomplete_details"), "reason"))
        self._stop = "end" if kind == "response.completed" else _STOPS.get(reason, reason)

    def _text(self, item: _Item, text: Any) -> Iterator[Delta]:
        if added := self.add_text(text):
            item.text += len(added)
            yield TextDelta(text=added)

    def _think(self, text: Any, *, is_summary: bool) -> Iterator[Delta]:
        if isinstance(text, str) and text:
            self.grow(text)
            if is_summary:
                self.summary.append(text)
            yield ThinkingDelta(text=text, is_summary=is_summary)

    def _argue(self, item: _Item, text: Any) -> None:
        if item.call is not None and isinstance(text, str):
            self.grow(text)
            item.call.arguments.append(text)

    def _refuse(self, text: Any) -> None:
        if isinstance(text, str):
            self.grow(text)
            self.refusal.append(text)

    def _state(self) -> State | None:
        """The order of the items, when there is any that goes back unchanged."""
        kept: list[Any] = []
        for item in self._items.values():
            if item.whole is not None:
                kept.append(item.whole)
            elif item.call is not None:
                kept.append({"call": item.call.id, **item.names})
            elif item.text:
                kept.append({"text": item.text, **item.names})
        is_needed = any("type" in item or "phase" in item for item in kept)
        return State(owner=self._owner, items=tuple(kept)) if is_needed else None
