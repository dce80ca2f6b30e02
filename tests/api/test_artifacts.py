"""Files for programs: sent, carried by messages, kept in versions, taken away in parts."""

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator
from typing import Any

import pytest

import api_client
from studio.api import wire
from studio.core.rules.files import FileLimits
from studio.core.store import tables
from tests.api.conftest import Studio
from tests.core.rules.test_pictures import png

PNG = png(8, 8) + b"rest"


async def test_a_message_carries_an_upload_and_an_artifact(studio: Studio):
    bob, session_id = studio.client("bob"), await studio.session()
    upload = await bob.artifacts.upload(PNG, name="a.png", media="image/png")
    saved = await bob.artifacts.save(session_id, b"# Notes", name="docs/notes.md")

    parts = [
        {"type": "text", "text": "say hi"},
        {"type": "file", "uploadId": upload["id"]},
        {"type": "file", "artifactId": saved["artifact_id"], "version": 1},
    ]
    await bob.sessions.send(session_id, parts=parts)

    names = [item["name"] async for item in bob.artifacts.list(session_id)]
    assert names == ["a.png", "docs/notes.md"]
    (message,) = [
        event
        for event in (await bob.sessions.events(session_id))["items"]
        if event["type"] == "message.accepted"
    ]
    assert [ref["name"] for ref in message["payload"]["files"]] == ["a.png", "docs/notes.md"]


async def test_parts_that_cannot_be_sent_are_named(studio: Studio):
    bob, session_id = studio.client("bob"), await studio.session()
    saved = await bob.artifacts.save(session_id, b"PK\x03\x04rest", name="a.zip")

    with pytest.raises(api_client.ApiError) as refused:
        await bob.sessions.send(
            session_id, parts=[{"type": "file", "artifactId": saved["artifact_id"]}]
        )

    assert (refused.value.status, refused.value.code) == (422, "message.files")
    (part,) = refused.value.details["parts"]
    assert (part["artifact"], part["media"]) == (saved["artifact_id"], "application/zip")
    assert "No model reads" in part["reason"]


async def test_a_file_named_twice_is_refused(studio: Studio):
    upload = await studio.client("bob").artifacts.upload(b"hello", name="a.txt")
    part = {"type": "file", "uploadId": upload["id"]}

    answer = await studio.raw(
        "POST", f"/v1/sessions/{await studio.session()}/messages", json={"parts": [part, part]}
    )

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "file.twice")
    assert error["details"]["fields"] == {"files.1": "“a.txt” is attached twice."}


async def test_a_type_that_is_none_is_not_given_back(studio: Studio):
    bob, session_id = studio.client("bob"), await studio.session()
    head = b'Content-Disposition: form-data; name="file"; filename="a"\r\n'
    body = b"--xx\r\n" + head + "Content-Type: text/日本\r\n\r\nhello\r\n--xx--\r\n".encode()

    saved = await studio.raw(
        "POST", f"/v1/sessions/{session_id}/artifacts", headers=FORM, content=body
    )

    found = await bob.artifacts.show(saved.json()["artifact_id"])
    assert found["artifact"]["media"] == "text/plain"


async def test_what_was_kept_with_a_bad_type_is_given_as_just_bytes(studio: Studio):
    bob, session_id = studio.client("bob"), await studio.session()
    saved = await bob.artifacts.save(session_id, b"hello", name="a.txt")
    for table in (tables.artifacts, tables.artifact_versions):
        bad = table.update().values(media="text/日本\r\nx: y")
        await studio.core.parts.db.touch(lambda conn, bad=bad: conn.execute(bad))

    answer = await studio.raw("GET", f"/v1/artifacts/{saved['artifact_id']}/content")
    shown = await studio.raw("GET", f"/v1/artifacts/{saved['artifact_id']}")

    assert (answer.status_code, answer.content) == (200, b"hello")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert shown.status_code == 200


