"""Talks: what was said in a session, as the model is shown it, and the digest of it.

A turn that is over is rendered once and kept for as long as it stands in the window, so that the
cost of a step does not grow with the window.
"""

from collections import OrderedDict
from dataclasses import dataclass

from studio.core.rules import contents, context, files, ids, media
from studio.core.rules.context import Said
from studio.core.rules.events import Content, FileRef
from studio.core.rules.session import Session, Turn
from studio.core.store.journal import Journal

KEPT_CHARACTERS = 32 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Part:
    """The talk of one turn. `size` is characters, about."""

    said: tuple[Said, ...]
    digest: str
    size: int


class Talks:
    """The talks of the sessions that a process moves or shows."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._parts: OrderedDict[str, Part] = OrderedDict()
        self._size = 0

    async def of(
        self, session: Session, reads: frozenset[str] = frozenset()
    ) -> tuple[tuple[Said, ...], str]:
        """What is said in the turns of the window, and one digest over all of it.

        `reads` is what the model reads: files that calls left are given to it in the next step.
        """
        parts = [await self._past(turn) for turn in session.past]
        if session.turn is not None:
            texts = await self._texts(session.turn.files)
            parts.append(await self._render(session.turn, texts, reads))
        said = tuple(one for part in parts for one in part.said)
        return said, ids.digest([part.digest for part in parts])

    async def _past(self, turn: Turn) -> Part:
        part = self._parts.get(turn.id)
        if part is None:
            part = self._parts[turn.id] = await self._render(turn)
            self._size += part.size
            while self._size > KEPT_CHARACTERS and len(self._parts) > 1:
                self._size -= self._parts.popitem(last=False)[1].size
        self._parts.move_to_end(turn.id)
        return part

    async def _render(
        self, turn: Turn, texts: dict[str, str] | None = None,
        reads: frozenset[str] = frozenset(),
    ) -> Part:  # fmt: skip
        whole = await self._whole(turn.message)
        said = tuple(context.of_turn(turn, whole, texts, reads))
        plain = [
            [
                one.role,
                one.text,
                [[c.id, c.name, c.arguments] for c in one.calls],
                one.call_id,
                one.state.hash if one.state else None,
                [ref.hash for ref in one.files],
            ]
            for one in said
        ]
        size = sum(len(one.text) for one in said)
        return Part(said=said, digest=ids.digest(plain), size=size + 512 * len(said))

    async def _texts(self, refs: tuple[FileRef, ...]) -> dict[str, str]:
        """What the text files of a message say, by artifact, as far as there is room for it."""
        found, room = dict[str, str](), files.TEXT_BYTES
        for ref in refs:
            if media.kind(ref.media) != "text":
                continue
            raw = await self._journal.part(ref.hash, 0, room) or b""
            room -= len(raw)
            text = contents.some_text(raw).removeprefix("\ufeff")
            if len(raw) < ref.size:
                text += (
                    f"\n[… cut here: {len(raw):,} of {ref.size:,} bytes; read_artifact with "
                    f"offset {len(raw)} reads on …]"
                )
            found[ref.artifact_id] = text
        return found

    async def _whole(self, message: Content) -> str:
        """The full text of a person's message, also when it is too long to stand in a fact."""
        raw = await self._journal.blob(message.hash) if message.stored else None
        return contents.words(message) if raw is None else raw.decode("utf-8", "surrogatepass")
