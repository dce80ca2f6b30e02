"""Disks as methods of the clients. What changes one is asked for, and waited for unless told not.

done = studio.disks.keep("desk", note="before the upgrade")
print(done["state"], done["version"])
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from api_client import disks
from api_client.call import Call, Content
from api_client.errors import NotDone, OperationFailed
from api_client.shapes import Operation, OperationAsked
from api_client.verbs import AsyncResource, AsyncVerb, Resource, Verb

SECONDS = 600.0
FIRST, LONGEST = 0.05, 1.0  # seconds between two looks


@dataclass
class Waiting:
    """Looks at an operation until it is over, and not for longer than `seconds`."""

    operation_id: str
    seconds: float
    begun: float = field(default_factory=time.monotonic)

    def pauses(self) -> Iterator[float]:
        """Seconds before each next look; NotDone when there is no time for another."""
        pause = FIRST
        while True:
            if time.monotonic() - self.begun + pause > self.seconds:
                raise NotDone(self.operation_id, self.seconds)
            yield pause
            pause = min(LONGEST, pause * 1.5)

    @staticmethod
    def is_over(found: Operation) -> bool:
        """Whether it is done; OperationFailed with its words when it failed."""
        if found["state"] == "failed":
            raise OperationFailed(found["message"], code=found["code"], operation=found["id"])
        return found["state"] == "done"


class Disks(Resource):
    """Disks of environments, their versions, and what is asked of them.

    `wait` waits until a worker has done it, for at most `seconds`: OperationFailed, NotDone.
    """

    operation = Verb(disks.operation)
    operations = Verb(disks.operations)
    files = Verb(disks.files)
    diff = Verb(disks.diff)
    text_diff = Verb(disks.text_diff)

    def keep(
        self, environment: str, *, note: str = "", wait: bool = True, seconds: float = SECONDS
    ) -> Operation:
        """Keep a version; without `version` in what comes back nothing had changed."""
        return self._do(disks.keep(environment, note=note), wait=wait, seconds=seconds)

    def restore(
        self, environment: str, version: int, *, wait: bool = True, seconds: float = SECONDS
    ) -> Operation:
        """Put a version in the disk's place."""
        return self._do(disks.restore(environment, version), wait=wait, seconds=seconds)

    def reset(self, environment: str, *, wait: bool = True, seconds: float = SECONDS) -> Operation:
        """Empty the disk, after keeping it."""
        return self._do(disks.reset(environment), wait=wait, seconds=seconds)

    def start(self, environment: str, *, wait: bool = True, seconds: float = SECONDS) -> Operation:
        """Set an environment up and start it; OperationFailed when its setup fails."""
        return self._do(disks.start(environment), wait=wait, seconds=seconds)

    def stop(self, environment: str, *, wait: bool = True, seconds: float = SECONDS) -> Operation:
        """End whatever runs in an environment."""
        return self._do(disks.stop(environment), wait=wait, seconds=seconds)

    def take_in(
        self, environment: str, archive: Content, *, name: str = "", wait: bool = True,
        seconds: float = SECONDS,
    ) -> Operation:  # fmt: skip
        """Put what an archive holds in the disk's place."""
        return self._do(disks.take_in(environment, archive, name=name), wait=wait, seconds=seconds)

    def content(self, environment: str, version: int, path: disks.Path) -> Iterator[bytes]:
        """The bytes of a file, as they come."""
        return self.client.pieces(disks.content(environment, version, path))

    def archive(self, environment: str, version: int, form: str = "tar.zst") -> Iterator[bytes]:
        """A version as an archive, as it comes."""
        return self.client.pieces(disks.archive(environment, version, form))

    def _do(self, call: Call[OperationAsked], *, wait: bool, seconds: float) -> Operation:
        asked = self.client.do(call)["operation"]
        found = self.operation(asked)
        pauses = Waiting(operation_id=asked, seconds=seconds).pauses()
        while wait and not Waiting.is_over(found):
            time.sleep(next(pauses))
            found = self.operation(asked)
        return found


class AsyncDisks(AsyncResource):
    """The same, awaited."""

    operation = AsyncVerb(disks.operation)
    operations = AsyncVerb(disks.operations)
    files = AsyncVerb(disks.files)
    diff = AsyncVerb(disks.diff)
    text_diff = AsyncVerb(disks.text_diff)

    async def keep(
        self, environment: str, *, note: str = "", wait: bool = True, seconds: float = SECONDS
    ) -> Operation:
        """Keep a version; without `version` in what comes back nothing had changed."""
        return await self._do(disks.keep(environment, note=note), wait=wait, seconds=seconds)

    async def restore(
        self, environment: str, version: int, *, wait: bool = True, seconds: float = SECONDS
    ) -> Operation:
        """Put a version in the disk's place."""
        return await self._do(disks.restore(environment, version), wait=wait, seconds=seconds)

    async def reset(
        self, environment: str, *, wait: bool = True, seconds: float = SECONDS
    ) -> Operation:
        """Empty the disk, after keeping it."""
        return await self._do(disks.reset(environment), wait=wait, seconds=seconds)

    async def start(
        self, environment: str, *, wait: bool = True, seconds: float = SECONDS
    ) -> Operation:
        """Set an environment up and start it; OperationFailed when its setup fails."""
        return await self._do(disks.start(environment), wait=wait, seconds=seconds)

    async def stop(
        self, environment: str, *, wait: bool = True, seconds: float = SECONDS
    ) -> Operation:
        """End whatever runs in an environment."""
        return await self._do(disks.stop(environment), wait=wait, seconds=seconds)

    async def take_in(
        self, environment: str, archive: Content, *, name: str = "", wait: bool = True,
        seconds: float = SECONDS,
    ) -> Operation:  # fmt: skip
        """Put what an archive holds in the disk's place."""
        return await self._do(
            disks.take_in(environment, archive, name=name), wait=wait, seconds=seconds
        )

    def content(self, environment: str, version: int, path: disks.Path) -> AsyncIterator[bytes]:
        """The bytes of a file, as they come."""
        return self.client.pieces(disks.content(environment, version, path))

    def archive(
        self, environment: str, version: int, form: str = "tar.zst"
    ) -> AsyncIterator[bytes]:
        """A version as an archive, as it comes."""
        return self.client.pieces(disks.archive(environment, version, form))

    async def _do(self, call: Call[OperationAsked], *, wait: bool, seconds: float) -> Operation:
        asked = (await self.client.do(call))["operation"]
        found = await self.operation(asked)
        pauses = Waiting(operation_id=asked, seconds=seconds).pauses()
        while wait and not Waiting.is_over(found):
            await asyncio.sleep(next(pauses))
            found = await self.operation(asked)
        return found
