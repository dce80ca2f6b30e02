"""What a box costs for one command, beside the same command without one, taken in turns."""

import asyncio
import os
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.figures import Figure, quantile
from studio.core.sandboxes.box import bubblewrap
from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.box.probe import machine
from studio.core.sandboxes.contract import Command, Limits
from studio.core.sandboxes.sandbox import Box, Serve

REPEATS = 80
WARM = 5
LINE = "echo hi"
GOAL = 15.0  # milliseconds, median, above the shell alone

Once = Callable[[], Awaitable[bytes]]


async def run() -> list[Figure]:
    """Medians in one run; each round asks every way once, so that load is shared."""
    launcher = Launcher()
    with tempfile.TemporaryDirectory() as folder:
        boxes = {
            "bubblewrap": _box(folder, launcher, "bubblewrap"),
            "bubblewrap with egress": _box(folder, launcher, "bubblewrap", serve=_serve),
            "Landlock": _box(folder, launcher, "landlock"),
        }
        ways: dict[str, Once] = {"the shell alone": _alone}
        ways |= {name: _in(box) for name, box in boxes.items()}
        ways["bubblewrap in our network"] = _in_our_network(boxes["bubblewrap"])
        try:
            taken = await _taken(ways)
            together = await _together(boxes["bubblewrap"])
        finally:
            for box in boxes.values():
                await box.stop()
            await launcher.close()
    return [*_figures(taken), together]


async def _taken(ways: dict[str, Once]) -> dict[str, list[float]]:
    """Milliseconds of every way."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(WARM + REPEATS):
        for name, once in ways.items():
            began = time.perf_counter()
            assert await once() == b"hi\n"
            if number >= WARM:
                taken[name].append((time.perf_counter() - began) * 1000)
    return taken


async def _together(box: Box) -> Figure:
    began = time.perf_counter()
    await asyncio.gather(*(box.shell(Command(line=LINE)) for _ in range(REPEATS)))
    rate = REPEATS / (time.perf_counter() - began)
    note = f"n = {REPEATS}, {Limits().commands} side by side"
    return Figure(name="commands in boxes, side by side", value=rate, unit="a second", note=note)


def _figures(taken: dict[str, list[float]]) -> list[Figure]:
    plain = statistics.median(taken["the shell alone"])
    user = "root, dropped to a user of its own" if os.geteuid() == 0 else "an ordinary user"
    note = f"n = {REPEATS}, as {user}"
    found = []
    for name, values in taken.items():
        median = statistics.median(values)
        found.append(Figure(name=f"{name}, p50", value=median, unit="ms", note=note))
        found.append(Figure(name=f"{name}, p95", value=quantile(values, 0.95), unit="ms"))
        if name != "the shell alone":
            most = GOAL if name == "bubblewrap" else None
            over = Figure(
                name=f"{name}, above the shell", value=median - plain, unit="ms", most=most
            )
            found.append(over)
    return found


def _box(folder: str, launcher: Launcher, isolation: str, serve: Serve | None = None) -> Box:
    held = machine("landlock" if isolation == "landlock" else "bubblewrap", "to be measured")
    disk = Path(folder, f"{isolation}-{serve is not None}")
    return Box(disk, machine=held, launcher=launcher, serve=serve)


def _in(box: Box) -> Once:
    async def once() -> bytes:
        return (await box.shell(Command(line=LINE))).output

    return once


def _in_our_network(box: Box) -> Once:
    """As no box is ever made: to see what a network namespace costs."""
    once, names = _in(box), bubblewrap.NAMESPACES

    async def changed() -> bytes:
        bubblewrap.NAMESPACES = tuple(name for name in names if name != "net")
        try:
            return await once()
        finally:
            bubblewrap.NAMESPACES = names

    return changed


async def _alone() -> bytes:
    return subprocess.run(["/bin/bash", "-c", LINE], capture_output=True, check=True).stdout


async def _serve(listener: socket.socket, _: str) -> None:
    """Nothing is asked of the network here."""
    await asyncio.Event().wait()
