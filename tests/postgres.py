"""A PostgreSQL server of the tests' own: started on first use, one a process, gone at the end.

It lives in a temporary folder, listens on a free loopback port and answers a COMMIT when a real one
would. It leaves the disk to the system's own time: that is lost only when the machine itself loses
power, which no test can do; a killed process of ours or of the server's loses nothing by it.
PostgreSQL refuses to run as root; then it runs as the `postgres` user, or as `nobody`.
"""

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

START_SECONDS = 60
PORT_TRIES = 5
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "on",
    "shared_buffers": "64MB",
    "timezone": "UTC",
}


class Unavailable(Exception):
    """This machine has no PostgreSQL server programs."""


@dataclass(kw_only=True)
class Cluster:
    """A running server. `create_database` gives a fresh one; `stop` ends it and its files."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _maker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=1))
    _ahead: dict[str, Future[str]] = field(default_factory=dict)

    def create_database(self, *, template: str = "template1") -> str:
        """The URL of a new database, empty or a copy of `template` (which nobody may be using).

        CREATE DATABASE copies some 300 files, so the next one is made while a test runs.
        """
        ready = self._ahead.get(template) or self._maker.submit(self._create, template)
        url = ready.result()
        self._ahead[template] = self._maker.submit(self._create, template)
        return url

    def drop_database(self, url: str) -> None:
        """Remove a database even when somebody is still connected to it."""
        self._admin("DROP DATABASE IF EXISTS {} WITH (FORCE)", url.rpartition("/")[2])

    def url(self, database: str) -> str:
        return f"postgresql://studio@127.0.0.1:{self.port}/{database}"

    def stop(self) -> None:
        self._maker.shutdown(cancel_futures=True)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait(timeout=20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _create(self, template: str) -> str:
        name = f"studio_test_{next(self._numbers)}"
        self._admin("CREATE DATABASE {} TEMPLATE {}", name, template)
        return self.url(name)

    def _admin(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def start() -> Cluster:
    """Make and start a server, or raise Unavailable with what is missing."""
    programs = find_programs()
    if programs is None:
        raise Unavailable("no initdb on PATH or under /usr/lib/postgresql/*/bin")
    owner = _unprivileged_user()
    folder = Path(tempfile.mkdtemp(prefix="studio-pg-", dir=_short_folder()))
    try:
        if owner is not None:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        _make(programs, folder, owner)
        return _run(programs, folder, owner)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def find_programs() -> Path | None:
    """The folder that holds both `initdb` and `postgres`: from PATH, else the newest Debian one."""
    on_path = shutil.which("initdb")
    candidates = [Path(on_path).resolve().parent] if on_path else []
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    candidates += sorted(installed, key=lambda path: float(path.parent.name), reverse=True)
    for candidate in candidates:
        if (candidate / "initdb").exists() and (candidate / "postgres").exists():
            return candidate
    return None


def _make(programs: Path, folder: Path, owner: pwd.struct_passwd | None) -> None:
    made = subprocess.run(
        [
            *(str(programs / "initdb"), "--pgdata", str(folder / "data"), "--username=studio"),
            *("--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        **_identity(owner),
    )
    if made.returncode != 0:
        raise RuntimeError(f"initdb failed:\n{made.stdout.decode(errors='replace')}")


def _run(programs: Path, folder: Path, owner: pwd.struct_passwd | None) -> Cluster:
    """Start it; a port that somebody takes in the meantime is tried again with another."""
    for _ in range(PORT_TRIES):
        port = _free_port()
        options = SETTINGS | {"port": str(port), "unix_socket_directories": str(folder)}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    *_dies_with_its_parent(),
                    *(str(programs / "postgres"), "-D", str(folder / "data")),
                    *(f"--{name}={value}" for name, value in options.items()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                start_new_session=True,  # Ctrl-C ends the tests first, and the tests end it
                **_identity(owner),
            )
        cluster = Cluster(folder=folder, port=port, process=process)
        if _answers(cluster):
            return cluster
        if process.poll() is None:
            process.kill()
        process.wait()
    log_text = (folder / "log").read_text(errors="replace")
    raise RuntimeError(f"PostgreSQL did not start:\n{log_text[-4000:]}")


def _answers(cluster: Cluster) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and cluster.process.poll() is None:
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(cluster.url("postgres"), connect_timeout=5).close()
            # Somebody else's server may have taken the port; then ours is about to end.
            time.sleep(0.05)
            return cluster.process.poll() is None
        time.sleep(0.02)
    return False


def _unprivileged_user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise Unavailable("root may not run PostgreSQL, and there is no postgres or nobody user")


def _identity(owner: pwd.struct_passwd | None) -> dict[str, object]:
    if owner is None:
        return {}
    return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}


def _dies_with_its_parent() -> list[str]:
    """A test run that is killed leaves no server behind, where the system can promise that."""
    if shutil.which("setpriv") is None:
        return []
    return ["setpriv", "--pdeathsig", "INT", "--"]


def _short_folder() -> str | None:
    """A socket's path has 107 bytes, and the parent must be open to the unprivileged user."""
    return "/tmp" if os.path.isdir("/tmp") else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
