"""Files in pages: attached, kept when refused, shown under their message, looked at, taken away."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from studio.core.rules.access import Person
from tests.core.rules.test_pictures import png
from tests.web import html
from tests.web.conftest import BASE, Studio, Visitor

PNG = png(64, 48) + bytes(range(256)) * 8
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def send(visitor: Visitor, path: str, files: list[Any], **more: Any) -> Any:
    """A form with files, from one of our own pages."""
    data = {k: v for k, v in more.items() if k != "HX_Request"}
    headers = {"Sec-Fetch-Site": "same-origin", "Origin": BASE}
    if "HX_Request" in more:
        headers["HX-Request"] = "true"
    sent = [("files", file) for file in files]
    return await visitor.http.post(path, data=data, files=sent, headers=headers)


async def saved(studio: Studio, session_id: str, name: str, data: bytes, media: str = "") -> Any:
    return await studio.runtime.save_artifact(
        Person(id="alice", role="operator"), session_id, name=name, media=media,
        chunks=chunks(data),
    )  # fmt: skip


async def test_two_files_go_with_a_message_without_scripts(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Files")
    files = [("a.png", PNG, "image/png"), ("notes.md", b"# Hi", "text/markdown")]

    answer = await send(alice, f"/sessions/{session_id}/messages", files, text="Look", how="send")

    assert answer.status_code == 303
    page = await alice.open(f"/sessions/{session_id}")
    names = [a.text for a in page.all("a") if a.attrs.get("class") == "file__name"]
    assert names == ["a.png", "notes.md"]
    assert len(page.all("img")) == 1


async def test_a_refused_file_keeps_the_text_and_the_others(studio, alice) -> None:
    session_id = await studio.story.session("Files")
    files = [("a.png", PNG, "image/png"), ("b.png", b"no picture", "image/png")]

    answer = await send(
        alice, f"/sessions/{session_id}/messages", files, text="My words", how="send"
    )

    assert answer.status_code == 422
    page = html.read(answer.text)
    assert "image/png, but its bytes are text/plain" in page.text
    assert page.one(id="composer-text").text.strip() == "My words"
    (kept,) = page.all("input", name="upload")
    assert "checked" in kept.attrs
    form = {"text": "My words", "how": "send", "upload": kept.attrs["value"]}
    again = await alice.post(f"/sessions/{session_id}/messages", form)
    assert again.status_code == 303
    assert "a.png" in (await alice.open(f"/sessions/{session_id}")).text


async def test_a_part_of_a_page_gets_the_refused_composer(studio, alice) -> None:
    session_id = await studio.story.session("Files")

    answer = await send(
        alice, f"/sessions/{session_id}/messages", [("b.png", b"x", "image/png")], text="Words",
        HX_Request="true",
    )  # fmt: skip

    assert answer.status_code == 422
    assert "Words" in html.read(answer.text).one(id="composer-text").text


async def test_a_new_session_begins_with_files(studio: Studio, alice: Visitor) -> None:
    answer = await send(alice, "/sessions", [("a.csv", b"a,b", "text/csv")], agent="helper")

    assert answer.status_code == 303
    assert "a.csv" in (await alice.open(answer.headers["location"])).text


async def test_a_refused_new_session_keeps_its_files(studio: Studio, alice: Visitor) -> None:
    answer = await send(alice, "/sessions", [("a.csv", b"a,b", "text/csv")], agent="nobody")

    assert answer.status_code == 404
    assert len(html.read(answer.text).all("input", name="upload")) == 1


async def test_a_script_sends_one_file_and_removes_it(studio: Studio, alice: Visitor) -> None:
    own = {"Sec-Fetch-Site": "same-origin", "Origin": BASE}
    answer = await alice.http.post("/uploads", files={"file": ("a.txt", b"hi")}, headers=own)

    told = answer.json()
    assert (answer.status_code, told["name"], told["media"], told["size"]) == (
        201, "a.txt", "text/plain", 2,
    )  # fmt: skip
    assert (await alice.post(f"/uploads/{told['id']}/removal")).status_code == 204
    assert await studio.runtime.uploads(alice.person, [told["id"]]) == []


async def test_a_script_is_told_why_a_file_is_refused(studio: Studio, alice: Visitor) -> None:
    own = {"Sec-Fetch-Site": "same-origin", "Origin": BASE}
    answer = await alice.http.post(
        "/uploads", files={"file": ("a.pdf", b"hi", "application/pdf")}, headers=own
    )

    assert answer.status_code == 422
    assert "application/pdf, but its bytes are text/plain" in answer.json()["message"]


async def test_a_file_from_elsewhere_is_not_taken(studio: Studio, alice: Visitor) -> None:
    answer = await alice.http.post(
        "/uploads", files={"file": ("a.txt", b"hi")}, headers={"Origin": "http://evil.test"}
    )

    assert answer.status_code == 403


@pytest.mark.parametrize("path", ["/uploads", "/sessions", "/sessions/x/messages"])
async def test_nothing_of_a_viewers_file_is_read(charlie: Visitor, path: str) -> None:
    drawn = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal drawn
        for _ in range(10):
            drawn += 1
            yield b"x"

    kind = {"Content-Type": "multipart/form-data; boundary=xx"}
    own = {"Sec-Fetch-Site": "same-origin", "Origin": BASE}
    answer = await charlie.http.post(path, content=body(), headers={**kind, **own})

    assert (answer.status_code, drawn) == (403, 0)
    assert "operator" in answer.text


async def test_a_viewer_is_offered_no_field_for_files(studio, charlie) -> None:
    session_id = await studio.story.session("Files")

    page = await charlie.open(f"/sessions/{session_id}")

    assert page.all("input", type="file") == []


async def test_an_artifact_has_a_page_with_its_versions(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Files")
    first = await saved(studio, session_id, "reports/a.md", b"one <b>bold</b>")
    await studio.runtime.save_artifact(
        alice.person, session_id, name="x", media="text/markdown", chunks=chunks(b"two"),
        artifact_id=first.artifact_id,
    )  # fmt: skip

    old = await alice.open(f"/artifacts/{first.artifact_id}?version=1")
    new = await alice.open(f"/artifacts/{first.artifact_id}")

    assert "one <b>bold</b>" in old.one("pre").text
    assert "This is an older version" in old.text
    assert new.one("pre").text.strip() == "two"
    assert len([a for a in new.all("a") if a.text.startswith("Version ")]) == 2


async def test_versions_beyond_the_first_page_are_listed_and_opened(studio, alice) -> None:
    session_id = await studio.story.session("Files")
    first = await saved(studio, session_id, "a.md", b"version 1")
    for number in range(2, 204):
        await studio.runtime.save_artifact(
            alice.person, session_id, name="x", media="text/markdown",
            chunks=chunks(f"version {number}".encode()), artifact_id=first.artifact_id,
        )  # fmt: skip
    page, seen = await alice.open(f"/artifacts/{first.artifact_id}?version=1"), list[str]()

    while True:
        seen += [a.text for a in page.all("a") if a.text.startswith("Version ")]
        older = [a for a in page.all("a") if a.text == "Older versions"]
        assert page.one("pre").text.strip() == "version 1"
        if not older:
            break
        page = await alice.open(str(older[0].attrs["href"]).partition("#")[0])

    assert seen == [f"Version {number}" for number in range(203, 0, -1)]


async def test_the_side_of_a_session_lists_its_artifacts(studio, alice) -> None:
    session_id = await studio.story.session("Files")
    await saved(studio, session_id, "a.md", b"one")

    page = await alice.open(f"/sessions/{session_id}?panel=artifacts")
    empty = await alice.open(f"/sessions/{await studio.story.session('None')}?panel=artifacts")

    assert "a.md" in page.one(id="panel").text
    assert "No artifacts" in empty.one(id="panel").text


async def test_bytes_are_taken_away_and_never_opened(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Files")
    done = await saved(studio, session_id, 'x/é"; b.svg', SVG)

    answer = await alice.get(f"/artifacts/{done.artifact_id}/content")

    assert answer.content == SVG
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith('attachment; filename="_')
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert (await alice.get(f"/artifacts/{done.artifact_id}/picture")).status_code == 404


async def test_a_part_of_the_bytes_can_be_asked_for(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Files")
    done = await saved(studio, session_id, "a.txt", b"0123456789" * 1_000)
    url = f"/artifacts/{done.artifact_id}/content"

    part = await alice.get(url, Range="bytes=5-14")
    outside = await alice.get(url, Range="bytes=99999-")
    same = await alice.get(url, If_None_Match=f'"{done.hash}"')

    assert (part.status_code, part.content) == (206, b"5678901234")
    assert part.headers["content-range"] == "bytes 5-14/10000"
    assert (outside.status_code, same.status_code, same.content) == (416, 304, b"")


async def test_a_picture_is_served_as_what_it_is(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Files")
    done = await saved(studio, session_id, "a.png", PNG)

    answer = await alice.get(f"/artifacts/{done.artifact_id}/picture")

    assert (answer.content, answer.headers["content-type"]) == (PNG, "image/png")
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    page = await alice.open(f"/artifacts/{done.artifact_id}")
    assert page.one("img").attrs["width"] == "64"


@pytest.mark.parametrize("path", ["", "/content", "/picture"])
async def test_what_is_private_is_not_there_for_others(studio, alice, charlie, path) -> None:
    session_id = await studio.story.session("Mine", private=True)
    done = await saved(studio, session_id, "a.png", PNG)

    answers = [
        await charlie.get(f"/artifacts/{artifact}{path}")
        for artifact in (done.artifact_id, "art_none")
    ]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert (await alice.get(f"/artifacts/{done.artifact_id}{path}")).status_code == 200
