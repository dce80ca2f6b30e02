"""Bytes of artifacts, piece by piece, with both clients."""

import hashlib
import io
import socket
import threading
import zipfile
from collections.abc import Iterator

import httpx
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


def packed(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def test_a_folder_is_kept_and_looked_into(studio: Live):
    with studio.client() as client:
        session_id = client.sessions.start("helper")["session_id"]
        first = client.artifacts.save_folder(
            session_id, packed({"a/é.txt": b"1\n", "b": b"x"}), name="site"
        )
        again = client.artifacts.save_folder(
            session_id, iter([packed({"a/é.txt": b"2\n", "b": b"x"})]), name="site"
        )
        same = client.artifacts.save_folder(
            session_id, packed({"a/é.txt": b"2\n", "b": b"x"}), name="site"
        )
        id = first["artifact_id"]
        (inner,) = client.artifacts.files(id, "a", version=1)["items"]
        changes = client.artifacts.diff(id, 1, 2)
        text = client.artifacts.text_diff(id, 1, 2, "a/é.txt")
        one = b"".join(client.artifacts.download(id, version=1, path="a/é.txt"))
        whole = b"".join(client.artifacts.download(id))
        shown = client.artifacts.show(id)

    assert (first["version"], again["version"], same["version"]) == (1, 2, 2)
    assert (inner["name"], inner["raw"]) == ("é.txt", "a/%C3%A9.txt")
    assert [(one["what"], one["path"]) for one in changes["items"]] == [("changed", "a/é.txt")]
    assert text["lines"][1:] == ["-1", "+2"]
    assert one == b"1\n"
    assert zipfile.ZipFile(io.BytesIO(whole)).read("b") == b"x"
    assert (shown["artifact"]["kind"], shown["artifact"]["files"]) == ("folder", 2)


def test_a_link_is_made_listed_and_revoked(studio: Live, artifact: str):
    with studio.client() as client:
        made = client.artifacts.make_link(artifact, version=1, minutes=1)
        got = httpx.get(f"{studio.url}{made['path']}")
        (row,) = client.artifacts.links(artifact)["items"]
        client.artifacts.revoke_link(artifact, made["id"])
        gone = httpx.get(f"{studio.url}{made['path']}")

    assert (got.status_code, got.content) == (200, b"first")
    assert (row["uses"], row["state"]) == (1, "open")
    assert gone.status_code == 410
