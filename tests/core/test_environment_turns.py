"""Turns in an environment: commands, files, what is kept of a disk, limits."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.tools.disk import specs
from studio.core.work.environments import setup
from tests.core.conftest import AGENT, ALICE, BOB, CHARLIE, Core
from tests.core.environment_studio import Studio, results, shell, working


@pytest.fixture
async def studio(core: Core, tmp_path: Path) -> AsyncIterator[Studio]:
    async with working(core, tmp_path) as found:
        yield found


async def test_a_command_runs_on_the_disk_that_setup_made(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("cat made.txt; pwd"))

    (result,) = await results(studio.core, session_id)
    assert result["exit"] == 0
    assert result["output"] == "made\n/work\n"
    types = [fact.TYPE for fact in await studio.facts(id)]
    assert types[:5] == [
        "environment.made", "setup.started", "environment.started", "disk.kept", "setup.finished",
    ]  # fmt: skip
    session = await studio.core.over(session_id)
    (begun, ended) = [f for f in await studio.facts(id) if f.TYPE.startswith("setup.")]
    assert session.turn is not None
    assert begun.turn_id == ended.turn_id == session.turn.id  # type: ignore[attr-defined]
    assert all(run.began is not None for run in ended.runs)  # type: ignore[attr-defined]


async def test_a_turn_that_changed_the_disk_keeps_a_version_and_another_none(
    studio: Studio,
) -> None:
    id = await studio.make()
    first = await studio.say(id, shell("echo one > one.txt"))
    await studio.kept_by(id, first)
    await studio.say(id, shell("cat one.txt"))
    third = await studio.say(id, shell("rm one.txt"))
    last = await studio.kept_by(id, third)

    kept = await studio.kept(id)
    assert [(one.version, one.reason) for one in kept] == [(1, "setup"), (2, "turn"), (3, "turn")]
    assert kept[0].digest == kept[2].digest == last.digest


async def test_setup_runs_once_and_again_when_it_failed(studio: Studio) -> None:
    id = await studio.make(setup=[{"run": "echo so far"}, {"run": "test -e /tmp/x || exit 3"}])
    session_id = await studio.core.start(shell("true"), environment=id)
    session = await studio.core.over(session_id)

    assert session.turn is not None
    assert session.turn.code == "environment.unusable"
    (ended,) = [f for f in await studio.facts(id) if isinstance(f, e.SetupFinished)]
    assert (ended.ok, ended.failed) == (False, 2)
    assert [run.exit for run in ended.runs] == [0, 3]
    (failed,) = [
        fact.event for fact in await studio.core.facts(session_id)
        if isinstance(fact.event, e.TurnFailed)
    ]  # fmt: skip
    assert "command 2 (test -e /tmp/x || exit 3) failed" in failed.message
    await studio.core.start(shell("true"), environment=id)
    async with asyncio.timeout(20):
        while [f.TYPE for f in await studio.facts(id)].count("setup.finished") < 2:
            await asyncio.sleep(0.02)


async def test_files_are_written_only_by_who_read_them(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(
        id,
        "\n".join([
            'call write {"path": "made.txt", "text": "mine"}', "then",
            'call read {"path": "made.txt"}', "then",
            'call edit {"path": "made.txt", "old": "made", "new": "mended"}', "then",
            'call write {"path": "new/one.txt", "text": "fresh\\n"}', "then",
            'call grep {"pattern": "m.nd"}', "then",
            'call glob {"pattern": "**/*.txt"}',
        ]),
    )  # fmt: skip

    refused, read, edited, written, found, listed = await results(studio.core, session_id)
    assert "Read it first" in refused
    assert read == "[made.txt · lines 1 to 1 of 1]\nmade\n"
    assert edited == {"path": "made.txt", "bytes": 7}
    assert written == {"path": "new/one.txt", "bytes": 6, "new": True}
    assert found == {"matches": ["made.txt:1: mended"]}
    assert listed == {"paths": ["made.txt", "new/one.txt"]}


async def test_what_others_changed_meanwhile_is_not_overwritten(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(
        id,
        "\n".join([
            'call read {"path": "made.txt"}', "then",
            shell("echo other > made.txt"), "then",
            'call write {"path": "made.txt", "text": "mine"}',
        ]),
    )  # fmt: skip

    *_, refused = await results(studio.core, session_id)
    assert "changed" in refused
    assert (studio.disk(id) / "made.txt").read_text() == "other\n"


async def test_long_output_is_an_artifact_and_its_end_is_shown(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("seq 10000"))

    (result,) = await results(studio.core, session_id)
    assert result["output"].startswith("[9,800 lines before this, whole in output.txt]\n9801\n")
    (saved,) = [
        fact.event for fact in await studio.core.facts(session_id)
        if isinstance(fact.event, e.ArtifactSaved)
    ]  # fmt: skip
    assert (saved.name, saved.size) == (
        "output.txt",
        len("".join(f"{n}\n" for n in range(1, 10001))),
    )


async def test_a_command_that_takes_too_long_is_ended_and_its_output_told(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.say(id, shell("echo begun; sleep 600", seconds=0.3))

    (failed,) = [
        fact.event for fact in await studio.core.facts(session_id)
        if isinstance(fact.event, e.CallFailed)
    ]  # fmt: skip
    assert failed.code == "command.timeout"
    assert failed.result is not None
    assert failed.result.value["output"] == "begun\n"


async def test_sessions_work_side_by_side_on_one_disk(studio: Studio) -> None:
    id = await studio.make()
    await studio.say(id, shell("mkfifo pipe"))
    one = await studio.core.start(shell("cat pipe", seconds=15), environment=id)
    two = await studio.core.start(shell("echo met > pipe", seconds=15), environment=id)
    await studio.core.over(one)
    await studio.core.over(two)

    (met,) = await results(studio.core, one)
    assert met["output"] == "met\n"


async def test_a_turn_s_end_waits_for_no_command_of_another_session(studio: Studio) -> None:
    id = await studio.make()
    await studio.say(id, shell("mkfifo pipe"))
    long = await studio.core.start(shell("echo x > moving; cat pipe", seconds=60), environment=id)
    async with asyncio.timeout(20):
        while not (studio.disk(id) / "moving").exists():
            await asyncio.sleep(0.02)
    short = await studio.core.start(shell("echo done > done.txt"), environment=id)

    kept = await studio.kept_by(id, short)
    third = await studio.core.start(shell("echo now > pipe"), environment=id)
    await studio.core.over(third)
    await studio.core.over(long)

    assert kept.reason == "turn"
    (met,) = await results(studio.core, long)
    assert met["output"] == "now\n"


async def test_what_lies_in_outputs_becomes_artifacts_in_versions(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.core.start(
        shell("mkdir -p outputs/a outputs/b; echo 1 > outputs/a/x.csv; echo 2 > outputs/b/x.csv"),
        environment=id,
    )
    await studio.saved(session_id, 2)
    await studio.core.runtime.send_message(BOB, session_id, shell("echo 3 > outputs/a/x.csv"))
    await studio.core.until(session_id, lambda s: s.turns == 2 and s.turn and s.turn.is_over)
    await studio.saved(session_id, 3)

    saved = [
        (fact.event.name, fact.event.version) for fact in await studio.core.facts(session_id)
        if isinstance(fact.event, e.ArtifactSaved)
    ]  # fmt: skip
    assert saved == [("a", 1), ("b", 1), ("a", 2)]


async def test_the_total_time_of_a_turn_ends_a_setup(studio: Studio) -> None:
    id = await studio.make(setup=[{"run": "touch began; sleep 60", "timeout": 100}])
    agent = {**AGENT, "name": "brief", "limits": {"total_seconds": 3}}
    await studio.core.runtime.save_agent(ALICE, agent)
    started = await studio.core.runtime.start_session(
        BOB, agent="brief", message=shell("true"), environment=id
    )
    session = await studio.core.over(started.session_id)

    assert session.turn is not None
    assert session.turn.status == "failed"
    assert "limit.reached" in await studio.core.types(started.session_id)
    async with asyncio.timeout(20), studio.core.parts.feed.subscribe() as growth:
        while (await studio.find(id)).setup != "failed":
            await growth.get()
    (ended,) = [f for f in await studio.facts(id) if isinstance(f, e.SetupFinished)]
    assert (ended.ok, ended.problem) == (False, setup.CUT_SHORT)


async def test_waiting_for_a_disk_is_no_time_of_the_call(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(specs, "MARGIN_SECONDS", 0.0)
    monkeypatch.setattr(specs, "LONGEST_COMMAND_SECONDS", 0.5)
    id = await studio.make()
    await studio.say(id, shell("true"))
    assert studio.worker_ is not None
    assert studio.worker_.places is not None
    async with studio.worker_.places.locks.alone(id, within=None):
        session_id = await studio.core.start(shell("echo ran"), environment=id)
        async with asyncio.timeout(20), studio.core.parts.feed.subscribe() as growth:
            while "call.started" not in await studio.core.types(session_id):
                await growth.get()
        with pytest.raises(TimeoutError):  # it waits, for longer than a call may take
            async with asyncio.timeout(2.0):
                await studio.core.over(session_id)
    await studio.core.over(session_id)

    (result,) = await results(studio.core, session_id)
    assert result["output"] == "ran\n"


async def test_odd_files_in_outputs_keep_nothing_else_from_being_kept(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.core.start(
        shell("mkdir outputs; cd outputs; ln -s /etc/passwd out; mkfifo pipe; echo x > x.txt"),
        environment=id,
    )

    await studio.kept_by(id, session_id)
    await studio.saved(session_id, 1)
    saved = [
        fact.event.name for fact in await studio.core.facts(session_id)
        if isinstance(fact.event, e.ArtifactSaved)
    ]  # fmt: skip
    assert saved == ["x.txt"]


async def test_a_turn_that_was_denied_into_the_next_one_keeps_its_own_version(
    studio: Studio,
) -> None:
    id = await studio.make()
    await studio.say(id, shell("true"))
    rules = [
        {"effect": "ask", "tool": "shell", "when": [
            {"field": "command", "op": "equals", "value": "rm made.txt"}]},
        {"effect": "allow"},
    ]  # fmt: skip
    await studio.core.runtime.save_policy(ALICE, rules, expect=None)
    text = "\n".join([shell("echo one > one.txt"), "then", shell("rm made.txt")])
    session_id = await studio.core.start(text, environment=id)
    session = await studio.core.held(session_id)
    assert session.turn is not None
    first = session.turn.id

    await studio.core.runtime.deny_and_send(
        BOB, session_id, shell("echo two > two.txt"), reason="no"
    )
    await studio.kept_by(id, session_id, turns=2)

    turns = [one.turn.turn_id for one in await studio.kept(id) if one.turn is not None]
    assert turns[0] == first
    assert len(set(turns)) == 2


async def test_a_private_session_has_no_name_in_what_others_read(studio: Studio) -> None:
    id = await studio.make()
    session_id = await studio.core.start(
        shell("echo x > x.txt"), person=BOB, private=True, environment=id
    )
    await studio.kept_by(id, session_id)
    reader = studio.core.parts.reader

    async def told(person: Person) -> str:
        events = await reader.environment_events(person, id)
        versions = await reader.disk_versions(person, id)
        return f"{[one.payload for one in events]} {versions.items}"

    assert session_id in await told(BOB)
    assert session_id in await told(ALICE)
    assert session_id not in await told(CHARLIE)
