"""Folders among the artifacts: looked into, compared, taken away, kept from a disk, linked to."""

import io
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.core.rules.access import Person
from studio.core.runtime import SavedArtifact
from tests.web import disk_cases
from tests.web.conftest import Studio, Visitor
from tests.web.disk_cases import Disk

ADA = Person(id="ada", role="admin", via="key")
LOCKED = "sandbox; default-src 'none'"


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data


def packed(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


async def kept(
    studio: Studio, session_id: str, files: dict[str, bytes], name: str = "site"
) -> SavedArtifact:
    return await studio.runtime.save_folder(
        ADA, session_id, name=name, chunks=chunks(packed(files))
    )


@pytest.fixture
async def site(studio: Studio) -> str:
    """A folder in two versions."""
    session_id = await studio.story.session("Site")
    first = {
        "index.html": b"<script>alert(1)</script>\n", "css/a.css": b"a\nb\n", "gone.txt": b"x",
        "pic.png": disk_cases.PNG, "bytes.bin": bytes(range(256)),
    }  # fmt: skip
    second = {**first, "css/a.css": b"a\nc\n", "new.txt": b"new"}
    del second["gone.txt"]
    await kept(studio, session_id, first)
    done = await kept(studio, session_id, second)
    assert done.version == 2
    return done.artifact_id


async def test_a_folder_is_looked_into_folder_by_folder(alice: Visitor, site: str) -> None:
    top = await alice.open(f"/artifacts/{site}")
    inner = await alice.open(f"/artifacts/{site}?version=2&path=css")
    file = await alice.open(f"/artifacts/{site}?version=2&path=css/a.css")

    assert [a.text for a in top.one("table").all("a")] == [
        "bytes.bin", "css /", "index.html", "new.txt", "pic.png",
    ]  # fmt: skip
    assert [a.text for a in inner.one("table").all("a")] == ["a.css"]
    assert "a" in file.one(role="region").text
    assert "5 files" in top.one(class_="head").text


async def test_files_of_a_folder_are_shown_as_text_picture_and_bytes(
    alice: Visitor, site: str
) -> None:
    html = await alice.open(f"/artifacts/{site}?version=2&path=index.html")
    binary = await alice.open(f"/artifacts/{site}?version=2&path=bytes.bin")
    picture = await alice.open(f"/artifacts/{site}?version=2&path=pic.png")

    assert html.one(role="region").attrs["data-shown"] == "text"
    assert "<script>alert(1)</script>" in html.one(role="region").text
    assert binary.one(role="region").attrs["data-shown"] == "hex"
    source = str(picture.one("img", class_="picture").attrs["src"])
    answer = await alice.get(source)
    assert (answer.content, answer.headers["content-type"]) == (disk_cases.PNG, "image/png")
    assert answer.headers["content-security-policy"] == LOCKED


async def test_a_folder_and_its_files_are_taken_away_and_never_opened(
    alice: Visitor, site: str
) -> None:
    whole = await alice.get(f"/artifacts/{site}/content?version=1")
    one = await alice.get(f"/artifacts/{site}/content?version=2&path=index.html")
    page = await alice.get(f"/artifacts/{site}/picture?version=2&path=index.html")

    assert zipfile.ZipFile(io.BytesIO(whole.content)).read("css/a.css") == b"a\nb\n"
    assert one.content == b"<script>alert(1)</script>\n"
    assert page.status_code == 404
    for answer in (whole, one):
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment; filename=")
        assert answer.headers["content-security-policy"] == LOCKED
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_two_versions_are_compared_by_path_and_by_line(alice: Visitor, site: str) -> None:
    diff = await alice.open(f"/artifacts/{site}/diff?before=1&after=2")
    text = await alice.open(f"/artifacts/{site}/diff?before=1&after=2&path=css/a.css")

    rows = [row.text for row in diff.one("tbody").all("tr")]
    assert [row.split()[:2] for row in rows] == [
        ["css/a.css", "changed"], ["gone.txt", "removed"], ["new.txt", "added"],
    ]  # fmt: skip
    assert [line.text for line in text.all(data_change="removed")] == ["2 \N{MINUS SIGN} b"]
    assert [line.text for line in text.all(data_change="added")] == ["2 + c"]
    for odd in ("before=1", "before=1&after=x", "before=1&after=9"):
        assert (await alice.get(f"/artifacts/{site}/diff?{odd}")).status_code == 404


async def test_versions_of_a_file_are_compared_too(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Files")
    first = await studio.runtime.save_artifact(
        ADA, session_id, name="a.md", media="", chunks=chunks(b"one\n")
    )
    await studio.runtime.save_artifact(
        ADA, session_id, name="a.md", media="", chunks=chunks(b"two\n"),
        artifact_id=first.artifact_id,
    )  # fmt: skip

    page = await alice.open(f"/artifacts/{first.artifact_id}/diff?before=1&after=2")

    assert [line.text for line in page.all(data_change="added")] == ["1 + two"]


async def test_a_private_folder_is_not_there_for_others(
    studio: Studio, alice: Visitor, charlie: Visitor
) -> None:
    session_id = await studio.story.session("Mine", private=True)
    done = await kept(studio, session_id, {"a": b"1"})
    url = f"/artifacts/{done.artifact_id}"

    for path in ("", "?path=a", "/content", "/content?path=a", "/diff?before=1&after=1"):
        assert (await charlie.get(url + path)).status_code == 404
        assert (await alice.get(url + path)).status_code == 200


async def test_a_folder_of_a_disk_becomes_an_artifact(
    studio: Studio, bob: Visitor, charlie: Visitor, tmp_path: Path
) -> None:
    desk = await disk_cases.two_versions(studio, tmp_path)
    session_id, _ = await disk_cases.at_work(studio, desk)
    page = await bob.open(f"{desk.url}/2?path=src")
    (form,) = [form for form in page.all("form") if "artifact" in str(form.attrs.get("action"))]
    url = str(form.attrs["action"])
    sent = {"session": session_id, "name": "sources"}

    first = await bob.post(url, sent)
    again = await bob.post(url, sent)
    wrong = await bob.post(url, {**sent, "name": "../x"})

    assert first.status_code == again.status_code == 303
    assert first.headers["location"] == again.headers["location"]
    opened = await bob.open(first.headers["location"])
    assert [a.text for a in opened.one("table").all("a")] == ["a.py"]
    assert wrong.status_code == 422
    assert (await charlie.post(url, sent)).status_code == 403
    seen = await charlie.open(f"{desk.url}/2?path=src")
    assert [form for form in seen.all("form") if "artifact" in str(form.attrs.get("action"))] == []


async def test_odd_names_of_a_disk_stay_what_they_are(
    studio: Studio, alice: Visitor, tmp_path: Path
) -> None:
    desk: Disk = await disk_cases.two_versions(studio, tmp_path)
    session_id, _ = await disk_cases.at_work(studio, desk)
    done = await studio.runtime.keep_folder(
        ADA, session_id, environment=desk.id, version=2, path="", name="all"
    )

    page = await alice.open(f"/artifacts/{done.artifact_id}")
    (odd,) = [a for a in page.one("table").all("a") if "odd" in a.text]
    answer = await alice.get(f"/artifacts/{done.artifact_id}/content")

    assert "odd" in (await alice.open(str(odd.attrs["href"]))).one(role="region").text
    assert answer.status_code == 422
    assert "take tar.zst" in answer.text
    packed = await alice.get(f"/artifacts/{done.artifact_id}/content?form=tar.zst")
    assert packed.status_code == 200
