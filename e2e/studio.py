"""A real studio for the browser tests: its own process, its own data, a free port."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from api_client import Client
from tests import forked

T = TypeVar("T")

START_SECONDS = 60.0
STUDIO = ("-m", "studio")
BROKEN = ("-m", "e2e.broken")  # a build for tests, whose templates escape nothing


@dataclass
class Studio:
    """One studio process; it can be killed and started again on the same data and port."""

    data: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    program: tuple[str, ...] = STUDIO
    command: str = "up"
    url: str = ""
    process: "subprocess.Popen[str] | None" = None
    kept: dict[tuple[str, str], Any] = field(default_factory=dict)  # cookies of who signed in
    _client: Client | None = None

    def start(self, *, fault: str = "") -> "Studio":
        """Start and wait until it answers; the port of an earlier start is kept."""
        port = self.url.rpartition(":")[2] or "0"
        environ = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("STUDIO_", "OTEL_"))},
            "STUDIO_DATA": str(self.data), "STUDIO_PORT": port, "STUDIO_DEMO": "on",
            "STUDIO_FAULT": fault, **self.environ,
        }  # fmt: skip
        with (self.data / "log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.program, self.command, "--json"], env=environ, text=True,
                stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        self.url = str(self._first_line()["url"])
        return self

    def _first_line(self) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.stdout is not None
        late = threading.Timer(START_SECONDS, self.process.kill)
        late.start()
        line = self.process.stdout.readline()
        late.cancel()
        if not line:
            raise AssertionError(f"The studio did not start:\n{self.log()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def kill(self) -> None:
        """As by kill -9: nothing is said and nothing is finished."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.dies()

    def stop(self) -> None:
        """As by Ctrl-C."""
        if self._client is not None:
            self._client.close()
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
            self.dies()

    def dies(self, seconds: float = 60.0) -> None:
        """Wait until it has died of an armed fault."""
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.wait(seconds)
        self.process.stdout.close()

    @classmethod
    @contextmanager
    def new(
        cls, *, program: tuple[str, ...] = STUDIO, command: str = "up", **environ: str
    ) -> "Iterator[Studio]":
        """A studio with data of its own, started; gone with its data at the end."""
        data = Path(tempfile.mkdtemp(prefix="studio-e2e-"))
        data.chmod(0o700)
        found = cls(data=data, environ=environ, program=program, command=command)
        try:
            yield found.start()
        finally:
            found.stop()
            shutil.rmtree(data, ignore_errors=True)

    def has_room(self, size: int = resource.RLIM_INFINITY) -> None:
        """From now on it writes no file beyond so many bytes, as on a disk that is full."""
        assert self.process is not None
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def log(self) -> str:
        """What it wrote to standard error."""
        return (self.data / "log").read_text("utf-8", "replace")

    def link(self, person: str = "ann", role: str = "admin") -> str:
        """A sign-in link, made by the command as whoever runs the studio would."""
        words = ("login", "--person", person, "--role", role, "--json")
        environ = {**os.environ, "STUDIO_DATA": str(self.data), "STUDIO_URL": self.url}
        done = forked.run(forked.studio, *words, environ=environ)
        done.check_returncode()
        return str(json.loads(done.stdout)["url"])

    @property
    def api(self) -> Client:
        """The API as the command line of this machine uses it."""
        if self._client is None:
            self._client = Client(self.url, key=(self.data / "cli.key").read_text().strip())
        return self._client


def until(holds: Callable[[], T], *, seconds: float = 30.0, what: str = "it") -> T:
    """Ask until the answer is true, for a while; then say what never came."""
    end = time.monotonic() + seconds
    while True:
        answer = holds()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"Waited {seconds:g} s and {what} never came.")
        time.sleep(0.05)
