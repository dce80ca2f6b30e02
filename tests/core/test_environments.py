"""Environments at work: a session's commands, its disk's versions, what people ask of disks."""

import asyncio
import dataclasses
import http.server
import io
import json
import shutil
import tarfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from studio.core.disks.disks import Disks
from studio.core.disks.removing import remove
from studio.core.network.resolver import Rules, Unresolved
from studio.core.providers.shelf import Shelf
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments.environment import Environment
from studio.core.rules.errors import Refused
from studio.core.sandboxes.opening import Opener
from studio.core.store import environments, operations
from studio.core.store import facts as journals
from studio.core.store.operations import Operation
from studio.core.tools.disk import specs
from studio.core.tools.values import Values
from studio.core.work.environments import setup, tries
from studio.core.work.environments.opens import Opens
from studio.core.work.environments.places import Places
from studio.core.work.environments.sweeping import Sweeping
from studio.core.work.opening import Opening
from studio.core.worker import Worker
from tests.core.conftest import AGENT, ALICE, BOB, CHARLIE, Core
from tests.fakes import tool

DEFINITION = {"kind": "sandbox", "setup": [{"run": "echo made > made.txt"}]}


@dataclass
class Studio:
    """A core whose worker has environments."""

    core: Core
    folder: Path
    worker_: Worker | None = None
    names: dict[str, str] = field(default_factory=dict)
    allow: set[str] = field(default_factory=set)

    def rules(self) -> Rules:
        """Names are known by the test; what it allows may be reached though it is this machine."""

        async def lookup(host: str, port: int) -> list[str]:
            if host not in self.names:
                raise Unresolved(f"The name {host} could not be resolved.")
            return [self.names[host]]

        return Rules(allow=self.allow, lookup=lookup)  # type: ignore[arg-type]

    async def tried(self, id: str, count: int) -> list[e.EgressTried]:
        """The tries that were recorded, once there are so many."""
        async with asyncio.timeout(20), self.core.parts.feed.subscribe() as growth:
            while True:
                found = [f for f in await self.facts(id) if isinstance(f, e.EgressTried)]
                if len(found) >= count:
                    return found
                await growth.get()

    def worker(self) -> Worker:
        parts = self.core.parts
        opening = Opening(
            db=parts.db, feed=parts.feed, clock=self.core.clock, values=Values({}),
            seals=parts.seals,
        )  # fmt: skip
        places = Places(
            db=parts.db, journal=parts.journal, clock=self.core.clock, opening=opening,
            folder=self.folder / "environments", disks=Disks(self.folder / "versions"),
            opens=Opens(Opener(self.rules(), self.core.clock.now), opening.values), worker="one",
        )  # fmt: skip
        return Worker(
            db=parts.db, journal=parts.journal, feed=parts.feed, shelf=Shelf({}),
            catalog=self.core.catalog, clock=self.core.clock, name="one", opening=opening,
            places=places,
        )  # fmt: skip

    async def make(self, name: str = "lab", **more: Any) -> str:
        made = await self.core.runtime.make_environment(
            ALICE, name, definition={**DEFINITION, **more}
        )
        return str(made.id)

    async def find(self, id: str) -> Environment:
        found = await self.core.parts.db.read(lambda conn: environments.get(conn, id))
        assert found is not None
        return found

    async def facts(self, id: str) -> list[e.Event]:
        found = await self.core.parts.db.read(
            lambda conn: journals.facts(conn, id, after=0, limit=1_000)
        )
        return [fact.event for fact in found]

    async def kept(self, id: str) -> list[e.DiskKept]:
        return [f for f in await self.facts(id) if isinstance(f, e.DiskKept)]

    async def done(self, operation_id: str) -> Operation:
        """The operation once it has ended."""
        async with asyncio.timeout(20), self.core.parts.feed.subscribe() as growth:
            while True:
                found = await self.core.parts.db.read(
                    lambda conn: operations.get(conn, operation_id)
                )
                if found is not None and found.ended is not None:
                    return found
                await growth.get()

    async def kept_by(self, id: str, session_id: str, turns: int = 1) -> e.DiskKept:
        """The version that a turn of the session kept, once it has."""
        async with asyncio.timeout(20), self.core.parts.feed.subscribe() as growth:
            while True:
                found = [
                    one for one in await self.kept(id)
                    if one.turn is not None and one.turn.session_id == session_id
                ]  # fmt: skip
                if len(found) >= turns:
                    return found[-1]
                await growth.get()

    async def saved(self, session_id: str, count: int) -> None:
        """Wait until so many artifacts of the session are saved."""
        async with asyncio.timeout(20), self.core.parts.feed.subscribe() as growth:
            while (await self.core.types(session_id)).count("artifact.saved") < count:
                await growth.get()

    async def say(self, id: str, message: str, **more: Any) -> str:
        """A session of the environment whose first turn is over, its disk kept."""
        session_id = await self.core.start(message, environment=id, **more)
        await self.core.over(session_id)
        return session_id

    def disk(self, id: str) -> Path:
        return self.folder / "environments" / id / "disk"


