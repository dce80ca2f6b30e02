"""An answer while it is written, whatever the protocol: text, calls in pieces, how much it is.

What a server sends is taken as it comes: fields may be missing, of another type, or repeated.
"""

from collections.abc import Mapping
from typing import Any

from studio.core.providers import arguments, errors
from studio.core.providers.provider import ProposedCall
from studio.core.rules.events import Usage


class Pieces:
    """The pieces of one call. `whole` are its arguments when they came in one piece."""

    def __init__(self, call_id: str, name: str = "") -> None:
        self.id, self.name, self.arguments, self.whole = call_id, name, list[str](), ""


class Draft:
    """What every protocol gathers. `begun` is whether anything of the answer has come.

    `place` tells the ids that are made up here from those of other replies of the talk.
    """

    def __init__(self, place: int) -> None:
        self.text, self.refusal, self.summary = list[str](), list[str](), list[str]()
        self.calls: list[Pieces] = []
        self.begun = False
        self._size, self._place = 0, place

    @property
    def is_empty(self) -> bool:
        """Nothing that the model wrote has come yet."""
        return not self._size and not self.calls

    def grow(self, *pieces: str) -> None:
        """Count what came; ProviderError when it is more than is kept."""
        self._size += sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces)
        if self._size > errors.LARGEST_ANSWER:
            raise errors.too_large()

    def add_text(self, text: Any) -> str:
        """A piece of the answer's text; what was added."""
        if not isinstance(text, str) or not text:
            return ""
        self.grow(text)
        self.text.append(text)
        return text

    def proposed(self) -> tuple[ProposedCall, ...]:
        """The calls put together, each with an id of its own."""
        found, ids = list[ProposedCall](), set[str]()
        for number, pieces in enumerate(self.calls):
            if not pieces.id or pieces.id in ids:
                pieces.id = f"call_{self._place}_{number}"
            ids.add(pieces.id)
            text = pieces.whole or "".join(pieces.arguments)
            value, broken = arguments.parse(text.strip() or "{}")
            found.append(
                ProposedCall(id=pieces.id, name=pieces.name, arguments=value, broken=broken)
            )
        return tuple(found)

    def usage(self) -> Usage:
        """What the server has told so far of what it took, without a cost."""
        return Usage()


def count(value: Any) -> int | None:
    """A number of tokens, or None when it is none."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None


def inside(value: Any, name: str) -> Any:
    """A field of an object, or None when there is no object."""
    return value.get(name) if isinstance(value, Mapping) else None


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list; whatever else there is, is left out."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
