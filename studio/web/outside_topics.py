"""What open pages are told of traces from outside, of which no fact tells."""

from typing import Any

from studio.core.reader import Reader
from studio.web.hub import Chunk
from studio.web.topics import ListTopic, batch

OFTEN, SELDOM = 2.0, 10.0  # seconds between two looks at whether anything came
LARGE = 5_000  # spans of a trace that takes a while to be drawn again


class OutsideTopic(ListTopic):
    """The list: its ids are counts of what came, was refused or went."""

    nap = 0.1  # nothing rings for what is no fact
    quick = slow = OFTEN

    async def news(self) -> list[Chunk]:
        """A word to look again, when what is shown may have changed."""
        position = await self.reader.outside_moves()  # before the look, so that it is not newer
        seen = await self._sign()
        if seen == self._seen:
            return []
        self._seen = seen
        self._slow_down()
        return [batch("", {self.region}, seq=position)]

    async def catch_up(self, after: str) -> Chunk:
        """A word to look again, unless nothing at all has happened since."""
        position = await self.reader.outside_moves()
        if after == str(position):
            return Chunk(data=b"", seq=position)
        return batch("", {self.region}, seq=position)

    async def _sign(self) -> Any:
        return await self.reader.outside_moves()


class OutsideTraceTopic(OutsideTopic):
    """One trace from outside: it changes when spans of it came, and when it is swept or forgotten.
    One that is not here may yet come."""

    def __init__(self, reader: Reader, trace_id: str) -> None:
        super().__init__(reader, "trace")
        self.trace_id = trace_id

    async def catch_up(self, after: str) -> Chunk:
        """A word to look again also where there is nothing: a trace goes before its spans do."""
        position = await self.reader.outside_moves()
        if after == str(position) and self._seen is not None:
            return Chunk(data=b"", seq=position)
        return batch("", {self.region}, seq=position)

    async def _sign(self) -> Any:
        """Its row; None when it is not here."""
        row = await self.reader.outside_row(self.trace_id)
        is_large = row is not None and row.spans > LARGE
        self.quick = self.slow = self.pace = SELDOM if is_large else OFTEN
        return row
