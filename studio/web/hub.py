"""Who is looking at what: one reader a topic, however many pages are open on it.

A topic reads what is new once, renders it once and hands the same bytes to every viewer. A viewer
who is too slow is let go: its page connects again and says where it stopped. Each viewer has an
event of its own; nobody waits on a shared condition, which a cancelled stream would break.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio

from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.rules.errors import Unavailable
from studio.core.runtime import Runtime

log = logging.getLogger(__name__)

FEW = 20  # viewers that get what is ready at once; more get it together
BEHIND = 256  # chunks a viewer may be behind before it is let go
RIGHTS_SECONDS = 1.0

Key = tuple[str, str]
FOLLOWER: Key = ("follow", "")
ENDING: Key = ("ending", "")
OF_ONE = (
    "session",
    "trace",
    "artifact",
)  # topics that follow one journal, or what is `also` theirs


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Bytes of a stream, whole messages. `seq` is where the topic stands behind them."""

    data: bytes
    seq: int = 0

    def then(self, other: "Chunk") -> "Chunk":
        """Both as one."""
        return Chunk(data=self.data + other.data, seq=other.seq)


class Viewer:
    """One open page: what is new waits here until its connection has taken it."""

    def __init__(self) -> None:
        self.is_lost = False
        self._chunks: deque[tuple[Topic, Chunk]] = deque()
        self._bell = asyncio.Event()

    def offer(self, topic: "Topic", chunk: Chunk) -> None:
        """Put something in the queue; never waits."""
        if len(self._chunks) < BEHIND:
            self._chunks.append((topic, chunk))
        else:
            self.is_lost = True
        self._bell.set()

    def leave(self) -> None:
        """End this viewer's stream."""
        self.is_lost = True
        self._bell.set()

    async def next(self, seconds: float) -> "tuple[Topic, Chunk] | None":
        """What comes next, or None when nothing came in time or the viewer is lost."""
        if not self._chunks and not self.is_lost:
            self._bell.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._bell.wait()
            except TimeoutError:
                return None
        return self._chunks.popleft() if self._chunks and not self.is_lost else None


class Topic:
    """Something that grows. Subclasses say what is new; `pace` is the least time between looks."""

    pace = 0.005
    also: frozenset[str] = frozenset()  # journals beside its own that it tells of
    nap: float | None = None  # seconds after which to look even if nobody rang

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.viewers: set[Viewer] = set()
        self.bell = asyncio.Event()
        self.opened = asyncio.Event()

    async def open(self) -> None:
        """Learn where things stand; whatever follows is told to the viewers."""

    async def news(self) -> list[Chunk]:
        """What is new since the last look, for everyone."""
        raise NotImplementedError

    async def catch_up(self, after: str) -> Chunk:
        """All that a page misses that stopped at `after`. Asked once `opened` is set."""
        raise NotImplementedError

    async def keep_telling(self) -> None:
        """Open, then look and tell for as long as somebody listens."""
        await self.open()
        self.opened.set()
        while True:
            await self._rung()
            for chunk in await self.news():
                self.hand(chunk)
            await asyncio.sleep(self.pace)

    def hand(self, chunk: Chunk) -> None:
        """Give a chunk to every viewer, at once."""
        for viewer in tuple(self.viewers):
            viewer.offer(self, chunk)

    async def _rung(self) -> None:
        try:
            async with asyncio.timeout(self.nap):
                await self.bell.wait()
        except TimeoutError:
            return
        self.bell.clear()


