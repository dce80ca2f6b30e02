"""Bytes of artifacts, piece by piece, with both clients."""

import hashlib
import socket
import threading
from collections.abc import Iterator

import pytest

from api_client import AsyncClient, Client, NotFound, NotReached
from tests.live import Live

DATA = bytes(range(256)) * 20_000


@pytest.fixture
def artifact(studio: Live) -> str:
    with studio.client() as client:
        session_id = client.sessions.start("helper")["session_id"]
        saved = client.artifacts.save(session_id, b"first", name="a.bin")
        client.artifacts.save(session_id, DATA, name="a.bin", artifact=saved["artifact_id"])
    return saved["artifact_id"]


@pytest.fixture
def cutting() -> Iterator[str]:
    """A server that promises ten bytes, sends three and goes."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")

    thread = threading.Thread(target=answer)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    thread.join()
    listening.close()


def test_the_bytes_come_in_pieces(studio: Live, artifact: str):
    with studio.client() as client:
        pieces = list(client.artifacts.download(artifact))
        first = b"".join(client.artifacts.download(artifact, version=1))

    assert len(pieces) > 1
    assert hashlib.sha256(b"".join(pieces)).digest() == hashlib.sha256(DATA).digest()
    assert first == b"first"


async def test_they_come_in_pieces_when_awaited(studio: Live, artifact: str):
    async with AsyncClient(studio.url, key=studio.key) as client:
        pieces = [piece async for piece in client.artifacts.download(artifact)]
        with pytest.raises(NotFound):
            await anext(client.artifacts.download("art_none"))

    assert b"".join(pieces) == DATA


def test_what_is_not_there_is_a_typed_error(studio: Live, artifact: str):
    with studio.client() as client, pytest.raises(NotFound):
        next(client.artifacts.download(artifact, version=9))


def test_bytes_that_end_too_early_are_not_taken_for_the_whole(cutting: str):
    with Client(cutting) as client, pytest.raises(NotReached):
        list(client.artifacts.download("art_x"))
