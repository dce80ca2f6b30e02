"""Disks for programs: kept, looked into, compared, taken away, put back, filled from an archive."""

import asyncio
import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
import zstandard

import api_client
from tests.api.conftest import Studio
from tests.core.conftest import ALICE
from tests.core.environment_studio import Studio as Lab

ODD = b"odd \xff\xe2\x80\xae?&#%2F\n.txt"


@pytest.fixture
async def lab(studio: Studio, tmp_path: Path) -> AsyncIterator[Lab]:
    """A worker with environments behind the API, and what it works on."""
    found = Lab(core=studio.core, folder=tmp_path)
    await studio.core.runtime.save_policy(ALICE, [{"effect": "allow"}], expect=None)
    worker = found.worker()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        yield found
        running.cancel()
    await worker.close()


async def filled(lab: Lab, files: dict[bytes, bytes], *, name: str = "lab") -> str:
    """An environment with two versions of its disk, and then these files that no one has kept."""
    id = await lab.make(name)
    session_id = await lab.say(id, 'call shell {"command": "touch turn"}')
    await lab.kept_by(id, session_id)
    for path, data in files.items():
        place = os.path.join(os.fsencode(lab.disk(id)), path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(data)
    return id


def packed(names: dict[str, bytes]) -> bytes:
    """A tar.gz of these files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, data in names.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


async def all_of(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


async def test_a_disk_is_kept_browsed_and_taken_away(studio: Studio, lab: Lab) -> None:
    bob = studio.client("bob")
    id = await filled(lab, {b"src/a.py": b"a = 1\n", ODD: b"odd", b"zeros": bytes(3_000_000)})

    done = await bob.disks.keep(id, note="by hand")

    assert (done["state"], done["version"], done["note"]) == ("done", 3, "by hand")
    top = await bob.disks.files(id, 3)
    assert [one["type"] for one in top["items"]] == ["file", "file", "folder", "file", "file"]
    odd = next(one for one in top["items"] if one["name"].startswith("odd"))
    assert "\ufffd" in odd["path"]
    assert unquote_to_bytes(odd["raw"]) == ODD
    assert await all_of(bob.disks.content(id, 3, ODD)) == b"odd"
    assert (await bob.disks.files(id, 3, "src"))["items"][0]["mode"] == "0644"
    data = await all_of(bob.disks.archive(id, 3))
    with tarfile.open(
        fileobj=io.BytesIO(zstandard.ZstdDecompressor().stream_reader(data).read())
    ) as tar:
        zeros = tar.extractfile("zeros")
        assert zeros is not None
        assert hashlib.sha256(zeros.read()).digest() == hashlib.sha256(bytes(3_000_000)).digest()


async def test_a_zip_is_whole_though_some_of_its_pieces_are_empty(studio: Studio, lab: Lab) -> None:
    id = await filled(lab, {b"a": bytes(3_000_000), b"b": b"last"})
    await studio.client("bob").disks.keep(id)

    data = await all_of(studio.client("bob").disks.archive(id, 3, "zip"))

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert archive.read("b") == b"last"


async def test_a_name_that_no_zip_can_tell_is_refused_before_anything_is_sent(
    studio: Studio, lab: Lab
) -> None:
    id = await filled(lab, {ODD: b"odd"})
    await studio.client("bob").disks.keep(id)

    with pytest.raises(api_client.Invalid, match=r"take tar\.zst") as refused:
        await all_of(studio.client("bob").disks.archive(id, 3, "zip"))

    assert refused.value.code == "archive.name"


async def test_a_folder_comes_in_pages(studio: Studio, lab: Lab) -> None:
    bob = studio.client("bob")
    names = [f"f{number}".encode() for number in range(5)] + [b"g\xff", b"h%41"]
    id = await filled(lab, dict.fromkeys(names, b""))
    await bob.disks.keep(id)

    found, after = list[str](), ""
    for _ in range(5):
        page = await bob.disks.files(id, 3, limit=2, after=after)
        found += [one["raw"] for one in page["items"]]
        after = page["next"] or ""

    assert found == ["f0", "f1", "f2", "f3", "f4", "g%FF", "h%2541", "made.txt", "turn"]
    assert (page["next"], page["total"]) == (None, 9)


async def test_versions_are_compared_and_a_file_line_by_line(studio: Studio, lab: Lab) -> None:
    bob = studio.client("bob")
    id = await filled(lab, {b"new.txt": b"one\n", b"made.txt": b"made\nmore\n"})
    await bob.disks.keep(id)

    diff = await bob.disks.diff(id, 2, 3)
    lines = await bob.disks.text_diff(id, 2, 3, "made.txt")

    assert [(one["path"], one["what"]) for one in diff["items"]] == [
        ("made.txt", "changed"), ("new.txt", "added"),
    ]  # fmt: skip
    assert diff["counts"] == {"changed": 1, "added": 1}
    assert diff["items"][1]["before"] is None
    assert (lines["state"], lines["lines"]) == ("text", ["@@ -1 +1,2 @@", " made", "+more"])


async def test_a_file_is_never_opened_in_place(studio: Studio, lab: Lab) -> None:
    id = await filled(lab, {b"x.html": b"<script>alert(1)</script>"})
    await studio.client("bob").disks.keep(id)
    path = f"/v1/environments/{id}/versions/3/content?path=x.html"

    answer = await studio.raw("GET", path)
    again = await studio.raw("GET", path, headers={"If-None-Match": answer.headers["etag"]})

    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert again.status_code == 304


async def test_a_disk_is_restored_and_nothing_is_lost(studio: Studio, lab: Lab) -> None:
    bob = studio.client("bob")
    id = await filled(lab, {b"by-hand": b"1"})

    done = await bob.disks.restore(id, 1)

    assert (done["act"], done["source"], done["version"]) == ("restore", 1, 4)
    assert [v["reason"] async for v in bob.environments.versions(id)][:2] == ["restore", "hand"]
    assert [one["act"] for one in (await bob.disks.operations(id))["items"]] == ["restore"]


async def test_an_archive_becomes_the_disk(studio: Studio, lab: Lab) -> None:
    bob = studio.client("bob")
    id = await filled(lab, {})

    async def pieces() -> AsyncIterator[bytes]:
        data = packed({"a/b.txt": b"from outside"})
        yield data[:10]
        yield data[10:]

    done = await bob.disks.take_in(id, pieces(), name="outside.tar.gz")

    assert (done["state"], done["archive_name"]) == ("done", "outside.tar.gz")
    assert (lab.disk(id) / "a/b.txt").read_text() == "from outside"


async def test_a_hostile_archive_fails_with_words_and_changes_nothing(
    studio: Studio, lab: Lab
) -> None:
    bob = studio.client("bob")
    id = await filled(lab, {})

    with pytest.raises(api_client.OperationFailed, match="cannot be used") as failed:
        await bob.disks.take_in(id, packed({"../out": b"x"}), name="bad.tar.gz")

    assert failed.value.code == "archive.invalid"
    assert sorted(path.name for path in lab.disk(id).iterdir()) == ["made.txt", "turn"]


async def test_an_environment_is_started_before_its_first_turn(studio: Studio, lab: Lab) -> None:
    bob = studio.client("bob")
    id = await lab.make()

    done = await bob.disks.start(id)

    assert (done["act"], done["state"]) == ("start", "done")
    assert (await bob.environments.show(id))["environment"]["state"] == "running"
    assert (lab.disk(id) / "made.txt").exists()


async def test_who_waits_no_longer_is_told_that_it_goes_on(studio: Studio, lab: Lab) -> None:
    id = await lab.make()
    with pytest.raises(api_client.NotDone, match="goes on"):
        await studio.client("bob").disks.stop(id, seconds=0)


@pytest.mark.parametrize("version", ["0", "9", "x", "1e3", "9" * 30])
async def test_a_version_that_is_not_there_is_not_found(studio: Studio, version: str) -> None:
    id = (await studio.core.runtime.make_environment(ALICE, "lab", definition={})).id

    answer = await studio.raw("GET", f"/v1/environments/{id}/versions/{version}/files")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "disk.not_found")


async def test_a_disk_that_was_never_made_is_not_kept(studio: Studio) -> None:
    id = (await studio.core.runtime.make_environment(ALICE, "lab", definition={})).id

    with pytest.raises(api_client.Refused) as refused:
        await studio.client("bob").disks.keep(id)

    assert refused.value.code == "disk.not_made"


async def test_what_was_asked_is_a_place_to_look(studio: Studio) -> None:
    made: Any = await studio.core.runtime.make_environment(ALICE, "lab", definition={})
    answer = await studio.raw("POST", f"/v1/environments/{made.id}/reset")

    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/operations/{answer.json()['operation']}"
    found = await studio.raw("GET", answer.headers["location"], person="charlie")
    assert (found.json()["state"], found.json()["by"]) == ("waiting", "key:bob")
