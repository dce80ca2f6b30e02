"""One studio in a process of its own: the API on a real socket, and a worker, as `studio up` runs.

Started by fork from a server that has everything imported, so that a killed one is back in a
moment. The crash points are armed as for anybody, by STUDIO_FAULT.
"""

import asyncio
import os
import socket
import sys
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import openai
import uvicorn

from studio import app, web
from studio.api import routes
from studio.core.rules.access import Person
from studio.settings import Settings

PRELOADED = (web, routes, openai)  # what a studio imports late shall be there before the fork
ADMIN = Person(id="tests", role="admin", via="key")


def studio(
    environ: Mapping[str, str], log: str, report: Connection, gate: Connection | None
) -> None:
    """Serve until killed; report the port. A worker behind a gate works once it is opened."""
    _write_to(log)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        settings = Settings.from_env({**environ, "STUDIO_PORT": str(port)})
        app.migrate(settings)
        asyncio.run(_serve(settings, listening, report, gate))


async def _serve(
    settings: Settings, listening: socket.socket, report: Connection, gate: Connection | None
) -> None:
    async with app.parts(settings) as built, asyncio.TaskGroup() as group:
        working = group.create_task(_work(built, gate))
        config = uvicorn.Config(
            app.asgi(built), lifespan="off", log_config=None, access_log=False,
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        listening.listen(1024)
        report.send(listening.getsockname()[1])
        await uvicorn.Server(config).serve(sockets=[listening])
        working.cancel()


async def _work(built: app.Parts, gate: Connection | None) -> None:
    if gate is not None:
        opened = asyncio.Event()
        asyncio.get_running_loop().add_reader(gate.fileno(), opened.set)
        await opened.wait()
        asyncio.get_running_loop().remove_reader(gate.fileno())
    one = app.worker(built)
    try:
        await one.run()
    finally:
        await one.close()


def prepare(
    environ: Mapping[str, str], log: str, report: Connection, manifests: list[Any], rules: list[Any]
) -> None:
    """Make a store with agents, a policy and people; report each one's key and cookie."""
    _write_to(log)
    settings = Settings.from_env(environ)
    app.migrate(settings)
    report.send(asyncio.run(_prepare(settings, manifests, rules)))


async def _prepare(
    settings: Settings, manifests: list[Any], rules: list[Any]
) -> dict[str, tuple[str, str]]:
    async with app.parts(settings) as built:
        for manifest in manifests:
            await built.runtime.save_agent(ADMIN, manifest)
        await built.runtime.save_policy(ADMIN, rules, expect=None)
        people = {}
        for name in ("alice", "bob", "charlie"):
            _, key = await built.runtime.make_key(ADMIN, name, "operator")
            secret, _ = await built.runtime.sign_in(built.runtime.link(name, "operator"))
            people[name] = (key, built.tokens.cookie(secret))
        return people


def _write_to(log: str) -> None:
    """What this process says goes to its log; what breaks it too."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    sys.excepthook = traceback.print_exception
