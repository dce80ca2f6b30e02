"""The studio's start and memory beside two peers that are installed for it: ADK web and Phoenix.

Not among the measurements of a plain `make bench`: the peers are some gigabytes. Each gets a
virtualenv of its own in `.cache/peers`, starts on loopback with an empty folder, and is asked for
its first page.
"""

import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure
from e2e.studio import Studio, until

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".cache" / "peers"
REPEATS = 3
PATIENCE = 120.0


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A program to compare with: its package, and how it is started on a port in a folder."""

    name: str
    package: str
    command: Callable[[Path, int, Path], list[str]]
    environ: Callable[[int, Path], dict[str, str]]


PEERS = (
    Peer(
        name="ADK web", package="google-adk",
        command=lambda bin, port, at: [str(bin / "adk"), "web", "--port", str(port), str(at)],
        environ=lambda port, at: {},
    ),
    Peer(
        name="Phoenix", package="arize-phoenix",
        command=lambda bin, port, at: [str(bin / "phoenix"), "serve"],
        environ=lambda port, at: {
            "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(free()),
            "PHOENIX_HOST": "127.0.0.1", "PHOENIX_WORKING_DIR": str(at),
            "PHOENIX_TELEMETRY_ENABLED": "false",
        },
    ),
)  # fmt: skip
START = {"ADK web": 0.5, "Phoenix": 0.1}  # at most this share of the peer's start
MEMORY = {"Phoenix": 0.2}


async def run() -> list[Figure]:
    """Medians of start and memory, the studio's as shares of each peer's."""
    ours = [_studio() for _ in range(REPEATS)]
    start, memory = _medians(ours)
    found = [
        Figure(name="studio: start to first page", value=start, unit="s"),
        Figure(name="studio: memory at rest", value=memory, unit="MB"),
    ]
    for peer in PEERS:
        theirs_start, theirs_memory = _medians([_peer(peer) for _ in range(REPEATS)])
        note = f"n = {REPEATS}, {peer.package} {_version(peer)}"
        found += [
            Figure(name=f"{peer.name}: start to first page", value=theirs_start, unit="s",
                   note=note),
            Figure(name=f"start as a share of {peer.name}'s", value=start / theirs_start, unit="×",
                   most=START.get(peer.name)),
            Figure(name=f"{peer.name}: memory at rest", value=theirs_memory, unit="MB", note=note),
            Figure(name=f"memory as a share of {peer.name}'s", value=memory / theirs_memory,
                   unit="×", most=MEMORY.get(peer.name)),
        ]  # fmt: skip
    return found


def _studio() -> tuple[float, float]:
    with Studio.new(command="serve", PYTHONDONTWRITEBYTECODE="") as studio:  # as the others are
        studio.stop()
        began = time.perf_counter()
        studio.start()
        until(lambda: _answers(f"{studio.url}/sign-in"), what="the studio's first page")
        taken = time.perf_counter() - began
        time.sleep(2.0)
        assert studio.process is not None, "it runs"
        return taken, _resident(studio.process.pid)


def _peer(peer: Peer) -> tuple[float, float]:
    bin, port = _installed(peer), free()
    folder = Path(tempfile.mkdtemp())
    environ = {"PATH": f"{bin}:{os.environ['PATH']}", "HOME": str(folder)}
    began = time.perf_counter()
    process = subprocess.Popen(
        peer.command(bin, port, folder), env=environ | peer.environ(port, folder), cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        what = f"{peer.name}'s first page"
        until(lambda: _answers(f"http://127.0.0.1:{port}/"), seconds=PATIENCE, what=what)
        taken = time.perf_counter() - began
        time.sleep(2.0)
        return taken, _resident(process.pid)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _installed(peer: Peer) -> Path:
    """The folder of the peer's programs; installed the first time."""
    venv = FOLDER / peer.package
    if not (venv / "ready").exists():
        print(f"installing {peer.package}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", peer.package]
        subprocess.run(pip, check=True)
        (venv / "ready").touch()
    return venv / "bin"


def _version(peer: Peer) -> str:
    code = f"import importlib.metadata as m; print(m.version({peer.package!r}))"
    done = subprocess.run([str(_installed(peer) / "python"), "-c", code], capture_output=True,
                          text=True, check=True)  # fmt: skip
    return done.stdout.strip()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _resident(pid: int) -> float:
    """Megabytes of a process and its children."""
    total = 0.0
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            total += int(line.split()[1]) * 1024 / 1e6
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        total += _resident(int(child))
    return total


def free() -> int:
    """A port that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)
