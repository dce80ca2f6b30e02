"""Talks: what was said in a session, as the model is shown it, and the digest of it.

A turn that is over is rendered once and kept for as long as it stands in the window, so that the
cost of a step does not grow with the window.
"""

from collections import OrderedDict
from dataclasses import dataclass

from studio.core.providers.provider import Message, ProposedCall
from studio.core.rules import contents, context, ids
from studio.core.rules.events import Content
from studio.core.rules.session import Session, Turn
from studio.core.store.journal import Journal

KEPT_CHARACTERS = 32 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Part:
    """The talk of one turn. `size` is characters, about."""

    messages: tuple[Message, ...]
    digest: str
    size: int


class Talks:
    """The talks of the sessions that a worker moves."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._parts: OrderedDict[str, Part] = OrderedDict()
        self._size = 0

    async def of(self, session: Session) -> tuple[tuple[Message, ...], str]:
        """The messages of the turns in the window, and one digest over all of them."""
        parts = [await self._past(turn) for turn in session.past]
        if session.turn is not None:
            parts.append(await self._render(session.turn))
        messages = tuple(message for part in parts for message in part.messages)
        return messages, ids.digest([part.digest for part in parts])

    async def _past(self, turn: Turn) -> Part:
        part = self._parts.get(turn.id)
        if part is None:
            part = self._parts[turn.id] = await self._render(turn)
            self._size += part.size
            while self._size > KEPT_CHARACTERS and len(self._parts) > 1:
                self._size -= self._parts.popitem(last=False)[1].size
        self._parts.move_to_end(turn.id)
        return part

    async def _render(self, turn: Turn) -> Part:
        whole = await self._whole(turn.message)
        said = context.of_turn(turn, whole)
        messages = tuple(_message(item) for item in said)
        plain = [
            [m.role, m.text, [[c.id, c.name, c.arguments] for c in m.calls], m.call_id]
            for m in messages
        ]
        size = sum(len(message.text) for message in messages)
        return Part(messages=messages, digest=ids.digest(plain), size=size + 512 * len(messages))

    async def _whole(self, message: Content) -> str:
        """The full text of a person's message, also when it is too long to stand in a fact."""
        raw = await self._journal.blob(message.hash) if message.stored else None
        return contents.words(message) if raw is None else raw.decode("utf-8", "surrogatepass")


def _message(said: context.Said) -> Message:
    calls = tuple(
        ProposedCall(id=call.id, name=call.name, arguments=call.arguments) for call in said.calls
    )
    return Message(
        role=said.role, text=said.text, calls=calls, call_id=said.call_id, name=said.name,
        failed=said.failed,
    )  # fmt: skip
