"""Servers end with the studio, also with one that is killed, and also those that ignore its end."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from studio.core.tools.mcp.watcher import Watcher

ROOT = Path(__file__).parents[4]
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "1000"])
for line in sys.stdin:
    import json
    asked = json.loads(line)
    if "id" in asked:
        told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "stubborn", "version": "0"}}
        if asked["method"] == "tools/list":
            told = {"tools": [{"name": f"pid_{os.getpid()}_{child.pid}",
                               "inputSchema": {"type": "object"}}]}
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": told}
        if asked["method"] not in ("initialize", "tools/list"):
            answer = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": ""}}
        sys.stdout.write(json.dumps(answer) + "\\n")
        sys.stdout.flush()
while True:  # its input has ended, and it does not care
    time.sleep(1)
"""
PARENT = """
import asyncio, json, sys
from pathlib import Path
from studio.core.tools.catalog import LiveCatalog
from studio.core.tools.plugins import Plugins

async def main():
    catalog = LiveCatalog(Plugins([]), {}, frozenset(), Path(sys.argv[2]))
    entry = {"name": "s", "transport": "stdio", "command": [sys.executable, sys.argv[1]]}
    offered = await catalog.offered({"servers": [entry]})
    print(json.dumps([name for name in offered.tools if name.startswith("pid")]), flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def gone(*pids: int) -> bool:
    for _ in range(500):
        if not any(map(alive, pids)):
            return True
        await asyncio.sleep(0.02)
    return False


@pytest.mark.crash
async def test_a_stubborn_server_and_its_child_end_when_the_studio_is_killed(tmp_path):
    server, parent = tmp_path / "stubborn.py", tmp_path / "parent.py"
    server.write_text(STUBBORN)
    parent.write_text(PARENT)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(parent), str(server), str(tmp_path), stdout=asyncio.subprocess.PIPE,
        cwd=ROOT, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert process.stdout is not None
    (name,) = json.loads(await process.stdout.readline())
    pids = [int(part) for part in name.split("_")[1:]]
    assert all(map(alive, pids))

    process.send_signal(signal.SIGKILL)
    await process.wait()

    assert await gone(*pids)


async def test_what_was_forgotten_is_left_alone():
    watcher = Watcher()
    sleeper = await asyncio.create_subprocess_exec("sleep", "1000", start_new_session=True)
    await watcher.watch(sleeper.pid)
    watcher.forget(sleeper.pid)

    await watcher.close()

    assert alive(sleeper.pid)
    sleeper.kill()
    await sleeper.wait()


async def test_a_watcher_that_was_killed_is_started_again_with_all_it_knew():
    watcher = Watcher()
    sleepers = [
        await asyncio.create_subprocess_exec("sleep", "1000", start_new_session=True)
        for _ in range(2)
    ]
    await watcher.watch(sleepers[0].pid)
    assert watcher._process is not None
    watcher._process.kill()
    await watcher._process.wait()
    await watcher.watch(sleepers[1].pid)

    await watcher.close()

    assert await gone(*(sleeper.pid for sleeper in sleepers))
    for sleeper in sleepers:
        await sleeper.wait()