@pytest.mark.parametrize("body", [{}, {"text": "x", "parts": [{"type": "text", "text": "x"}]}])
async def test_a_message_is_told_in_one_way(studio: Studio, body):
    answer = await studio.raw("POST", f"/v1/sessions/{await studio.session()}/messages", json=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "message.parts")


async def test_bytes_of_another_type_are_refused(studio: Studio):
    with pytest.raises(api_client.ApiError) as refused:
        await studio.client("bob").artifacts.upload(b"text", name="a.png", media="image/png")

    assert (refused.value.status, refused.value.code) == (422, "file.type")
    assert refused.value.details["found"] == "text/plain"


async def test_a_form_carries_a_file_too(studio: Studio):
    answer = await studio.raw("POST", "/v1/uploads", files={"file": ("a.txt", b"hello")})

    assert (answer.status_code, answer.json()["name"], answer.json()["size"]) == (201, "a.txt", 5)


class Drip:
    """A body that counts what was drawn of it: `most` pieces, then silence or the end."""

    def __init__(self, piece: bytes, most: int, *, hangs: bool = False) -> None:
        self.piece, self.most, self.hangs, self.drawn = piece, most, hangs, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.drawn < self.most:
            self.drawn += 1
            yield self.piece if self.drawn > 1 else FORM_HEAD + self.piece
        if self.hangs:
            await asyncio.Event().wait()


FORM = {"Content-Type": "multipart/form-data; boundary=xx"}
RAW = {"Content-Type": "text/plain"}
FORM_HEAD = b'--xx\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'


@pytest.mark.parametrize("headers", [FORM, RAW])
async def test_a_file_that_does_not_end_is_refused_while_it_comes(studio: Studio, headers):
    studio.core.runtime.limits = FileLimits(upload_bytes=100_000)
    body = Drip(b"x" * 10_000, 1_000)

    answer = await studio.raw("POST", "/v1/uploads", headers=headers, content=body)

    assert answer.status_code == 413
    assert body.drawn <= 1 + (100_000 + wire.FORM_BYTES) // 10_000


