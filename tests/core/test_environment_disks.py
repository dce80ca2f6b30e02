"""What people ask of the disk of an environment: restore, reset, start, import, fork, delete."""

import asyncio
import io
import shutil
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.core.disks.removing import remove
from studio.core.rules import events as e
from studio.core.rules.errors import Refused
from studio.core.store import environments
from studio.core.work.environments.sweeping import Sweeping
from tests.core.conftest import ALICE, BOB, Core
from tests.core.environment_studio import Studio, results, shell, working


@pytest.fixture
async def studio(core: Core, tmp_path: Path) -> AsyncIterator[Studio]:
    async with working(core, tmp_path) as found:
        yield found


async def test_a_disk_is_restored_and_what_was_there_is_kept(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("echo two > two.txt"))
    await studio.kept_by(id, session_id)
    (studio.disk(id) / "three.txt").write_text("by hand")

    done = await studio.done(await studio.core.runtime.restore_disk(BOB, id, 1))

    assert (done.state, done.version) == ("done", 4)
    assert sorted(path.name for path in studio.disk(id).iterdir()) == ["made.txt"]
    kept = await studio.kept(id)
    assert [one.reason for one in kept] == ["setup", "turn", "hand", "restore"]
    assert kept[3].digest == kept[0].digest
    again = await studio.done(await studio.core.runtime.restore_disk(BOB, id, 3))
    assert again.state == "done"
    assert (studio.disk(id) / "three.txt").read_text() == "by hand"


async def test_a_held_turn_keeps_others_from_changing_the_disk_by_name(studio: Studio) -> None:
    id = await studio.make()
    await studio.say(id, shell("true"))
    await studio.core.runtime.save_policy(ALICE, [{"effect": "ask", "tool": "shell"}], expect=None)
    session_id = await studio.core.start(shell("rm made.txt"), environment=id)
    session = await studio.core.held(session_id)

    with pytest.raises(Refused) as refused:
        await studio.core.runtime.restore_disk(BOB, id, 1)

    assert session.turn is not None
    assert refused.value.code == "environment_busy"
    assert refused.value.details["session_id"] == session_id
    assert refused.value.details["turn_id"] == session.turn.id
    kept = await studio.done(await studio.core.runtime.keep_disk(BOB, id, note="before rm"))
    assert kept.state == "done"


async def test_reset_empties_the_disk_and_the_next_turn_sets_it_up(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("echo gone > gone.txt"))
    await studio.kept_by(id, session_id)

    assert (await studio.done(await studio.core.runtime.reset_environment(BOB, id))).state == "done"
    assert list(studio.disk(id).iterdir()) == []
    session_id = await studio.say(id, shell("ls"))

    (result,) = await results(studio.core, session_id)
    assert result["output"] == "made.txt\n"


async def test_what_is_started_is_set_up_before_a_turn_and_once(studio: Studio) -> None:
    id, runtime = await studio.make(), studio.core.runtime

    assert (await studio.done(await runtime.start_environment(BOB, id))).state == "done"
    found = await studio.find(id)
    assert (found.state, found.setup, found.version) == ("running", "ok", 1)
    facts = [fact.TYPE for fact in await studio.facts(id)]
    assert (await studio.done(await runtime.start_environment(BOB, id))).state == "done"
    again = [fact.TYPE for fact in await studio.facts(id)]
    assert again == [*facts, "operation.asked", "operation.started", "operation.ended"]
    session_id = await studio.say(id, shell("cat made.txt"))

    assert (await results(studio.core, session_id))[0]["output"] == "made\n"
    assert [type(fact) for fact in await studio.facts(id)].count(e.SetupFinished) == 1
    assert (await studio.done(await runtime.stop_environment(BOB, id))).state == "done"
    assert (await studio.done(await runtime.start_environment(BOB, id))).state == "done"
    assert (await studio.find(id)).state == "running"


async def test_a_start_whose_setup_fails_says_so_and_may_be_asked_again(studio: Studio) -> None:
    id = await studio.make(setup=[{"run": "echo no such thing; exit 3"}])

    for _ in range(2):
        failed = await studio.done(await studio.core.runtime.start_environment(BOB, id))

        assert (failed.state, failed.code) == ("failed", "setup.failed")
        assert "command 1 (echo no such thing; exit 3) failed" in failed.message
        assert "The end of its output: no such thing" in failed.message


