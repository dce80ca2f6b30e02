"""What open pages are told: the topics behind the live streams.

A session's topic pushes its lines, its header and the draft, and names the regions that must look
again. The lists are only told to look. Every message is a snapshot, so one that comes twice, or
late, does no harm; the id stands on the last message of a batch.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from html import escape
from typing import Any

from sse_starlette import ServerSentEvent

from studio.core.reader import Grown, Line, Reader, SessionHead, Timeline, TurnDisk
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.web.hub import FEW, Chunk, Topic
from studio.web.render import inert

LOOKER = Person(id="studio", role="admin")  # reads what is shared; viewers have their own rights
WINDOW = 500  # facts that are replayed; a larger gap gets snapshots
OFTEN, OFTEN_SECONDS = 20, 10.0  # looks at a list in this time are many
DRAFT_SECONDS = 0.1  # the least time between two drafts
LATE = 3  # turns whose disk may have been kept between a page and its stream

Progress = tuple[float, float | None, str]  # done, total if it is known, words

_PUSHED = frozenset({"timeline", "header"})
_LOOKED = frozenset({"held", "composer", "panel"})
_ALL, _MOVES = _PUSHED | _LOOKED, frozenset({"header", "panel"})
_WRITTEN = _PUSHED | {"draft", "panel"}

OTHERS: tuple[type[e.Event], ...] = (  # of journals that no session's page follows
    e.AgentSaved, e.PluginInstalled, e.PluginUpdated, e.PluginRemoved, e.SkillSaved,
    e.PolicySaved, e.KeyMade, e.KeyRevoked, e.SecretSet, e.SecretRemoved, e.SecretsResealed,
    e.ProviderSaved, e.ProviderRemoved, e.DefaultModelChosen, e.ProbeAsked, e.ProbeStarted,
    e.ProbeAnswered, e.ProbeFailed, e.ProbeLost, e.ViewSaved, e.ViewRemoved, e.SignedIn,
    *e.OF_ENVIRONMENTS, e.OutsideTraceForgotten, e.OutsideSenderForgotten,
)  # fmt: skip
# What a fact changes on its session's page. The lists compare what they would show instead: a
# session's facts say nothing of the order and the counts that a list is made of.
REGIONS: dict[type[e.Event], frozenset[str]] = {
    e.SessionStarted: _MOVES,
    e.SessionModelChosen: _MOVES | {"composer"},
    e.MessageAccepted: _PUSHED | {"composer", "panel"},
    e.ArtifactSaved: frozenset({"panel"}),
    e.ArtifactLinkMade: frozenset({"panel"}),
    e.ArtifactLinkRevoked: frozenset({"panel"}),
    e.TurnStarted: _MOVES | {"composer"},
    e.ModelRequested: _MOVES,
    e.ModelReplied: _WRITTEN,
    e.ModelFailed: _WRITTEN,
    e.ModelUncertain: _WRITTEN,
    e.SummaryRequested: _MOVES,
    e.ContextCompacted: _PUSHED | {"panel"},
    e.SummaryFailed: _PUSHED | {"panel"},
    e.CallProposed: _PUSHED | {"panel"},
    e.WaitOpened: _ALL,
    e.DecisionRecorded: _ALL,
    e.CallStarted: _PUSHED | {"panel"},
    e.CallSucceeded: _ALL,
    e.CallFailed: _ALL,
    e.CallDenied: _ALL,
    e.CallCancelled: _ALL,
    e.CallUncertain: _ALL,
    e.CallSettled: _ALL,
    e.CallLate: _ALL,
    **dict.fromkeys((e.LimitReached, e.TurnFaulted), _PUSHED | {"panel"}),
    e.TurnCompleted: _ALL | {"draft"},
    e.TurnFailed: _ALL | {"draft"},
    e.TurnCancelled: _ALL | {"draft"},
    **dict.fromkeys(OTHERS, frozenset[str]()),
}


class SessionTopic(Topic):
    """One session. Ids are its own sequence numbers."""

    def __init__(self, reader: Reader, session_id: str) -> None:
        super().__init__(reader)
        self.session_id = session_id
        self.seq = 0
        self._agent = ""
        self._draft: tuple[str, str] | None = None
        self._progress: dict[str, Progress] = {}
        self._drawn = 0.0  # when the draft was last pushed
        self._disks: dict[str, TurnDisk] = {}  # what turns kept of the environment, by turn
        self._written = ""  # the effect whose reply is on the page; its draft is not shown again

    async def open(self) -> None:
        """Stand at the newest fact."""
        view = await self.reader.session(LOOKER, self.session_id)
        self.seq, self._agent = view.seq, view.row.agent
        if view.row.environment_id is not None:
            self.also = frozenset({view.row.environment_id})
            self._disks = await self.reader.turn_disks(LOOKER, self.session_id)

    async def news(self) -> list[Chunk]:
        """What was recorded since, then the draft as far as it is written."""
        chunks, before = [], self.seq
        while (grown := await self._grown(before)).facts:
            lines = self._lines(grown, since=before)
            if few := len(self.viewers) <= FEW:
                self.hand(lines)  # the header takes a read of its own
            rest = await self._rest(grown)
            chunks.append(rest if few else lines.then(rest))
            before = self.seq = grown.facts[-1].seq
            if written := _written(grown.facts):
                self._draft, self._written = None, written
        html = await self._kept() + self._unrecorded()
        return [*chunks, Chunk(data=message(html), seq=self.seq)] if html else chunks

    async def _kept(self) -> str:
        """The lines of turns whose disk was kept since they ended; another journal says that."""
        if not self.also:
            return ""
        before, now = self._disks, await self.reader.turn_disks(LOOKER, self.session_id)
        self._disks = now
        return await self._ends(
            [turn for turn in before | now if before.get(turn) != now.get(turn)]
        )

    async def _ends(self, turns: list[str]) -> str:
        """The lines that end these turns, to be put in place."""
        if not turns:
            return ""
        lines = await self.reader.ends(LOOKER, self.session_id, turns)
        return lines_partial(lines, self._agent, since=self.seq)

    def _unrecorded(self) -> str:
        """What changed that is no fact: the draft (not too often), how far calls say they are."""
        html, now = "", asyncio.get_running_loop().time()
        draft = self.reader.draft(self.session_id)
        if draft is not None and draft[0] == self._written:
            draft = None
        self.nap = None
        if draft != self._draft and now < self._drawn + DRAFT_SECONDS:
            self.nap = self._drawn + DRAFT_SECONDS - now
        elif draft != self._draft:
            self._draft, self._drawn = draft, now
            html += draft_partial(draft)
        progress = self.reader.progress(self.session_id)
        if progress != self._progress:
            self._progress = progress
            html += progress_partial(progress)
        return html

    async def catch_up(self, after: str) -> Chunk:
        """The facts behind `after`; snapshots when it is no place of ours, or too long ago."""
        seq = int(after) if after.isascii() and after.isdigit() and len(after) < 16 else -1
        if 0 <= seq <= self.seq:
            grown = await self._grown(seq, WINDOW + 1)
            if not grown.facts:
                return await self._with_unrecorded(Chunk(data=b"", seq=seq))
            if len(grown.facts) <= WINDOW:
                lines, rest = self._lines(grown, since=seq), await self._rest(grown)
                return await self._with_unrecorded(lines.then(rest))
        return await self._with_unrecorded(await self._snapshot())

    async def _with_unrecorded(self, chunk: Chunk) -> Chunk:
        """What its own facts do not say: disks kept of late, the draft, how far calls are."""
        html = await self._ends(list(self._disks)[-LATE:])
        html += draft_partial(self._draft) if self._draft else ""
        html += progress_partial(self._progress)
        return Chunk(data=chunk.data + message(html), seq=chunk.seq) if html else chunk

    async def _grown(self, after: int, limit: int = WINDOW) -> Grown:
        return await self.reader.grown(LOOKER, self.session_id, after, limit)

    def _lines(self, grown: Grown, *, since: int) -> Chunk:
        """The lines alone, in place of the draft they came of. They carry no id yet."""
        html = lines_partial(grown.lines, self._agent, since=since)
        if "draft" in _regions(grown.facts):
            html += draft_partial(None)
        return Chunk(data=message(html) if html else b"", seq=grown.facts[-1].seq)

    async def _rest(self, grown: Grown) -> Chunk:
        """The header, and what must look again; behind it all of these facts are told."""
        head = await self.reader.session_head(LOOKER, self.session_id)
        looks = _regions(grown.facts) & _LOOKED
        return batch(header_partial(head), looks, seq=grown.facts[-1].seq)

    async def _snapshot(self) -> Chunk:
        """Everything that is pushed, as it is now, and a word to look again to all the rest."""
        timeline = await self.reader.timeline(LOOKER, self.session_id)
        head = await self.reader.session_head(LOOKER, self.session_id)
        lines = timeline_partial(self.session_id, timeline, self._agent)
        html = lines + header_partial(head) + draft_partial(None)
        return batch(html, _LOOKED, seq=timeline.seq)


class PendingTopic(Topic):
    """How much waits for people, as one person (or any admin) may know it. It has no ids."""

    pace = 0.1

    def __init__(self, reader: Reader, name: str) -> None:
        super().__init__(reader)
        role, _mark, person = name.partition(":")
        self._person = Person(id=person, role="admin" if role == "admin" else "viewer")
        self._total = 0

    async def open(self) -> None:
        """Count once."""
        self._total = await self._count()

    async def news(self) -> list[Chunk]:
        """The count, when it is another."""
        before, self._total = self._total, await self._count()
        return [] if self._total == before else [Chunk(data=message(pending_partial(self._total)))]

    async def catch_up(self, after: str) -> Chunk:
        """The count."""
        return Chunk(data=message(pending_partial(await self._count())))

    async def _count(self) -> int:
        return (await self.reader.pending(self._person)).total


class HealthTopic(Topic):
    """The banner: what everyone of a role should know of the store. It has no ids."""

    pace = nap = 0.5  # nothing rings when a disk fills up

    def __init__(self, reader: Reader, role: str) -> None:
        super().__init__(reader)
        self._role, self._trouble = role, ""

    async def open(self) -> None:
        """See how it is."""
        self._trouble = await self.reader.trouble(self._role)

    async def news(self) -> list[Chunk]:
        """The words, when they are others."""
        before, self._trouble = self._trouble, await self.reader.trouble(self._role)
        return [] if self._trouble == before else [await self.catch_up("")]

    async def catch_up(self, after: str) -> Chunk:
        """The words, or none."""
        return Chunk(data=message(banner_partial(self._trouble)))


class ListTopic(Topic):
    """A list that each viewer fetches under their own rights: told when to look again.

    Ids are positions of the store's journal. The look is asked for at once when a page connects,
    unless it is where we are. When news does not end, it is told less often.
    """

    quick, slow = 0.1, 1.0

    def __init__(self, reader: Reader, region: str) -> None:
        super().__init__(reader)
        self.region = region
        self.pace = self.quick
        self._seen: Any = None
        self._told: deque[float] = deque(maxlen=OFTEN)

    async def open(self) -> None:
        """See how it stands."""
        self._seen = await self._sign()

    async def news(self) -> list[Chunk]:
        """A word to look again, when what the list shows may have changed."""
        seen = await self._sign()
        if seen == self._seen:
            return []
        self._seen = seen
        self._slow_down()
        return [batch("", {self.region}, seq=await self.reader.position())]

    def _slow_down(self) -> None:
        """Many looks within a few seconds: the store is busy, and so is whoever answers them."""
        now = asyncio.get_running_loop().time()
        self._told.append(now)
        is_busy = len(self._told) == OFTEN and now - self._told[0] < OFTEN_SECONDS
        self.pace = self.slow if is_busy else self.quick

    async def catch_up(self, after: str) -> Chunk:
        """A word to look again, unless nothing at all has happened since."""
        position = await self.reader.position()
        if after == str(position):
            return Chunk(data=b"")
        return batch("", {self.region}, seq=position)

    async def _sign(self) -> Any:
        return await self.reader.position()


class ApprovalsTopic(ListTopic):
    """The waits, on whatever page: told when a fact changed one, however long their list is."""

    async def news(self) -> list[Chunk]:
        """A word to look again, when a wait opened, closed or got one approval of two, or when
        something came of the call of a card.
        """
        self._seen, is_changed = await self.reader.waits_changed(self._seen)
        if not is_changed:
            return []
        self._slow_down()
        return [batch("", {self.region}, seq=self._seen)]


TOPICS = {
    "session": SessionTopic,
    "pending": PendingTopic,
    "health": HealthTopic,
    "approvals": ApprovalsTopic,
    "home": ListTopic,
    "sessions": ListTopic,
    "traces": ListTopic,
    "environments": ListTopic,
}


# Messages -------------------------------------------------------------------------------------


def message(html: str = "", *, event: str | None = None, seq: int | None = None) -> bytes:
    """One message of the stream: HTML to be put in place, or the name of what happened."""
    identity = None if seq is None else str(seq)
    return ServerSentEvent(html, event=event, id=identity, sep="\n").encode()


def batch(html: str, looks: Iterable[str], *, seq: int) -> Chunk:
    """HTML and the regions that must look again; the id stands on the last of them."""
    parts: list[tuple[str, str | None]] = [("", f"look:{region}") for region in sorted(looks)]
    if html or not parts:
        parts.insert(0, (html, None))
    data = [message(text, event=event) for text, event in parts[:-1]]
    text, event = parts[-1]
    return Chunk(data=b"".join([*data, message(text, event=event, seq=seq)]), seq=seq)


def lines_partial(lines: Iterable[Line], agent: str, *, since: int) -> str:
    """New lines go to the end; lines that were there before are changed where they stand."""
    new, html = "", ""
    for line in lines:
        text = inert("sessions/_line.html", line=line, agent=agent)
        if line.seq > since:
            new += text
        else:
            html += (
                f'<hx-partial hx-target="#line-{line.seq}" hx-swap="outerMorph">{text}</hx-partial>'
            )
    if new:
        html += f'<hx-partial hx-target="#timeline" hx-swap="beforeend">{new}</hx-partial>'
    return html


def timeline_partial(session_id: str, timeline: Timeline, agent: str) -> str:
    """The newest window, in place of whatever is shown."""
    inside = inert(
        "sessions/_lines.html", timeline=timeline, session_id=session_id, agent=agent, nonce=""
    )
    return f'<hx-partial hx-target="#timeline" hx-swap="innerMorph">{inside}</hx-partial>'


def header_partial(head: SessionHead) -> str:
    """What the session is and how it stands."""
    inside = inert("sessions/_header.html", session=head)
    return f'<hx-partial hx-target="#header" hx-swap="innerMorph">{inside}</hx-partial>'


def draft_partial(draft: tuple[str, str] | None) -> str:
    """The reply as far as it is written; empty once it is a fact."""
    inside = inert("sessions/_draft.html", text=draft[1]) if draft else ""
    return f'<hx-partial hx-target="#draft" hx-swap="innerHTML">{inside}</hx-partial>'


def progress_partial(progress: dict[str, Progress]) -> str:
    """How far running calls say they are, each in its own line."""
    return "".join(
        f'<hx-partial hx-target="#progress-{effect_id}" hx-swap="innerHTML">'
        f"{inert('sessions/_progress.html', done=done, total=total, words=words)}</hx-partial>"
        for effect_id, (done, total, words) in progress.items()
    )


def pending_partial(total: int) -> str:
    """The count in the navigation; nothing when nothing waits."""
    return f'<hx-partial hx-target="#pending" hx-swap="textContent">{total or ""}</hx-partial>'


def banner_partial(words: str) -> str:
    """What stands at the top of every page; morphed, so that the same words are not read twice."""
    return f'<hx-partial hx-target="#banner" hx-swap="innerMorph">{escape(words)}</hx-partial>'


def _regions(facts: Iterable[e.Fact]) -> frozenset[str]:
    """What these facts change on the page of their session."""
    return frozenset[str]().union(*(REGIONS[type(fact.event)] for fact in facts))


def _written(facts: Iterable[e.Fact]) -> str:
    """The effect whose reply was recorded last."""
    done = [f.event.effect_id for f in facts if isinstance(f.event, e.ModelReplied | e.ModelFailed)]
    return done[-1] if done else ""