async def test_a_form_that_says_that_it_is_too_large_is_not_read(studio: Studio):
    studio.core.runtime.limits = FileLimits(upload_bytes=1_000)
    body = Drip(b"x", 10)

    headers = {**FORM, "Content-Length": str(1_001 + wire.FORM_BYTES)}
    answer = await studio.raw("POST", "/v1/uploads", headers=headers, content=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body.too_large")
    assert body.drawn == 0


@pytest.mark.parametrize("headers", [FORM, RAW])
async def test_a_file_that_stops_on_its_way_is_given_up(studio: Studio, monkeypatch, headers):
    monkeypatch.setattr(wire, "FILE_SECONDS", 0.05)
    body = Drip(b"x", 2, hangs=True)

    answer = await studio.raw("POST", "/v1/uploads", headers=headers, content=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (408, "body.slow")


@pytest.mark.parametrize(
    "method, path, headers",
    [
        ("POST", "/v1/uploads", FORM),
        ("POST", "/v1/uploads", RAW),
        ("POST", "/v1/sessions/ses_1/artifacts", FORM),
        ("PUT", "/v1/plugins/kit", {"Content-Type": "application/zip"}),
        ("POST", "/v1/skills", {"Content-Type": "application/zip"}),
    ],
)
async def test_who_may_not_send_a_file_sends_none_of_it(studio: Studio, method, path, headers):
    body = Drip(b"x", 10)

    answer = await studio.raw(method, path, person="charlie", headers=headers, content=body)

    assert answer.status_code == 403
    assert body.drawn == 0


async def test_versions_are_kept_and_taken_away_in_parts(studio: Studio):
    bob, session_id = studio.client("bob"), await studio.session()
    first = await bob.artifacts.save(session_id, b"0123456789", name="a.txt")
    second = await bob.artifacts.save(
        session_id, b"other", name="a.txt", artifact=first["artifact_id"]
    )
    url = f"/v1/artifacts/{first['artifact_id']}/content"

    part = await studio.raw("GET", f"{url}?version=1", headers={"Range": "bytes=2-4"})
    newest = await studio.raw("GET", url)
    behind = await studio.raw("GET", url, headers={"Range": "bytes=99-"})
    same = await studio.raw("GET", url, headers={"If-None-Match": newest.headers["etag"]})

    assert second["version"] == 2
    assert (part.status_code, part.content) == (206, b"234")
    assert newest.content == b"other"
    assert newest.headers["content-disposition"].startswith("attachment")
    assert newest.headers["x-content-type-options"] == "nosniff"
    assert (behind.status_code, same.status_code) == (416, 304)
    detail = await bob.artifacts.show(first["artifact_id"])
    assert [version["version"] for version in detail["versions"]] == [2, 1]


async def test_every_version_is_reached_page_by_page(studio: Studio):
    bob, session_id = studio.client("bob"), await studio.session()
    artifact_id = (await bob.artifacts.save(session_id, b"1", name="a.txt"))["artifact_id"]
    for number in range(2, 6):
        data = str(number).encode()
        await bob.artifacts.save(session_id, data, name="a.txt", artifact=artifact_id)
    other = (await bob.artifacts.save(session_id, b"1", name="b.txt"))["artifact_id"]

    found, cursor = [], None
    while True:
        page = await bob.artifacts.show(artifact_id, limit=2, cursor=cursor)
        found.append([one["version"] for one in page["versions"]])
        cursor = page["next"]
        if cursor is None:
            break
        with pytest.raises(api_client.Invalid):
            await bob.artifacts.show(other, cursor=cursor)
    oldest = await studio.raw("GET", f"/v1/artifacts/{artifact_id}/content?version=1")

    assert found == [[5, 4], [3, 2], [1]]
    assert oldest.content == b"1"


async def folder(studio: Studio, session_id: str, archive: bytes, **more: Any) -> Any:
    return await studio.raw(
        "POST", f"/v1/sessions/{session_id}/folders?name=site", content=archive, **more
    )


def zipped(*files: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return made.getvalue()


@pytest.mark.parametrize(
    "archive,code",
    [(b"", "archive.missing"), (b"no archive", "archive.invalid"),
     (zipped(("../out", b"x")), "archive.invalid"), (zipped(("/etc/x", b"x")), "archive.invalid"),
     (zipped(("a", b"x"), ("A", b"y")), "archive.invalid")],
)  # fmt: skip
async def test_a_hostile_archive_leaves_nothing(studio: Studio, archive: bytes, code: str):
    session_id = await studio.session()

    answer = await folder(studio, session_id, archive)

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)
    items = (await studio.raw("GET", f"/v1/sessions/{session_id}/artifacts")).json()["items"]
    assert items == []


async def test_a_folder_sent_twice_under_one_key_is_one_version(studio: Studio):
    session_id = await studio.session()
    archive = zipped(("a", b"x"))
    key = {"headers": {"Idempotency-Key": "k1"}}

    first = await folder(studio, session_id, archive, **key)
    again = await folder(studio, session_id, archive, **key)
    other = await folder(studio, session_id, zipped(("a", b"y")), **key)

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert other.status_code in (409, 422)


async def test_a_file_is_no_version_of_a_folder(studio: Studio):
    session_id = await studio.session()
    made = (await folder(studio, session_id, zipped(("a", b"x")))).json()

    answer = await studio.raw(
        "POST", f"/v1/sessions/{session_id}/artifacts?name=a&artifact={made['artifact_id']}",
        content=b"x",
    )  # fmt: skip
    files = await studio.raw("GET", f"/v1/artifacts/{made['artifact_id']}/files?path=none")

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "artifact.kind")
    assert files.status_code == 404


async def test_nothing_of_a_folder_is_opened_in_place(studio: Studio):
    session_id = await studio.session()
    made = (await folder(studio, session_id, zipped(("a.html", b"<script>")))).json()
    url = f"/v1/artifacts/{made['artifact_id']}/content"

    for path in ("", "?path=a.html", "?form=tar.zst"):
        answer = await studio.raw("GET", url + path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"
