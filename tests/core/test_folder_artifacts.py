"""Folders that become artifacts: by a tool, at a turn's end; what is kept, and what is said."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from studio.core import faults
from studio.core.disks.disks import Disks
from studio.core.masking import Mask
from studio.core.rules import events as e
from studio.core.rules import media
from studio.core.rules.errors import Invalid
from studio.core.rules.files import Part
from studio.core.store import artifacts, environments
from studio.core.work.environments import folders
from tests.core.conftest import BOB, Core
from tests.core.environment_studio import Studio, results, shell, working


@pytest.fixture
async def studio(core: Core, tmp_path: Path) -> AsyncIterator[Studio]:
    async with working(core, tmp_path) as found:
        yield found


async def saved(core: Core, session_id: str) -> list[e.ArtifactSaved]:
    return [f.event for f in await core.facts(session_id) if isinstance(f.event, e.ArtifactSaved)]


def disks(studio: Studio) -> Disks:
    assert studio.worker_ is not None
    assert studio.worker_.places is not None
    return studio.worker_.places.disks


def paths(store: Disks, digest: str, folder: str = "") -> list[str]:
    """Every path in a tree, folders with a slash."""
    found = []
    for one in store.folder(digest, folder).entries:
        found.append(one.path + ("/" if one.type == "folder" else ""))
        if one.type == "folder":
            found += paths(store, digest, one.path)
    return found


def save(name: str, folder: str) -> str:
    return f"call save_artifact {json.dumps({'name': name, 'folder': folder})}"


async def test_a_folder_is_kept_whole_and_read_by_the_agent(studio: Studio) -> None:
    id = await studio.make()
    build = (
        "mkdir -p site/css; echo hi > site/index.html; echo a > site/css/a.css; chmod 755 site/*"
    )
    session_id = await studio.say(
        id, "\n".join([shell(build), "then", save("the site", "/work/site")])
    )

    (one,) = await saved(studio.core, session_id)
    _, told = await results(studio.core, session_id)
    assert told == {"saved": "the site", "files": 2, "bytes": 5}
    assert (one.name, one.media, one.files, one.source) == ("the site", media.FOLDER, 2, "agent")
    assert paths(disks(studio), one.hash) == ["css/", "css/a.css", "index.html"]
    assert disks(studio).entry(one.hash, "index.html").mode == 0o755
    reads = [{"id": one.artifact_id}, {"id": one.artifact_id, "path": "css/a.css"},
             {"id": one.artifact_id, "path": "no"}]  # fmt: skip
    asked = "\nthen\n".join(f"call read_artifact {json.dumps(a)}" for a in reads)
    await studio.core.runtime.send_message(BOB, session_id, asked)
    await studio.core.until(session_id, lambda s: s.turns == 2 and s.turn and s.turn.is_over)
    *_, listed, text, missing = await results(studio.core, session_id)
    assert listed.endswith("2 names]\ncss/\nindex.html (3 bytes)")
    assert text.endswith("bytes 0 to 2 of 2; this is its end]\na\n")
    assert missing.endswith("has nothing at no.")


@pytest.mark.parametrize("folder", ["..", "/etc", "a/../..", "link", "file", "none", "link/x"])
async def test_a_folder_out_of_reach_is_not_kept(studio: Studio, folder: str) -> None:
    id = await studio.make()
    build = "ln -s /etc link; echo x > file"
    session_id = await studio.say(id, "\n".join([shell(build), "then", save("x", folder)]))

    assert await saved(studio.core, session_id) == []
    _, refused = await results(studio.core, session_id)
    assert "leads out of the disk" in refused or "There is no folder" in refused


async def test_what_did_not_change_makes_no_version_and_what_did_makes_one(studio: Studio) -> None:
    id = await studio.make()
    steps = [
        shell("mkdir site; echo 1 > site/a; echo 2 > site/b"), save("site", "site"),
        shell("touch -d 2001-01-01 site/a"), save("site", "site"),
        shell("echo 3 > site/a"), save("site", "site"),
        'call save_artifact {"name": "site", "text": "a file of that name"}',
    ]  # fmt: skip
    session_id = await studio.say(id, "\nthen\n".join(steps))

    found = await saved(studio.core, session_id)
    assert [(one.version, one.files, one.media) for one in found] == [
        (1, 2, media.FOLDER), (2, 2, media.FOLDER), (1, 0, "text/plain"),
    ]  # fmt: skip
    assert found[0].artifact_id == found[1].artifact_id != found[2].artifact_id


async def test_links_are_kept_as_links_and_odd_names_as_they_are(studio: Studio) -> None:
    id = await studio.make()
    build = (
        "mkdir -p out/deep; ln -s /etc/passwd out/out; ln -s deep out/in; mkfifo out/pipe; "
        "python3 -c \"open(b'out/\\xff.bin','w').write('x')\""
    )
    session_id = await studio.say(id, "\nthen\n".join([shell(build), save("odd", "out")]))

    (one,) = await saved(studio.core, session_id)
    store = disks(studio)
    assert paths(store, one.hash) == ["deep/", "in", "out", "\udcff.bin"]
    assert (store.entry(one.hash, "out").type, store.entry(one.hash, "out").target) == (
        "link", "/etc/passwd",
    )  # fmt: skip
    assert one.skipped == ("pipe (fifo)",)
    _, told = await results(studio.core, session_id)
    assert told["left_out"] == ["pipe (fifo)"]


async def test_a_folder_over_its_limit_is_refused_in_words(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = await studio.make()
    assert studio.worker_ is not None
    assert studio.worker_.places is not None
    limits = studio.worker_.places.limits
    monkeypatch.setattr(
        studio.worker_.places, "limits", type(limits)(folder_names=3, folder_bytes=100)
    )
    build = "mkdir many large; touch many/1 many/2 many/3 many/4; head -c 101 /dev/zero > large/x"
    session_id = await studio.say(
        id, "\nthen\n".join([shell(build), save("x", "many"), save("x", "large")])
    )

    assert await saved(studio.core, session_id) == []
    _, many, large = await results(studio.core, session_id)
    assert "more than 3 files and folders" in many
    assert "more than 100 bytes" in large


async def test_folders_and_files_of_outputs_are_kept_at_a_turn_s_end(studio: Studio) -> None:
    id = await studio.make()
    build = (
        "mkdir -p outputs/site/css outputs/none; cd outputs; echo 1 > top.txt; echo a > site/css/a"
    )
    session_id = await studio.core.start(shell(build), environment=id)
    await studio.saved(session_id, 2)
    await studio.core.runtime.send_message(BOB, session_id, shell("touch outputs/site/css/a"))
    await studio.core.until(session_id, lambda s: s.turns == 2 and s.turn and s.turn.is_over)
    await studio.core.runtime.send_message(BOB, session_id, shell("echo b > outputs/site/b"))
    await studio.core.until(session_id, lambda s: s.turns == 3 and s.turn and s.turn.is_over)
    await studio.saved(session_id, 3)

    found = await saved(studio.core, session_id)
    assert [(one.name, one.version, one.files) for one in found] == [
        ("top.txt", 1, 0), ("site", 1, 1), ("site", 2, 2),
    ]  # fmt: skip


async def test_no_secret_stands_in_a_folder_that_is_kept(studio: Studio) -> None:
    id = await studio.make()
    assert studio.worker_ is not None
    assert studio.worker_.places is not None
    place = await studio.worker_.places.open(id)
    mask = studio.worker_.places.opening.values.mask
    mask.put([("TOKEN", "fake-token-0123456789")])
    folder = studio.disk(id)
    (folder / "a").mkdir(parents=True)
    (folder / "a/small").write_text("key=fake-token-0123456789\n")
    (folder / "a/plain").write_text("nothing\n")
    with (folder / "a/large").open("wb") as file:
        file.write(b"x" * (1024**2 - 5) + b"fake-token-0123456789" + os.urandom(4 * 1024**2))

    found = await folders.take(studio.worker_.places, place, "a", before=None)

    store = disks(studio)
    whole = {
        name: b"".join(store.pieces(store.entry(found.hash, name).hash))
        for name in ("small", "plain", "large")
    }
    assert whole["small"] == b"key=[masked: TOKEN]\n"
    assert whole["plain"] == b"nothing\n"
    assert b"fake-token" not in whole["large"]
    assert whole["large"][1024**2 - 5 :].startswith(b"[masked: TOKEN]")


async def test_what_artifacts_hold_is_not_collected(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(
        id, "\nthen\n".join([shell("mkdir a; echo 1 > a/b"), save("a", "a")])
    )
    (one,) = await saved(studio.core, session_id)
    store = disks(studio)

    def named(conn: Any) -> tuple[str, ...]:
        return (*environments.digests(conn), *artifacts.digests(conn))

    await asyncio.to_thread(store.collect, await studio.core.parts.db.read(named), grace=0.0)

    assert store.check(one.hash) == 2


async def test_who_fails_before_the_fact_leaves_no_half_version(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(
        id, "\nthen\n".join([shell("mkdir a; echo 1 > a/b"), save("a", "a")])
    )
    (first,) = await saved(studio.core, session_id)
    faults.arm("artifact.after_kept", "raise")
    try:
        await studio.core.runtime.send_message(
            BOB, session_id, "\nthen\n".join([shell("echo 2 > a/b"), save("a", "a")])
        )
        await studio.core.until(session_id, lambda s: s.turns == 2 and s.turn and s.turn.is_over)
    finally:
        faults.disarm()

    assert await saved(studio.core, session_id) == [first]
    assert disks(studio).check(first.hash) == 2


async def test_a_folder_is_put_on_a_new_disk_by_its_manifest(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(
        id, "\nthen\n".join([shell("mkdir -p a/c; echo 1 > a/b; echo 2 > a/c/d"), save("a", "a")])
    )
    (one,) = await saved(studio.core, session_id)
    files = [{"path": "given", "artifact": one.artifact_id, "version": 1}]

    other = await studio.make("other", files=files)
    await studio.say(other, shell("true"))

    assert (studio.disk(other) / "given/b").read_text() == "1\n"
    assert (studio.disk(other) / "given/c/d").read_text() == "2\n"


async def test_without_an_environment_there_is_no_folder_to_keep(studio: Studio) -> None:
    session_id = await studio.core.start(save("x", "x"))
    await studio.core.over(session_id)

    (refused,) = await results(studio.core, session_id)
    assert refused == "This session has no environment, so there is no folder to keep."


async def test_a_folder_goes_with_no_message(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(
        id, "\nthen\n".join([shell("mkdir a; echo 1 > a/b"), save("a", "a")])
    )
    (one,) = await saved(studio.core, session_id)

    with pytest.raises(Invalid) as refused:
        await studio.core.runtime.send_message(
            BOB, session_id, "look", files=[Part(artifact_id=one.artifact_id)]
        )

    assert "It is a folder" in refused.value.message


@pytest.mark.parametrize("size", [1, 7, 64, 1_000, 50_000])
def test_secrets_are_found_however_a_file_is_cut(size: int) -> None:
    mask = Mask([("TOKEN", "fake-token-0123456789"), ("KEY", "another+fake/key==")])
    data = (b"x" * 997 + b"fake-token-0123456789" + b"y" * 101 + b"another+fake/key==") * 40
    pieces = [data[at : at + size] for at in range(0, len(data), size)]

    assert b"".join(folders.without(mask, pieces)) == mask.data(data)
