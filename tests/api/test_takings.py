"""Places for OTLP requests: whoever is slow or asks for much keeps nobody else out."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager

import httpx
import pytest
import uvicorn

from studio.api.auth import Rates
from studio.api.errors import Problem
from studio.api.otlp import taking
from studio.api.takings import Takings
from tests.api.conftest import Studio
from tests.api.test_otlp import PATH, PROTOBUF, only, request_of, send
from tests.core.conftest import ALICE, BOB

HOST = "localhost:8321"


def refusal(error: pytest.ExceptionInfo[Problem]) -> tuple[int, str]:
    return error.value.status, error.value.headers["Retry-After"]


async def test_each_key_has_places_of_its_own() -> None:
    takings = Takings(each=2, most=9)

    with ExitStack() as held:
        for person in (ALICE, ALICE, BOB):
            held.enter_context(takings.place(person, 10))
        with pytest.raises(Problem) as caught:
            held.enter_context(takings.place(ALICE, 10))
        held.enter_context(takings.place(BOB, 10))
    with takings.place(ALICE, 10):
        pass

    assert refusal(caught) == (429, "1")
    assert not takings.bytes


async def test_bodies_in_memory_are_bounded_of_one_key_and_of_all() -> None:
    takings = Takings(each=9, most=8)

    with ExitStack() as held:
        of_alice = [held.enter_context(takings.place(ALICE, 10)) for _ in range(3)]
        for one in of_alice[:2]:
            one.arrived(10)
        with pytest.raises(Problem) as her:
            of_alice[2].arrived(1)
        held.enter_context(takings.place(BOB, 10)).arrived(10)
        takings.bytes["other"] = 49
        with pytest.raises(Problem) as everybody:
            held.enter_context(takings.place(BOB, 10)).arrived(2)
        del takings.bytes["other"]

    assert (refusal(her), refusal(everybody)) == ((429, "1"), (503, "1"))
    assert takings.bytes.total() == 0


async def test_one_large_body_always_has_room_for_its_key() -> None:
    with Takings(each=1, most=1).place(ALICE, 10) as one:
        one.arrived(10)

    assert one.came == 10


async def test_those_whose_body_is_there_are_bounded_and_wait_for_their_turn() -> None:
    takings = Takings(each=9, most=3)

    async with AsyncExitStack() as held:
        places = [held.enter_context(takings.place(ALICE, 10)) for _ in range(4)]
        for one in places[:2]:
            await held.enter_async_context(one.work())
        waits = asyncio.ensure_future(places[2].work().__aenter__())
        await asyncio.sleep(0)
        assert not waits.done()
        with pytest.raises(Problem) as caught:
            await held.enter_async_context(places[3].work())
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)

    assert refusal(caught) == (503, "1")
    assert takings.here == 0


@pytest.mark.parametrize("rates,status", [(Rates(takings_each=1), 429), (Rates(takings=1), 503)])
async def test_one_request_too_many_is_told_to_wait(studio: Studio, status: int) -> None:
    data = request_of(studio, 400).SerializeToString()

    answers = await asyncio.gather(*(send(studio, data) for _ in range(4)))

    late = [answer for answer in answers if answer.status_code != 200]
    assert {answer.status_code for answer in late} == {status}
    assert {answer.headers["retry-after"] for answer in late} == {"1"}
    assert (await only(studio))["spans"] == 400


# Over a real socket -----------------------------------------------------------------------------


@asynccontextmanager
async def served(studio: Studio) -> AsyncIterator[int]:
    """The application behind a port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        config = uvicorn.Config(
            studio.asgi, lifespan="off", log_config=None, ws="none", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        async with asyncio.TaskGroup() as group:
            group.create_task(server.serve(sockets=[listening]))
            try:
                yield listening.getsockname()[1]
            finally:
                server.should_exit = True


@asynccontextmanager
async def slow(studio: Studio, port: int, person: str) -> AsyncIterator[asyncio.StreamReader]:
    """A request that says it has 1,000 bytes, sends one, and then nothing; what is answered.

    It has its place: who is told to go on has begun to arrive.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"POST {PATH} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {PROTOBUF}\r\n"
        f"Authorization: Bearer {studio.keys[person]}\r\nContent-Length: 1000\r\n"
        "Expect: 100-continue\r\n\r\n".encode()
    )
    async with asyncio.timeout(20):
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
    writer.write(b"\n")
    await writer.drain()
    try:
        yield reader
    finally:
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("rates", [Rates(takings_each=3, takings=3)])
async def test_slow_senders_of_one_key_keep_nobody_else_out(studio: Studio) -> None:
    data = request_of(studio, 3).SerializeToString()
    async with served(studio) as port, AsyncExitStack() as held:
        url = f"http://127.0.0.1:{port}{PATH}"

        async def post(person: str) -> httpx.Response:
            headers = {
                "Host": HOST, "Authorization": f"Bearer {studio.keys[person]}",
                "Content-Type": PROTOBUF,
            }  # fmt: skip
            async with httpx.AsyncClient() as http:
                return await http.post(url, content=data, headers=headers)

        for _ in range(3):
            await held.enter_async_context(slow(studio, port, "bob"))
        own = await post("bob")
        others = [await post("alice") for _ in range(5)]

        assert (own.status_code, own.headers["retry-after"]) == (429, "1")
        assert [one.status_code for one in others] == [200] * 5
    assert (await only(studio))["spans"] == 3


@pytest.mark.parametrize("rates", [Rates(takings_each=1)])
async def test_a_slow_body_is_given_up_and_its_place_is_free(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "BODY_SECONDS", 0.2)
    async with served(studio) as port, slow(studio, port, "bob") as reader:
        async with asyncio.timeout(20):
            answer = await reader.readline()

        assert b" 408 " in answer
        sent = await send(studio, request_of(studio, 1).SerializeToString())
        assert sent.status_code == 200
