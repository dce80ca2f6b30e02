"""Locks of environments: many work, one changes."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from studio.core.work.environments.locks import Locked, Locks

HOLDER = """
import asyncio, sys
from pathlib import Path
from studio.core.work.environments.locks import Locks

async def hold():
    async with Locks(Path(sys.argv[1])).alone("env_a", within=None):
        print("held", flush=True)
        await asyncio.sleep(60)

asyncio.run(hold())
"""


async def test_many_work_side_by_side(tmp_path: Path) -> None:
    locks = Locks(tmp_path)
    async with locks.working("env_a"), locks.working("env_a"):
        pass


async def test_who_wants_it_alone_is_told_that_others_work(tmp_path: Path) -> None:
    locks = Locks(tmp_path)
    async with locks.working("env_a"):
        with pytest.raises(Locked):
            async with locks.alone("env_a", within=0):
                pass
        async with locks.alone("env_b", within=0):  # another environment is another matter
            pass


async def test_who_waits_gets_it_when_the_others_are_done(tmp_path: Path) -> None:
    locks, order = Locks(tmp_path), list[str]()

    async def change() -> None:
        async with locks.alone("env_a", within=None):
            order.append("changed")

    async with asyncio.TaskGroup() as group, locks.working("env_a"):
        group.create_task(change())
        await asyncio.sleep(0)
        order.append("worked")
    assert order == ["worked", "changed"]


async def test_nobody_works_while_one_changes(tmp_path: Path) -> None:
    locks = Locks(tmp_path)
    async with locks.alone("env_a", within=0):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1), locks.working("env_a"):
                pass
    async with locks.working("env_a"):
        pass


async def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Locked):
            async with Locks(tmp_path).alone("env_a", within=0):
                pass
        os.kill(holder.pid, signal.SIGKILL)
        async with Locks(tmp_path).alone("env_a", within=10):
            pass
    finally:
        holder.kill()
        holder.communicate()
