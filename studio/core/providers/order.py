"""In which order the parts of a reply came, so that they can be given back as they were.

A state's items are that order: what nobody but the provider reads, whole, and in between
`{"text": characters}` and `{"call": id}` for what is kept with the reply itself; these may hold
names that the provider gave to them.
"""

from collections.abc import Iterator
from typing import Any

from studio.core.providers.provider import Message, ProposedCall


def parts(message: Message, items: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """The parts of an old reply in their order, each with its item: text, calls, items as they are.

    Where text or calls are no longer what came, the provider's items go first.
    """
    calls = {call.id: call for call in message.calls}
    if not _fits(message, items, calls):
        items = (
            *(item for item in items if not is_ours(item)),
            *([{"text": len(message.text)}] if message.text else []),
            *({"call": call.id} for call in message.calls),
        )
    at = 0
    for item in items:
        if not is_ours(item):
            yield item, item
        elif "call" in item:
            yield calls[item["call"]], item
        else:
            yield message.text[at : at + item["text"]], item
            at += item["text"]


def is_ours(item: Any) -> bool:
    """The item stands for text or for a call."""
    return isinstance(item, dict) and ("text" in item or "call" in item) and "type" not in item


def _fits(message: Message, items: tuple[Any, ...], calls: dict[str, ProposedCall]) -> bool:
    ours = [item for item in items if is_ours(item)]
    named = [item["call"] for item in ours if "call" in item]
    length = sum(item["text"] for item in ours if "text" in item)
    return length == len(message.text) and len(calls) == len(named) and set(named) == set(calls)
