"""What the first page can do without: loaded when it is first asked for, or when all is quiet.

A start is mostly the loading of modules, so what answers programs, and each page, is loaded with
the first request that needs it; `load` then loads the rest, a little at a time. Loading is done in
a thread, so that others are answered meanwhile. Nothing here hides a fault: a module that cannot be
loaded fails the request that asked for it, is logged by `load`, and breaks a test.
"""

import asyncio
import importlib
import logging
import pkgutil
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import cache, partial
from types import ModuleType
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

log = logging.getLogger(__name__)

UNASKED_SECONDS = 1.0  # a studio that nobody asks anything loads the rest all the same
HANDING_SECONDS = 0.001  # how long a thread that loads keeps the loop waiting
Step = Callable[[], object]


def function(place: str) -> Callable[[Request], Awaitable[Response]]:
    """What answers a request, by its dotted name: loaded with the first request for it."""
    module, _, name = place.rpartition(".")
    found: Callable[[Request], Awaitable[Response]] | None = None

    async def answer(request: Request) -> Response:
        nonlocal found
        if found is None:
            found = getattr(await _module(module), name)
        return await found(request)

    answer.__module__, answer.__name__, answer.__qualname__ = module, name, name
    return answer


class Application:
    """An application that `make` makes of a module, with the first request to it."""

    def __init__(self, module: str, make: Callable[[Any], ASGIApp]) -> None:
        self._module, self._make = module, cache(make)  # of two first requests one makes it
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            self._app = self._make(await _module(self._module))
        await self._app(scope, receive, send)


class Answered:
    """Around an application: `first` is set when one request has been answered whole."""

    def __init__(self, app: ASGIApp, first: asyncio.Event) -> None:
        self._app, self._first = app, first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        finally:
            self._first.set()


def below(package: str) -> Iterator[Step]:
    """A step for each module of a package and of those below it."""
    place = importlib.import_module(package).__path__
    for found in pkgutil.walk_packages(place, f"{package}."):
        yield partial(importlib.import_module, found.name)


def modules(names: Iterable[str]) -> Iterator[Step]:
    """A step for each of these modules."""
    return (partial(importlib.import_module, name) for name in names)


async def load(steps: Iterable[Step], after: asyncio.Event) -> None:
    """Take all the steps once `after` is set, and rest after each for as long as it took."""
    try:
        async with asyncio.timeout(UNASKED_SECONDS):
            await after.wait()
    except TimeoutError:
        log.debug("Nobody has asked for anything yet.")
    usual = sys.getswitchinterval()
    sys.setswitchinterval(HANDING_SECONDS)
    try:
        for step in steps:
            await _take(step)
    finally:
        sys.setswitchinterval(usual)


async def _take(step: Step) -> None:
    began = time.monotonic()
    try:
        await asyncio.to_thread(step)
    except Exception:
        log.exception("A part of the studio cannot be loaded.")
    await asyncio.sleep(time.monotonic() - began)


async def _module(module: str) -> ModuleType:
    return await asyncio.to_thread(importlib.import_module, module)