async def test_a_start_asked_twice_is_one_wish_and_busy_is_refused(studio: Studio) -> None:
    id, runtime = await studio.make(), studio.core.runtime
    assert studio.worker_ is not None
    assert studio.worker_.places is not None
    async with studio.worker_.places.locks.working(id):  # so that the setup waits
        first = await runtime.start_environment(BOB, id)
        assert await runtime.start_environment(BOB, id) == first
        with pytest.raises(Refused) as refused:
            await runtime.reset_environment(BOB, id)
        assert refused.value.details == {"operation": "start"}
    assert (await studio.done(first)).state == "done"
    await runtime.save_policy(ALICE, [{"effect": "ask", "tool": "shell"}], expect=None)
    session_id = await studio.core.start(shell("true"), environment=id)
    session = await studio.core.held(session_id)

    with pytest.raises(Refused) as refused:
        await runtime.start_environment(BOB, id)

    assert session.turn is not None
    assert refused.value.code == "environment_busy"
    assert refused.value.details["session_id"] == session_id
    assert refused.value.details["turn_id"] == session.turn.id


async def test_an_archive_takes_the_place_of_the_disk(studio: Studio, tmp_path: Path) -> None:
    id = await studio.make()
    await studio.say(id, shell("true"))
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        info = tarfile.TarInfo("brought/here.txt")
        info.size = 5
        tar.addfile(info, io.BytesIO(b"hello"))

    async def chunks() -> AsyncIterator[bytes]:
        yield data.getvalue()

    done = await studio.done(
        await studio.core.runtime.import_disk(BOB, id, name="b.tar.gz", chunks=chunks())
    )

    assert done.state == "done", done.message
    assert (studio.disk(id) / "brought/here.txt").read_text() == "hello"
    assert not (studio.disk(id) / "made.txt").exists()
    assert (await studio.kept(id))[-1].reason == "import"


async def test_nothing_is_imported_that_the_disk_may_not_hold(studio: Studio) -> None:
    id = await studio.make(limits={"disk_mib": 16})
    await studio.say(id, shell("true"))
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        info = tarfile.TarInfo("large")
        info.size = 17 * 1024**2
        tar.addfile(info, io.BytesIO(bytes(info.size)))

    async def chunks() -> AsyncIterator[bytes]:
        yield data.getvalue()

    done = await studio.done(
        await studio.core.runtime.import_disk(BOB, id, name="b.tar.gz", chunks=chunks())
    )

    assert (done.state, done.code) == ("failed", "disk.too_large")
    assert "disk_mib" in done.message
    assert [path.name for path in studio.disk(id).iterdir()] == ["made.txt"]


async def test_a_fork_begins_with_a_version_and_runs_no_setup(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("echo two > two.txt"))
    await studio.kept_by(id, session_id)
    plan = await studio.core.runtime.fork_environment(BOB, id, "lab/fork", version=2)
    assert plan.id is not None
    session_id = await studio.say(plan.id, shell("cat two.txt; echo more > more.txt"))

    (result,) = await results(studio.core, session_id)
    assert result["output"] == "two\n"
    (ended,) = [f for f in await studio.facts(plan.id) if isinstance(f, e.SetupFinished)]
    assert ended.runs == ()
    assert not (studio.disk(id) / "more.txt").exists()


async def test_a_disk_that_is_gone_is_as_its_newest_version_again(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("echo kept > kept.txt"))
    await studio.kept_by(id, session_id)
    shutil.rmtree(studio.disk(id))

    session_id = await studio.say(id, shell("cat kept.txt"))

    (result,) = await results(studio.core, session_id)
    assert result["output"] == "kept\n"
    assert "disk.restored" in [fact.TYPE for fact in await studio.facts(id)]


