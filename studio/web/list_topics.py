"""Regions that look again when what stands behind them is another, each with its own look."""

from dataclasses import replace
from typing import Any

from studio.core.reader import Reader
from studio.web.hub import Chunk
from studio.web.topics import LOOKER, ListTopic, batch

LINK_SECONDS = 1.0  # between two looks at links that work


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


class ArtifactTopic(ListTopic):
    """One artifact: its versions, and its links, which end and are used without a fact."""

    def __init__(self, reader: Reader, artifact_id: str) -> None:
        super().__init__(reader, "artifact")
        self.artifact_id = artifact_id

    async def open(self) -> None:
        """See how it stands, and whose session it is of."""
        row = (await self.reader.artifact(LOOKER, self.artifact_id, limit=1)).row
        self.also = frozenset({row.session_id})
        await super().open()

    async def catch_up(self, after: str) -> Chunk:
        """A word to look: positions of the journal say nothing of links that ended."""
        return batch("", {self.region}, seq=await self.reader.position())

    async def _sign(self) -> Any:
        """The newest version, and every link as it stands."""
        row = (await self.reader.artifact(LOOKER, self.artifact_id, limit=1)).row
        links = await self.reader.artifact_links(LOOKER, self.artifact_id)
        self.nap = LINK_SECONDS if any(link.state == "open" for link in links) else None
        return row.latest, links


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
    "artifact": ArtifactTopic,
    "collector": CollectorTopic, "trace": TraceTopic, "disk": DiskTopic, "models": ModelsTopic,
    "views": ViewsTopic,
}  # fmt: skip
