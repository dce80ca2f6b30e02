"""From what an environment is to its sandbox: the right kind, its gaps, what is refused."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from studio.core.network.resolver import Rules
from studio.core.sandboxes.box import probe as probing
from studio.core.sandboxes.box.probe import Machine
from studio.core.sandboxes.containers.cli import Cli
from studio.core.sandboxes.contract import Command, SandboxError
from studio.core.sandboxes.egress.tried import Tried
from studio.core.sandboxes.opening import Opener, Spec
from tests.standins import boxed, container_cli
from tests.standins.box_service import TOKEN, service

needs_bwrap = pytest.mark.skipif(boxed.MISSING is not None, reason=str(boxed.MISSING))
Open = Callable[..., Opener]


@pytest.fixture
async def opener(tmp_path) -> AsyncIterator[Open]:
    made = list[Opener]()

    def making(*allow: str, machine: Machine | None = None) -> Opener:
        cli = Cli(str(container_cli.program(tmp_path)), "docker")
        made.append(Opener(Rules.of(allow), lambda: 0, cli=cli, free=0))
        made[-1]._machine = machine
        return made[-1]

    yield making
    for found in made:
        await found.aclose()


def spec(folder: Path, kind: str, **more) -> Spec:
    return Spec(kind=kind, identity="env_1", folder=folder / "env_1", **more)


def deaf(_: Tried) -> None:
    raise AssertionError("nothing is reached")


async def test_a_sandbox_runs_on_the_disk_in_its_folder(opener, tmp_path):
    opened = await opener().open(spec(tmp_path, "sandbox", isolation="reduced"), deaf)

    assert opened.sandbox.kind == "sandbox"
    assert (await opened.sandbox.shell(Command(line="echo 1 >f"))).exit == 0
    assert (tmp_path / "env_1/disk/f").read_text() == "1\n"
    await opened.sandbox.stop()


@needs_bwrap
async def test_a_container_is_made_of_its_image(opener, tmp_path):
    pins = list[str]()
    opened = await opener().open(
        spec(tmp_path, "container", image=container_cli.IMAGE), deaf, pins.append
    )
    await opened.sandbox.start()

    assert pins == ["python@sha256:" + "a" * 64]
    assert {gap.row for gap in opened.gaps()} >= {"tree", "secret_files"}
    await opened.sandbox.stop()


@needs_bwrap
async def test_a_service_is_reached_with_its_token(opener, tmp_path):
    (tmp_path / "disks").mkdir()
    with service(tmp_path / "disks") as found:
        place = found.url.removeprefix("http://")
        opened = await opener(place).open(
            spec(tmp_path, "remote", url=found.url, token=TOKEN), deaf
        )
        assert (await opened.sandbox.shell(Command(line="echo hi"))).output == b"hi\n"

    assert "files" not in {gap.row for gap in opened.gaps()}
    assert "memory" in {gap.row for gap in opened.gaps()}


async def test_the_kind_none_has_nothing_to_enforce(opener, tmp_path):
    opened = await opener().open(spec(tmp_path, "none", refuse_on_gaps=True), deaf)

    assert (opened.sandbox.kind, opened.gaps()) == ("none", ())


# What is accepted ---------------------------------------------------------------------------------

NOTHING = Machine(isolation=None, words="bubblewrap is not installed. So no command is run.")


@pytest.mark.parametrize("isolation", ["sandbox", "reduced"])
async def test_a_machine_that_holds_nothing_is_refused_in_words(opener, tmp_path, isolation):
    with pytest.raises(SandboxError, match="bubblewrap is not installed") as refused:
        await opener(machine=NOTHING).open(spec(tmp_path, "sandbox", isolation=isolation), deaf)
    assert refused.value.code == "sandbox.unavailable"


async def test_less_is_taken_where_it_is_asked_for_by_name(opener, tmp_path):
    opened = await opener(machine=NOTHING).open(spec(tmp_path, "sandbox", isolation="none"), deaf)

    assert {"files", "network", "hidden"} <= {gap.row for gap in opened.gaps()}


async def test_reduced_isolation_is_not_taken_for_the_whole(opener, tmp_path):
    machine = probing.machine("landlock", "Commands are held by Landlock: reduced isolation.")

    with pytest.raises(SandboxError, match="reduced isolation"):
        await opener(machine=machine).open(spec(tmp_path, "sandbox"), deaf)
    opened = await opener(machine=machine).open(
        spec(tmp_path, "sandbox", isolation="reduced"), deaf
    )
    assert "hidden" in {gap.row for gap in opened.gaps()}


@needs_bwrap
async def test_a_manifest_can_refuse_to_run_with_gaps(opener, tmp_path):
    found = opener()
    wanted = spec(tmp_path, "container", image=container_cli.IMAGE, refuse_on_gaps=True)

    with pytest.raises(SandboxError, match="All that a command started ends with it"):
        await found.open(wanted, deaf)
    assert not list((tmp_path / "state/containers").glob("*.json"))


async def test_an_allow_list_that_cannot_be_meant_is_said(opener, tmp_path):
    with pytest.raises(SandboxError, match="too much"):
        await opener().open(spec(tmp_path, "sandbox", places=(("*.com", (443,)),)), deaf)


def test_a_token_is_not_shown():
    assert "hush" not in repr(Spec(kind="remote", identity="e", folder=Path(), token="hush"))