async def test_the_disk_of_a_deleted_environment_is_removed(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("true"))
    await studio.core.runtime.delete_environment(ALICE, id)
    assert studio.worker_ is not None
    assert studio.worker_.places is not None

    async with asyncio.timeout(10):
        while studio.disk(id).parent.exists():  # perhaps the turn's end is not through yet
            await Sweeping(studio.worker_.places).round()
    with pytest.raises(Refused) as refused:
        await studio.core.runtime.send_message(BOB, session_id, "say still there")
    assert refused.value.code == "environment.deleted"


async def test_a_lock_that_a_death_left_of_a_deleted_environment_is_removed(
    studio: Studio,
) -> None:
    gone, used, alive = await studio.make(), await studio.make("used"), await studio.make("alive")
    assert studio.worker_ is not None
    assert studio.worker_.places is not None
    places, locks = studio.worker_.places, studio.worker_.places.folder / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    for id in (gone, used, alive):
        (locks / f"{id}.lock").touch()
        await asyncio.to_thread(remove, places.folder / id)
    for id in (gone, used):
        await studio.core.runtime.delete_environment(ALICE, id)

    async with places.locks.alone(used, within=0):
        await Sweeping(places).round()
        left = {path.stem for path in locks.iterdir()}
    await Sweeping(places).round()

    assert left == {used, alive}
    assert {path.stem for path in locks.iterdir()} == {alive}


async def test_what_is_long_unused_is_deleted(studio: Studio) -> None:
    id = await studio.make(delete_after=60)
    used = await studio.make("used", delete_after=3600)
    assert studio.worker_ is not None
    assert studio.worker_.places is not None
    sweeping = Sweeping(studio.worker_.places)

    await sweeping.round()
    assert (await studio.find(id)).deleted is None
    studio.core.clock.pass_time(61_000)
    await sweeping.round()

    assert (await studio.find(id)).deleted is not None
    assert (await studio.find(used)).deleted is None


async def test_bytes_of_removed_versions_are_collected(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("head -c 3000000 /dev/urandom > large"))
    await studio.kept_by(id, session_id)
    session_id = await studio.say(id, shell("rm large"))
    await studio.kept_by(id, session_id)
    assert studio.worker_ is not None
    assert studio.worker_.places is not None
    packs = studio.folder / "versions" / "packs"
    before = sum(path.stat().st_size for path in packs.iterdir())

    await studio.core.runtime.remove_disk_version(ALICE, id, 2)
    await asyncio.to_thread(
        studio.worker_.places.disks.collect,
        await studio.core.parts.db.read(environments.digests), grace=0.0,
    )  # fmt: skip

    after = sum(path.stat().st_size for path in packs.iterdir())
    assert before - after > 2_900_000
    assert (await studio.done(await studio.core.runtime.restore_disk(BOB, id, 1))).state == "done"


async def test_a_message_is_refused_while_a_disk_is_put_back(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("true"))
    assert studio.worker_ is not None
    assert studio.worker_.places is not None
    async with studio.worker_.places.locks.working(id):  # so that the operation waits
        operation_id = await studio.core.runtime.restore_disk(BOB, id, 1)
        with pytest.raises(Refused) as refused:
            await studio.core.runtime.send_message(BOB, session_id, shell("true"))
        assert refused.value.code == "environment_busy"
        assert refused.value.details == {"operation": "restore"}

    assert (await studio.done(operation_id)).state == "done"
    await studio.core.runtime.send_message(BOB, session_id, shell("true"))


async def test_what_was_restored_after_a_reset_is_not_set_up_again(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("echo kept > kept.txt"))
    await studio.kept_by(id, session_id)
    await studio.done(await studio.core.runtime.reset_environment(BOB, id))
    await studio.done(await studio.core.runtime.restore_disk(BOB, id, 2))

    session_id = await studio.say(id, shell("cat kept.txt"))

    (result,) = await results(studio.core, session_id)
    assert result["output"] == "kept\n"


async def test_nothing_is_imported_before_there_is_a_disk(studio: Studio) -> None:
    id = await studio.make()

    async def chunks() -> AsyncIterator[bytes]:
        yield b"x"

    with pytest.raises(Refused) as refused:
        await studio.core.runtime.import_disk(BOB, id, name="a.tar", chunks=chunks())

    assert refused.value.code == "disk.not_made"
