"""Messages: a talk in the shape that providers take, with the bytes of the files a model reads.

The messages of a turn that is over are made once for as long as its talk is kept, so that a
request does not cost more the longer the window is.
"""

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from studio.core.providers import parts
from studio.core.providers.provider import FilePart, Message, ProposedCall
from studio.core.rules.context import Said
from studio.core.store import files
from studio.core.talks import Part, Talk
from studio.core.work.states import States

if TYPE_CHECKING:
    from studio.core.work.driver import Driver


class Messages:
    """The messages of the talks that a driver's models are shown."""

    def __init__(self, driver: "Driver") -> None:
        self._driver, self._states = driver, States(driver.journal)
        self._kept: WeakKeyDictionary[Part, tuple[Message, ...]] = WeakKeyDictionary()

    async def of(self, talk: Talk, reads: frozenset[str]) -> tuple[Message, ...]:
        """All messages of the talk, for a model that `reads` these kinds of files."""
        found: list[Message] = []
        for part in talk.parts:
            found += self._kept.get(part) or await self._made(part, reads)
        return tuple(found)

    async def _made(self, part: Part, reads: frozenset[str]) -> tuple[Message, ...]:
        made = tuple([await self._message(one, reads) for one in part.said])
        if not any(one.files for one in part.said):  # else they differ by what a model reads
            self._kept[part] = made
        return made

    async def _message(self, said: Said, reads: frozenset[str]) -> Message:
        calls = tuple(
            ProposedCall(id=call.id, name=call.name, arguments=call.arguments)
            for call in said.calls
        )
        carried = [
            FilePart(
                name=ref.name, media=ref.media,
                data=await files.whole(self._driver.db, ref.hash, ref.size),
            )
            for ref in said.files
        ]  # fmt: skip
        whole = Message(
            role=said.role, text=said.text, calls=calls, call_id=said.call_id, name=said.name,
            failed=said.failed, state=await self._states.of(said.state), files=tuple(carried),
        )  # fmt: skip
        return parts.readable(whole, reads)
