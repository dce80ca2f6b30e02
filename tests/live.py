"""A real studio in a process of its own, on loopback, with everything in one folder."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api_client import Client
from tests import forked
from tests.forked import ROOT

SETTINGS = ("STUDIO_", "OTEL_")
PATIENCE = 60.0


@dataclass(frozen=True)
class Live:
    """A running studio: where it is, its folder, and the environment of its commands."""

    url: str
    data: Path
    environ: dict[str, str]
    process: "subprocess.Popen[str]"

    @property
    def key(self) -> str:
        """The key of this machine's commands."""
        return (self.data / "cli.key").read_text().strip()

    def client(self, **more: Any) -> Client:
        """A client with that key."""
        return Client(self.url, key=self.key, **more)

    def run(
        self, *words: str, given: str = "", **environ: str
    ) -> "subprocess.CompletedProcess[str]":
        """One command of `studio` beside the running one."""
        return forked.run(
            forked.studio, *words, given=given, timeout=PATIENCE,
            environ=plain_environ(**{**self.environ, **environ}),
        )  # fmt: skip


def run(*words: str, given: str = "", **environ: str) -> "subprocess.CompletedProcess[str]":
    """One command of `studio` with exactly these settings, in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-m", "studio", *words], input=given, capture_output=True, text=True,
        cwd=ROOT, env=plain_environ(**environ), timeout=PATIENCE, check=False,
    )  # fmt: skip


def plain_environ(**more: str) -> dict[str, str]:
    """The environment without settings of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    return {**kept, **more}


@contextmanager
def live(folder: Path, command: str = "up", **environ: str) -> Iterator[Live]:
    """Start a studio on a free port, and stop it at the end; one told to `serve` has no worker."""
    environ = {"STUDIO_DATA": str(folder), "STUDIO_DEMO": "off", "STUDIO_LOG": "error", **environ}
    with (folder.parent / f"{folder.name}.log").open("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "studio", command, "--port", "0", "--json"],
            stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, env=plain_environ(**environ),
        )  # fmt: skip
        try:
            url = _first_line(process, Path(log.name))["url"]
            with Client(url) as client:
                _until_ready(client)
            environ["STUDIO_PORT"] = url.rpartition(":")[2]
            yield Live(url=url, data=folder, environ=environ, process=process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=PATIENCE)
            assert process.stdout is not None
            process.stdout.close()


def _first_line(process: "subprocess.Popen[str]", log: Path) -> dict[str, str]:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(PATIENCE):
            raise TimeoutError(f"The studio did not start: {log.read_text()}")
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"The studio ended: {log.read_text()}")
    found: dict[str, str] = json.loads(line)
    return found


def _until_ready(client: Client) -> None:
    """The address is known just before it is answered; the client's own retries wait for that."""
    deadline = time.monotonic() + PATIENCE
    while not client.server.ready()["ready"]:
        if time.monotonic() > deadline:
            raise TimeoutError("The studio is not ready.")
