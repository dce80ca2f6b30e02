"""Files for programs: sent, carried by messages, kept in versions, taken away in parts."""

import pytest

import api_client
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
