"""Where a studio runs: a store of either kind made from a template, and processes that are killed.

A house has one process on SQLite. On PostgreSQL it may have a second one that is up all the while
and whose worker starts to work when the first one is dead.
"""

import contextlib
import os
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psycopg

from tests import postgres
from tests.crash import child
from tests.forked import CONTEXT

PATIENCE = 40.0
MAKING = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Template:
    """A prepared store of one kind; every cell gets a copy."""

    kind: str
    folder: Path
    people: dict[str, tuple[str, str]]  # of each the application key and the browser's cookie
    environ: dict[str, str]
    cluster: postgres.Cluster | None = None
    database: str = ""

    @contextlib.contextmanager
    def copy(self, folder: Path) -> Iterator[dict[str, str]]:
        """A store of one's own; gives its settings."""
        shutil.copytree(self.folder, folder)
        environ = {**self.environ, "STUDIO_DATA": str(folder)}
        if self.cluster is None:
            yield environ | {"STUDIO_DATABASE_URL": f"sqlite:///{folder / 'studio.db'}"}
            return
        with MAKING:  # the next database is made ahead, for one asker at a time
            url = self.cluster.create_database(template=self.database)
        try:
            yield environ | {"STUDIO_DATABASE_URL": url}
        finally:
            self.cluster.drop_database(url)


def template(
    kind: str, folder: Path, environ: dict[str, str], manifests: list[Any], rules: list[Any],
    cluster: postgres.Cluster | None = None,
) -> Template:  # fmt: skip
    """Prepare a store of one kind."""
    folder.mkdir(parents=True)
    url = f"sqlite:///{folder / 'studio.db'}"
    if cluster is not None:
        url = cluster.create_database()
    settings = {**environ, "STUDIO_DATA": str(folder), "STUDIO_DATABASE_URL": url}
    ours, theirs = CONTEXT.Pipe()
    made = CONTEXT.Process(
        target=child.prepare, args=(settings, str(folder / "log"), theirs, manifests, rules)
    )
    made.start()
    people = _hear(ours, made, folder / "log")
    made.join(PATIENCE)
    return Template(
        kind=kind, folder=folder, people=people, environ=environ, cluster=cluster,
        database=url.rpartition("/")[2],
    )  # fmt: skip


@dataclass
class Process:
    """One studio. `end` is how it ended: minus the signal, or None while it lives."""

    url: str
    process: BaseProcess
    gate: Connection | None = None

    @property
    def end(self) -> int | None:
        code = self.process.exitcode
        # 255 is multiprocessing's word for a child that is gone and whose code it could not read;
        # no studio of ours ends so by itself
        return -signal.SIGKILL if code == 255 else code

    def is_stopped(self) -> bool:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def open_gate(self) -> None:
        if self.gate is not None:
            self.gate.send("work")

    def signal(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        self.process.kill()
        self.process.join(PATIENCE)


@dataclass
class House:
    """The studio of one cell, whichever process is it now. `faults` are armed one process each."""

    environ: dict[str, str]
    folder: Path
    faults: Sequence[str]
    other: bool = False  # a second process takes over; else the same one is started again
    frozen: bool = False  # the first one is stopped and not killed; people ask the second one
    processes: list[Process] = field(default_factory=list)
    spare: Process | None = None
    ended: list[int | None] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        if self.other:
            self.spare = self._process("", gated=True)
        self.processes.append(self._process(self._next_fault()))
        if self.frozen:
            assert self.spare is not None
            self.processes.append(self.spare)

    @property
    def now(self) -> Process:
        return self.processes[-1]

    def recover(self, seen: Process) -> None:
        """Called by whoever found a process not answering: if it is dead, the next one is it."""
        with self._lock:
            if seen is not self.now:
                return
            seen.process.join(0.5)
            if seen.end is None:
                return
            self.ended.append(seen.end)
            if self.spare is not None:
                self.spare.open_gate()
                self.processes.append(self.spare)
                self.spare = None
            else:
                self.processes.append(self._process(self._next_fault()))

    def look(self) -> None:
        """Called now and then: whoever is dead or frozen is replaced."""
        if self.frozen and self.spare is not None and self.processes[0].is_stopped():
            self.spare.open_gate()
            self.spare = None
            self.ended.append(-signal.SIGSTOP)
        elif self.now.end is not None:
            self.recover(self.now)

    def thaw(self) -> None:
        """Let the frozen one go on."""
        self.processes[0].signal(signal.SIGCONT)

    def restart(self) -> None:
        """Kill the process that is up now and start another."""
        with self._lock:
            self.now.kill()
            self.processes.append(self._process(""))

    def close(self) -> None:
        for process in [*self.processes, *([self.spare] if self.spare else [])]:
            if process.end is None:
                process.kill()

    def hits(self) -> int:
        """How many processes a crash point killed or stopped."""
        return self.ended.count(-signal.SIGSTOP if self.frozen else -signal.SIGKILL)

    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8", "replace")

    def _next_fault(self) -> str:
        armed = len(self.processes)
        return self.faults[armed] if armed < len(self.faults) else ""

    def _process(self, fault: str, *, gated: bool = False) -> Process:
        ours, theirs = CONTEXT.Pipe()
        key, lock = CONTEXT.Pipe() if gated else (None, None)
        process = CONTEXT.Process(
            target=child.studio,
            args=(self.environ | {"STUDIO_FAULT": fault}, str(self.folder / "log"), theirs, lock),
        )
        process.start()
        port = _hear(ours, process, self.folder / "log")
        return Process(url=f"http://127.0.0.1:{port}", process=process, gate=key)


def _hear(report: Connection, process: BaseProcess, log: Path) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not report.poll(0.05):
        if process.exitcode is not None or time.monotonic() > deadline:
            words = log.read_text("utf-8", "replace")[-3_000:] if log.exists() else ""
            raise RuntimeError(f"a studio did not start (exit {process.exitcode}):\n{words}")
    return report.recv()


# What is in the store -----------------------------------------------------------------------------

TABLES = (
    "events", "sessions", "turns", "effects", "waits", "wakes", "receipts", "positions",
    "artifacts", "artifact_versions", "files", "uploads",
)  # fmt: skip


def rows(url: str, tables: Sequence[str] = TABLES) -> dict[str, list[dict[str, Any]]]:
    """The tables as they are, read past the studio."""
    with _connection(url) as execute:
        return {table: execute(f"SELECT * FROM {table}") for table in tables}


def health(url: str) -> list[str]:
    """What the store's own check says is wrong with it."""
    if not url.startswith("sqlite"):
        return []
    with _connection(url) as execute:
        found = [*execute("PRAGMA integrity_check"), *execute("PRAGMA foreign_key_check")]
    return [str(row) for row in found if row != {"integrity_check": "ok"}]


@contextlib.contextmanager
def _connection(url: str) -> Iterator[Any]:
    if url.startswith("sqlite"):
        file = sqlite3.connect(f"file:{url.removeprefix('sqlite:///')}?mode=ro", uri=True)
        file.row_factory = sqlite3.Row
        with contextlib.closing(file):
            yield lambda sql: [dict(row) for row in file.execute(sql)]
    else:
        with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as server:
            yield lambda sql: server.execute(sql).fetchall()