@pytest.fixture
async def studio(core: Core, tmp_path: Path) -> AsyncIterator[Studio]:
    async with working(core, tmp_path) as found:
        yield found


@asynccontextmanager
async def working(core: Core, folder: Path) -> AsyncIterator[Studio]:
    """A studio whose worker works meanwhile."""
    found = Studio(core=core, folder=folder)
    await core.runtime.save_policy(ALICE, [{"effect": "allow"}], expect=None)
    worker = found.worker_ = found.worker()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        yield found
        running.cancel()
    await worker.close()


async def results(core: Core, session_id: str) -> list[Any]:
    return [
        fact.event.result.value if isinstance(fact.event, e.CallSucceeded) else fact.event.message
        for fact in await core.facts(session_id)
        if isinstance(fact.event, e.CallSucceeded | e.CallFailed)
    ]


@contextmanager
def served(text: str) -> Iterator[int]:
    """A server of this machine that answers with a text; its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def shell(command: str, **more: Any) -> str:
    return f"call shell {json.dumps({'command': command, **more})}"


# Turns --------------------------------------------------------------------------------------------


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


# The network --------------------------------------------------------------------------------------


GET = (
    'python3 -c "import urllib.request as u; '
    "print(u.urlopen('{url}', timeout=5).read().decode())\" 2>&1 | tail -1"
)


async def test_what_is_reached_for_is_recorded_with_its_turn(studio: Studio) -> None:
    with served("hello") as port:
        studio.names["allowed.test"] = "127.0.0.1"
        studio.allow.add(f"allowed.test:{port}")
        id = await studio.make(network={"allow": [{"host": "allowed.test", "ports": [port]}]})
        session_id = await studio.say(
            id,
            "\n".join([
                shell(GET.format(url=f"http://allowed.test:{port}/path?secret=1")), "then",
                shell(GET.format(url=f"http://other.test:{port}/")), "then",
                shell(GET.format(url="http://127.0.0.1:1/")),
            ]),
        )  # fmt: skip
        tried = await studio.tried(id, 3)

    reached, refused, loopback = await results(studio.core, session_id)
    assert reached["output"] == "hello\n"
    assert "403" in refused["output"]
    assert "403" in loopback["output"]
    assert [(one.host, one.outcome) for one in tried] == [
        ("allowed.test", "allowed"), ("other.test", "refused"), ("127.0.0.1", "refused"),
    ]  # fmt: skip
    session = await studio.core.session(session_id)
    assert session.turn is not None
    assert {turn.turn_id for one in tried for turn in one.turns} == {session.turn.id}
    assert tried[0].down > len("hello")
    told = json.dumps([dataclasses.asdict(one) for one in tried])
    assert "path" not in told
    assert "secret" not in told


async def test_without_an_allow_list_nothing_is_reached(studio: Studio) -> None:
    with served("hello") as port:
        id = await studio.make()
        session_id = await studio.say(id, shell(GET.format(url=f"http://127.0.0.1:{port}/")))

    (result,) = await results(studio.core, session_id)
    assert "hello" not in result["output"]
    assert not [f for f in await studio.facts(id) if isinstance(f, e.EgressTried)]


# Secrets ------------------------------------------------------------------------------------------


async def test_a_secret_is_given_to_the_command_that_asks_for_it_and_masked(studio: Studio) -> None:
    slots = [
        {"name": "TOKEN", "type": "variable", "binding": "API_TOKEN", "required": True},
        {"name": "KEY", "type": "file", "binding": "deploy.key", "required": False},
    ]
    id = await studio.make(secrets=slots)
    await studio.core.runtime.set_environment_secret(ALICE, id, "TOKEN", "canary-1a2b3c4d")
    await studio.core.runtime.set_environment_secret(ALICE, id, "KEY", "-----KEY-5e6f7a8b-----")
    session_id = await studio.say(
        id,
        "\n".join([
            shell("echo [$API_TOKEN]"), "then",
            shell("echo [$API_TOKEN]; cat /run/secrets/deploy.key", secrets=["TOKEN", "KEY"]),
            "then",
            shell("ls /run/secrets; true"), "then",
            shell("true", secrets=["OTHER"]),
        ]),
    )  # fmt: skip

    without, given, after, unknown = await results(studio.core, session_id)
    assert without["output"] == "[]\n"
    assert "canary" not in given["output"]
    assert given["output"].startswith("[[masked: TOKEN of lab]]\n")
    assert "[masked: KEY of lab]" in given["output"]
    assert "deploy.key" not in after["output"]
    assert "no secret OTHER" in unknown


@pytest.mark.parametrize("kind", ["http", "mcp"])
async def test_a_secret_of_an_environment_is_no_secret_of_the_studio(
    studio: Studio, kind: Any
) -> None:
    """Of one name: what the environment lends marks its own as used, and nobody else's."""
    got = list[Any]()

    async def act(arguments: Any, kit: Any) -> Any:
        got.append(dict(kit.headers))

    made = tool("crm", act)
    mcp = {"lent": ("CRM",)} if kind == "mcp" else {}
    origin = dataclasses.replace(made.spec.origin, kind=kind)
    made.spec = dataclasses.replace(
        made.spec, origin=origin, destination="GET https://crm.test/api", **mcp
    )
    studio.core.offer(made)
    slots = [{"name": "CRM", "type": "bearer", "binding": "https://crm.test/api"}]
    id, runtime = await studio.make(secrets=slots), studio.core.runtime
    await runtime.set_secret(ALICE, "CRM", "the-studios-own-value")
    await runtime.set_environment_secret(ALICE, id, "CRM", "the-environments-value")

    session_id = await studio.say(id, "call crm {}")

    assert await results(studio.core, session_id) == [None]
    if kind == "http":
        assert got == [{"authorization": "Bearer the-environments-value"}]
    (slot,) = await studio.core.parts.reader.environment_secrets(ALICE, id)
    assert (slot.used_by, bool(slot.effect_id)) == ("crm", True)
    (own,) = await studio.core.parts.reader.secrets(ALICE)
    assert own.used is None


# What people ask of disks -------------------------------------------------------------------------


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


async def test_many_refused_tries_of_one_command_are_counted(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tries, "MOST_OF_A_HOST", 3)
    id = await studio.make(network={"allow": [{"host": "allowed.test"}]})
    line = "for n in 1 2 3 4 5 6 7 8; do curl -s http://other.test/; done; true"

    await studio.say(id, shell(line))

    told = await studio.tried(id, 4)
    assert [one.tries for one in told] == [1, 1, 1, 5]
    assert "5 more tries by this command" in told[3].reason
    rows = (await studio.core.parts.reader.egress(BOB, id)).items
    assert [row.host for row in rows] == ["other.test"] * 4
    assert rows[0].reason == told[3].reason


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
