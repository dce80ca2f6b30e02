"""A live stream as a test hears it: the generator itself, for a transport would buffer it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from studio.web.hub import Key
from studio.web.live import stream
from tests.web.conftest import Studio

PATIENCE = 10.0


@dataclass(frozen=True)
class Message:
    """One message: its event ("" for HTML to be put in place), id and data."""

    event: str
    id: str | None
    data: str


@dataclass
class Ear:
    """Somebody who listens to one stream."""

    chunks: AsyncIterator[bytes]
    heard: list[Message] = field(default_factory=list)

    async def until(self, fits: Callable[[Message], object]) -> list[Message]:
        """Everything up to the first message that fits; fails loudly after a while."""
        taken: list[Message] = []
        async with asyncio.timeout(PATIENCE):
            while True:
                while self.heard:
                    taken.append(self.heard.pop(0))
                    if fits(taken[-1]):
                        return taken
                self.heard += parse(await anext(self.chunks))

    async def live(self) -> list[Message]:
        """What comes before the stream says that it is live."""
        return (await self.until(lambda message: message.event == "live"))[:-1]


@asynccontextmanager
async def listening(
    studio: Studio, secret: str, *keys: Key, after: str = "", beat: float = 10.0
) -> AsyncIterator[Ear]:
    """A stream of these topics, closed at the end."""
    chunks = stream(studio.app.state.hub, secret, keys, after, beat=beat)
    try:
        yield Ear(chunks)
    finally:
        await chunks.aclose()  # type: ignore[attr-defined]


def parse(chunk: bytes) -> list[Message]:
    """The messages in some bytes, as the specification reads them."""
    messages = []
    for block in chunk.decode().split("\n\n"):
        event, identity, data = "", None, []
        for line in block.split("\n"):
            name, _colon, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                event = value
            elif name == "id":
                identity = value
            elif name == "data":
                data.append(value)
        if event or data or identity is not None:
            messages.append(Message(event, identity, "\n".join(data)))
    return messages
