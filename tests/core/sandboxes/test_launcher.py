"""Whoever dies, no command outlives it: the studio, the launcher, or the way between them."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from studio.core.sandboxes.box import launching
from studio.core.sandboxes.box.plan import Plan
from studio.core.sandboxes.contract import Command, SandboxError
from tests.confinement.room import alive, gone

ROOT = Path(__file__).parents[3]
STUDIO = """
import asyncio, sys
from pathlib import Path
from studio.core import faults
from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.box.probe import machine
from studio.core.sandboxes.box import launching
from studio.core.sandboxes.box.plan import Plan
from studio.core.sandboxes.contract import Command, SandboxError
from studio.core.sandboxes.sandbox import Box

disk, isolation, line, armed = sys.argv[1:]
faults.arm_from(armed)
box = Box(Path(disk), machine=machine(isolation, "for tests"), launcher=Launcher(), free=0)
asyncio.run(box.shell(Command(line=line), heard=lambda _: print("begun", flush=True)))
"""
# A launcher that sees an end before all else that there is to see in the same moment.
ENDS_FIRST = f"""
import selectors, sys
sys.path.insert(0, {str(ROOT)!r})
from studio.core.sandboxes.box import launcher

class EndsFirst(selectors.EpollSelector):
    def select(self, timeout=None):
        super().select(timeout)  # a signal that came meanwhile is noted by now
        return sorted(super().select(0), key=lambda found: found[0].data.__name__ != "_reap")

selectors.DefaultSelector = EndsFirst
launcher.main(int(sys.argv[1]))
"""


def studio(tmp_path, isolation: str, tag: str, armed: str = "") -> subprocess.Popen[str]:
    """A process that runs one command: daemons that outlive it if they can, then a long sleep."""
    line = f"(setsid nohup sleep {tag} >/dev/null 2>&1 &); sleep {tag} & echo; sleep {tag}"
    return subprocess.Popen(
        [sys.executable, "-B", "-c", STUDIO, str(tmp_path / "disk"), isolation, line, armed],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def tree(pid: int) -> list[int]:
    """Every process below another."""
    try:
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [found for word in words for found in (int(word), *tree(int(word)))]


async def ended(pids: list[int]) -> bool:
    """Whether processes are gone, after waiting for it; who adopts them may be slow to notice."""
    async with asyncio.timeout(5):
        while any(state(pid) not in {"Z", ""} for pid in pids):
            await asyncio.sleep(0.01)
    return True


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.crash
@pytest.mark.parametrize("isolation", ["bubblewrap", "landlock", "none"])
async def test_no_process_outlives_a_studio_that_is_killed_while_a_command_runs(
    tmp_path, isolation
):
    tag = f"86404.{os.getpid()}{isolation[0]}".replace("b", "1").replace("l", "2").replace("n", "3")
    with studio(tmp_path, isolation, tag) as process:
        assert process.stdout is not None
        process.stdout.readline()
        launchers = tree(process.pid)
        while len(alive(f"sleep\0{tag}")) < 2:
            await asyncio.sleep(0.01)

        process.kill()

    assert launchers
    assert await ended(launchers)
    assert await gone(tag) == []


@pytest.mark.crash
@pytest.mark.parametrize("isolation", ["bubblewrap", "landlock", "none"])
async def test_no_process_outlives_a_studio_that_dies_when_a_command_was_just_started(
    tmp_path, isolation
):
    tag = f"86405.{os.getpid()}{len(isolation)}"
    with studio(tmp_path, isolation, tag, "sandbox.spawned:stop:1") as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        launchers = tree(process.pid)

        process.kill()

    assert launchers
    assert await ended(launchers)
    assert await gone(tag) == []


async def test_a_command_is_lost_with_its_launcher_and_the_next_one_works(box, launcher):
    tag = f"86406.{os.getpid()}"
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            box.shell(Command(line=f"echo; sleep {tag}"), lambda _: begun.set())
        )
        await begun.wait()
        os.kill(launcher.pid, signal.SIGKILL)

    assert running.result().ended == "lost"
    assert await gone(tag) == []
    assert (await box.shell(Command(line="echo on"))).output == b"on\n"


async def test_a_program_that_cannot_be_started_is_told_and_nothing_ran(make_box, boxed):
    box = make_box(held=replace(boxed, filter=b"no filter"))

    with pytest.raises(SandboxError) as refused:
        await box.shell(Command(line="echo ran > a"))

    assert refused.value.code == "sandbox.unavailable"
    assert "Nothing ran" in refused.value.message
    assert (await box.glob("**")).paths == ()


async def test_what_a_command_said_last_is_heard_though_our_word_to_it_was_not():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    command = launching.Started(ours, -1)

    command.end()
    theirs.send(b'{"exit": -9}')
    theirs.close()

    assert [await command.event(), await command.event()] == [{"exit": -9}, {}]
    command.close()


@pytest.mark.parametrize("egress", [False, True])
async def test_a_command_that_ends_as_it_is_ended_takes_no_other_with_it(
    monkeypatch, launcher, egress
):
    monkeypatch.setattr(launching, "_PROGRAM", ENDS_FIRST)
    plan = Plan(isolation="none", program=["/bin/sleep", "86407"], egress=egress)
    async with launcher.started(plan, []) as first:
        assert "started" in await first.event()
        before, (command, *_) = launcher.pid, tree(launcher.pid)
        os.kill(before, signal.SIGSTOP)
        os.kill(command, signal.SIGKILL)
        first.end()
        os.kill(before, signal.SIGCONT)

        assert (await first.event())["exit"] == -signal.SIGKILL
        async with launcher.started(plan, []) as second:
            assert "started" in await second.event()

    assert launcher.pid == before
