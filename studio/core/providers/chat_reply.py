"""A streamed chat completion put together: text, calls that come in pieces, usage, why it ended.

What a server sends is taken as it comes: fields may be missing, of another type, or repeated.
"""

from collections.abc import Mapping
from typing import Any

from studio.core.providers import arguments
from studio.core.providers.provider import ProposedCall, ProviderError, Reply
from studio.core.rules.events import Usage

LARGEST_ANSWER = 8 * 1024 * 1024
_STOPS = {"stop": "end", "tool_calls": "calls", "function_call": "calls", "length": "length"}


class _Pieces:
    """The pieces of one call."""

    def __init__(self, call_id: str) -> None:
        self.id, self.name, self.arguments = call_id, "", list[str]()


class Draft:
    """An answer while it is written; `take` gives the text that a piece adds."""

    def __init__(self) -> None:
        self._text, self._refusal = list[str](), list[str]()
        self._calls: list[_Pieces] = []
        self._places: dict[int, int] = {}
        self._size = 0
        self._stop: str | None = None
        self._usage: Mapping[str, Any] = {}

    def take(self, chunk: Mapping[str, Any]) -> str:
        """Take one piece of the stream; the text it adds to the answer."""
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage = usage
        added = ""
        for choice in _mappings(chunk.get("choices")):
            delta = choice.get("delta")
            if isinstance(delta, Mapping):
                added += self._take_delta(delta)
            if isinstance(stop := choice.get("finish_reason"), str):
                self._stop = stop
        return added

    def reply(self, prices: Any) -> Reply:
        """The whole reply; ProviderError when it was refused or broke off."""
        if self._refusal or self._stop == "content_filter":
            words = "".join(self._refusal).strip()
            said = f" It says: “{words[:300]}”" if words else ""
            raise ProviderError(
                "model.refused", f"The model refused this request.{said}", permanent=True
            )
        if self._stop is None:
            raise ProviderError(
                "model.interrupted",
                "The answer broke off before its end.",
                permanent=False,
            )
        usage = read_usage(self._usage, prices)
        return Reply(
            text="".join(self._text),
            calls=self._proposed(),
            usage=usage,
            stop=_STOPS.get(self._stop, self._stop),
        )

    def _take_delta(self, delta: Mapping[str, Any]) -> str:
        text = delta.get("content")
        if isinstance(text, str) and text:
            self._grow(text)
            self._text.append(text)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._grow(refusal)
            self._refusal.append(refusal)
        for piece in _mappings(delta.get("tool_calls")):
            self._take_call(piece)
        return text if isinstance(text, str) else ""

    def _take_call(self, piece: Mapping[str, Any]) -> None:
        call = self._call(piece.get("index"), piece.get("id"))
        function = piece.get("function")
        if not isinstance(function, Mapping):
            return
        if isinstance(name := function.get("name"), str):
            call.name = call.name or name
        if isinstance(text := function.get("arguments"), str):
            self._grow(text)
            call.arguments.append(text)

    def _call(self, index: Any, call_id: Any) -> _Pieces:
        """The call that a piece belongs to: same index, unless it names another id."""
        place = self._places.get(index) if isinstance(index, int) else len(self._calls) - 1
        known = self._calls[place] if place is not None and place >= 0 else None
        named = call_id if isinstance(call_id, str) and call_id else None
        if known is not None and (named is None or not known.id or named == known.id):
            known.id = known.id or named or ""
            return known
        self._calls.append(_Pieces(named or ""))
        if isinstance(index, int):
            self._places[index] = len(self._calls) - 1
        return self._calls[-1]

    def _grow(self, text: str) -> None:
        self._size += len(text.encode("utf-8", "surrogatepass"))
        if self._size > LARGEST_ANSWER:
            raise too_large()

    def _proposed(self) -> tuple[ProposedCall, ...]:
        found, ids = list[ProposedCall](), set[str]()
        for number, pieces in enumerate(self._calls):
            call_id = pieces.id if pieces.id and pieces.id not in ids else f"call_{number}"
            ids.add(call_id)
            value, broken = arguments.parse("".join(pieces.arguments).strip() or "{}")
            found.append(ProposedCall(id=call_id, name=pieces.name, arguments=value, broken=broken))
        return tuple(found)


def too_large() -> ProviderError:
    """The answer is over what is kept."""
    return ProviderError(
        "model.too_large",
        f"The model's answer is larger than {LARGEST_ANSWER // 1024 // 1024} MiB and was cut off.",
        permanent=True,
    )


def read_usage(usage: Mapping[str, Any], prices: Any) -> Usage:
    """What the server said it took; what it did not say stays unknown."""
    details = usage.get("prompt_tokens_details")
    read = _count(usage.get("prompt_tokens"))
    written = _count(usage.get("completion_tokens"))
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return Usage(
        input_tokens=read,
        output_tokens=written,
        cached_tokens=cached,
        cost=_cost(read, written, cached, prices),
    )


def _cost(read: int | None, written: int | None, cached: int | None, prices: Any) -> float | None:
    """US dollars by the manifest's prices a million tokens, or None when a number is missing."""
    if not isinstance(prices, Mapping) or read is None or written is None:
        return None
    price_in, price_out = _price(prices.get("input")), _price(prices.get("output"))
    if price_in is None or price_out is None:
        return None
    price_cached = _price(prices.get("cached"))
    if price_cached is None:
        price_cached, cached = price_in, 0
    if cached is None:
        return None
    cached = min(cached, read)
    return ((read - cached) * price_in + cached * price_cached + written * price_out) / 1_000_000


def _price(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value >= 0 else None


def _count(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
