"""Talks: what was said in a session, as the model is shown it, and the digest of it.

A turn that is over is rendered once and kept for as long as it stands in the window, so that the
cost of a step does not grow with the window.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from studio.core.rules import contents, context, files, ids, media, summaries
from studio.core.rules.context import Said
from studio.core.rules.events import Content, FileRef
from studio.core.rules.session import Place, Session, Turn
from studio.core.rules.summaries import Sizes
from studio.core.store.journal import Journal

KEPT_CHARACTERS = 32 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """The talk of one turn, itself and no other like it. `size` is characters, about."""

    said: tuple[Said, ...]
    digest: str
    size: int
    tokens: tuple[int, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, kw_only=True)
class Talk:
    """What a model is shown, and one digest over it. `turns` and `summary` are tokens, about."""

    parts: tuple[Part, ...]
    digest: str
    turns: Mapping[int, tuple[int, tuple[tuple[int, int], ...]]]
    summary: int

    @property
    def said(self) -> tuple[Said, ...]:
        """The messages of all its parts."""
        return tuple(one for part in self.parts for one in part.said)

    def sizes(self, overhead: int) -> Sizes:
        """How large it is, with so many tokens of instructions and tools."""
        return Sizes(overhead=overhead, turns=self.turns, summary=self.summary)


@dataclass(frozen=True, kw_only=True)
class Older:
    """What is to be summarised: an earlier summary, and the talk behind it."""

    earlier: str
    said: tuple[Said, ...]


class Talks:
    """The talks of the sessions that a process moves or shows."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._parts: OrderedDict[str, Part] = OrderedDict()
        self._size = 0

    async def of(self, session: Session, reads: frozenset[str] = frozenset()) -> Talk:
        """What is said in the turns of the window, behind a summary when there is one.

        `reads` is what the model reads: files that calls left are given to it in the next step.
        """
        start = summaries.behind(session)
        turns = {
            turn.number: await self._part(session, turn, reads) for turn in _since(session, start)
        }
        parts = [await self._summary(session, start)] if session.summary else []
        for number, part in turns.items():
            if number == start.turn and start.replies:
                part = _of(summaries.cut(part.said, start.replies))
            parts.append(part)
        return Talk(
            parts=tuple(parts),
            digest=ids.digest([part.digest for part in parts]),
            turns={number: part.tokens for number, part in turns.items()},
            summary=parts[0].tokens[0] if session.summary else 0,
        )

    async def older(self, session: Session, place: Place) -> Older:
        """What is to be summarised: the summary so far, and the talk from there to the place."""
        start = summaries.behind(session)
        said = list[Said]()
        for turn in _since(session, start):
            if turn.number > place.turn:
                break
            whole = (await self._part(session, turn)).said
            first = start.replies if turn.number == start.turn else 0
            if turn.number < place.turn:
                said += whole if not first else summaries.steps(whole, first, None)
            elif place.replies:
                said += whole[:1] if not first else ()
                said += summaries.steps(whole, first, place.replies)
        earlier = await self._whole(session.summary.text) if session.summary else ""
        return Older(earlier=earlier, said=tuple(said))

    async def _summary(self, session: Session, start: Place) -> Part:
        assert session.summary is not None, "asked only when there is one"
        text = await self._whole(session.summary.text)
        replies = start.replies if session.summary.place == start else 0
        return _of((summaries.shown(text, replies),))

    async def _part(
        self, session: Session, turn: Turn, reads: frozenset[str] = frozenset()
    ) -> Part:
        if turn is not session.turn:
            return await self._past(turn)
        return await self._render(turn, await self._texts(turn.files), reads)

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
        return _of(tuple(context.of_turn(turn, whole, texts, reads)))

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


def _since(session: Session, start: Place) -> list[Turn]:
    """The turns that are shown, oldest first."""
    turns = [*session.past, *([session.turn] if session.turn else [])]
    return [turn for turn in turns if turn.number >= start.turn]


def _of(said: tuple[Said, ...]) -> Part:
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
    size = sum(len(one.text) + (one.state.size if one.state else 0) for one in said)
    return Part(
        said=said, digest=ids.digest(plain), size=size + 512 * len(said),
        tokens=summaries.of_said(said),
    )  # fmt: skip
