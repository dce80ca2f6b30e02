"""Regions that look again when what stands behind them is another: traces, disks, models, views."""

from dataclasses import replace
from typing import Any

from studio.core.reader import Reader
from studio.web.hub import Chunk
from studio.web.topics import LOOKER, ListTopic, batch


class TraceTopic(ListTopic):
    """The trace of one session's turns: it changes with every fact of the session, and when what a
    turn left on the disk is kept.
    """

    def __init__(self, reader: Reader, session_id: str) -> None:
        super().__init__(reader, "trace")
        self.session_id = session_id

    async def open(self) -> None:
        """See how it stands, and which environment it works in."""
        found = (await self.reader.session(LOOKER, self.session_id)).row.environment_id
        self.also = frozenset({found} if found is not None else ())
        await super().open()

    async def _sign(self) -> Any:
        """The session's newest fact, and what its turns kept."""
        seq = (await self.reader.session(LOOKER, self.session_id)).seq
        return seq, await self.reader.turn_disks(LOOKER, self.session_id) if self.also else {}


class DiskTopic(ListTopic):
    """The disk of one environment: its facts, and what its tabs count."""

    def __init__(self, reader: Reader, environment_id: str) -> None:
        super().__init__(reader, "disk")
        self.environment_id = environment_id

    async def _sign(self) -> Any:
        """The environment's newest fact, its sessions and secrets."""
        row = (await self.reader.environment(LOOKER, self.environment_id)).row
        return row.seq, row.sessions, row.coverage


class ModelsTopic(ListTopic):
    """The page of models: it changes when a provider is saved or named, or a test moves on."""

    async def _sign(self) -> Any:
        found = await self.reader.models(LOOKER)
        return found.default, [
            (item.saved, item.time, item.test, item.agents, item.problem)
            for item in found.providers
        ]


class CollectorTopic(ListTopic):
    """How the export of spans stands, which a worker writes down without a fact."""

    nap = 2.0  # nothing rings for what is no fact

    async def catch_up(self, after: str) -> Chunk:
        """A word to look: positions of the journal say nothing of it."""
        return batch("", {self.region}, seq=await self.reader.position())

    async def _sign(self) -> Any:
        """What would differ; a sign of life alone does not."""
        return replace(await self.reader.collector(LOOKER), seen=None)


class ViewsTopic(ListTopic):
    """Saved views of lists, on the page of the list."""

    async def _sign(self) -> Any:
        return await self.reader.views_moved()


LISTS = {
    "collector": CollectorTopic, "trace": TraceTopic, "disk": DiskTopic, "models": ModelsTopic,
    "views": ViewsTopic,
}  # fmt: skip