@dataclass
class Rights:
    """Who a sign-in belongs to, asked at most once a second however many pages it has open."""

    person: Person | None = None
    asked: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Hub:
    """The topics in hand, and the task that hears what grew. Nothing runs while no one looks."""

    def __init__(
        self, runtime: Runtime, reader: Reader, kinds: Mapping[str, Callable[[Reader, str], Topic]]
    ) -> None:
        self.runtime, self.reader, self._kinds = runtime, reader, kinds
        self._topics: dict[str, dict[str, Topic]] = {kind: {} for kind in kinds}
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._viewers: set[Viewer] = set()
        self._rights: dict[str, Rights] = {}
        self._hears = asyncio.Event()
        self.ending = anyio.Event()  # set by whoever learns first that the server stops

    @asynccontextmanager
    async def watch(self, *keys: Key) -> AsyncIterator[tuple[Viewer, list[Topic]]]:
        """A viewer of these topics, for as long as the block lasts."""
        viewer = Viewer()
        self._viewers.add(viewer)
        try:
            self._keep(FOLLOWER, self._follow)
            self._keep(ENDING, self._close_at_the_end)
            await self._hears.wait()  # before any topic reads where it stands
            topics = [self._join(key, viewer) for key in keys]
            for topic in topics:
                await topic.opened.wait()
            yield viewer, topics
        finally:
            self._viewers.discard(viewer)
            for key in keys:
                self._part(key, viewer)
            if not self._viewers:
                self._end(FOLLOWER)
                self._rights.clear()
                self._end(ENDING)

    async def still(self, secret: str) -> Person | None:
        """Who this sign-in belongs to now; None once it has ended."""
        rights = self._rights.setdefault(secret, Rights())
        async with rights.lock:
            now = asyncio.get_running_loop().time()
            if now - rights.asked > RIGHTS_SECONDS:
                with suppress(Unavailable):  # a store that hiccups signs nobody out
                    rights.person = await self.runtime.person_of(secret)
                rights.asked = now
            if rights.person is None:
                self._rights.pop(secret, None)
            return rights.person

    def close(self) -> None:
        """End every stream and every topic."""
        for viewer in tuple(self._viewers):
            viewer.leave()
        for key in tuple(self._tasks):
            self._end(key)

    async def _close_at_the_end(self) -> None:
        await self.ending.wait()
        self.close()

    async def _follow(self) -> None:
        """Ring the topics whose sessions grew, for as long as anybody looks."""
        async with self.reader.follow() as growth:
            self._hears.set()
            while True:
                self._ring(await growth.get())

    def _ring(self, grown: set[str]) -> None:
        """The topics of what grew, and every list: anything may be in those."""
        for kind, topics in self._topics.items():
            for name, topic in topics.items():
                if kind not in OF_ONE or name in grown or topic.also & grown:
                    topic.bell.set()

    def _join(self, key: Key, viewer: Viewer) -> Topic:
        kind, name = key
        topics = self._topics[kind]
        if name not in topics:
            topics[name] = self._kinds[kind](self.reader, name)
            self._keep(key, topics[name].keep_telling)
        topics[name].viewers.add(viewer)
        return topics[name]

    def _topic(self, key: Key) -> Topic | None:
        return self._topics.get(key[0], {}).get(key[1])

    def _part(self, key: Key, viewer: Viewer) -> None:
        topic = self._topic(key)
        if topic is not None and viewer in topic.viewers:
            topic.viewers.discard(viewer)
            if not topic.viewers:
                self._end(key)

    def _keep(self, key: Key, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run something beside the requests. No request outlives it, so no task group holds it."""
        if key not in self._tasks:
            self._tasks[key] = asyncio.get_running_loop().create_task(self._run(key, work))

    def _end(self, key: Key) -> None:
        task = self._tasks.pop(key, None)
        topic = self._topics.get(key[0], {}).pop(key[1], None)
        if key == FOLLOWER:
            self._hears.set()  # whoever still waits is let go by the leave() it was given
            self._hears = asyncio.Event()
        if task is not None:
            task.cancel()
        for viewer in tuple(topic.viewers) if topic else ():
            viewer.leave()

    async def _run(self, key: Key, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Exception:  # one topic's fault must not end the streams of the others
            log.exception("live %s failed; its pages connect again", key[0])
            topic = self._topic(key)
            for viewer in tuple(topic.viewers if topic else self._viewers):
                viewer.leave()
            self._end(key)
            if topic:
                topic.opened.set()
