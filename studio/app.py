"""The composition root: builds every part and joins them. Imported by the command line alone.

`parts` opens everything, `serve` answers people and programs and, when told, moves sessions and
keeps the demo. All of it stops within seconds on SIGINT and SIGTERM; what was out is recovered by
the next worker.
"""

import asyncio
import logging
import os
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from studio import address, command_key, late, warming
from studio.core import faults, serving
from studio.core.clock import Clock
from studio.core.masking import Mask, MaskedFormatter
from studio.core.reader import Reader
from studio.core.rules.access import Person, Role
from studio.core.rules.errors import Unavailable
from studio.core.rules.files import MIB, FileLimits
from studio.core.rules.outside.claims import Limits as OutsideLimits
from studio.core.runtime import Runtime
from studio.core.sealing import KeyFile
from studio.core.store import migrate as migrations
from studio.core.store import upkeep
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Journal
from studio.core.store.people import DAY, Ages
from studio.core.tokens import Tokens
from studio.demo import host
from studio.settings import Settings, signing_key

if TYPE_CHECKING:
    from studio.core.worker import Worker

log = logging.getLogger("studio")

STUDIO = Person(id="studio", role="admin", via="key")
RESTART_SECONDS = 1.0
SWEEP_SECONDS = 3600.0
LIKE_A_SECRET = 12  # characters of a header's value; a shorter one may be a word of any text


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Everything that is open, joined."""

    settings: Settings
    db: Db
    journal: Journal
    feed: Feed
    runtime: Runtime
    reader: Reader
    tokens: Tokens
    clock: Clock
    seals: KeyFile


def migrate(settings: Settings) -> str:
    """Bring the store's schema up to date; the revision it is at."""
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    migrations.migrate(settings.database_url)
    return str(migrations.current(settings.database_url))


def login(settings: Settings, person: str, role: Role) -> str:
    """A single-use sign-in link. Needs the key file, not the store, so it works beside a server."""
    token = Tokens(signing_key(settings.key_file)).link(person, role)
    return f"{settings.url}/sign-in/{token}"


@asynccontextmanager
async def parts(settings: Settings, *, clock: Clock | None = None) -> AsyncIterator[Parts]:
    """Open the store and build what stands on it; close all of it at the end."""
    faults.arm_from(settings.fault)
    clock = clock or Clock()
    tokens = Tokens(signing_key(settings.key_file))
    seals = KeyFile(settings.secrets_key)
    async with AsyncExitStack() as stack:
        db = Db.open(settings.database_url)
        stack.push_async_callback(db.close)
        await db.start()
        feed = Feed(db)
        await feed.start()
        stack.push_async_callback(feed.close)
        journal = Journal(db, feed, new_id=clock.new_id)
        yield Parts(
            settings=settings, db=db, journal=journal, feed=feed, tokens=tokens, clock=clock,
            runtime=Runtime(
                db=db, journal=journal, tokens=tokens, clock=clock, ages=_ages(settings),
                seals=seals, limits=_limits(settings), outside=_outside(settings),
                data=settings.data,
            ),
            reader=Reader(
                db=db, journal=journal, feed=feed, clock=clock, data=settings.data, seals=seals,
                trace_key=tokens.trace_key,
            ),
            seals=seals,
        )  # fmt: skip


def asgi(built: Parts, *, demo_view: Any = None) -> Starlette:
    """The whole web application: programs under /v1, the demo's endpoint, people elsewhere."""
    from studio import web  # a process that only works needs no pages

    settings = built.settings
    programs = late.Application(
        "studio.api.routes", lambda api: api.app(built.runtime, built.reader, settings)
    )
    routes: list[Any] = [Mount("/v1", app=programs)]
    if demo_view is not None:
        routes.append(
            Route(
                "/demo/notices", demo_view.receive, methods=["POST"],
                middleware=web.outermost(settings),
            )
        )  # fmt: skip
    people_app = web.app(built.runtime, built.reader, settings, demo=demo_view)
    return Starlette(
        routes=[*routes, Mount("/", app=people_app)], exception_handlers={404: _nowhere}
    )


async def _nowhere(request: Request, error: Exception) -> Response:
    """A path with a line break in it fits no route at all; everything else answers for itself."""
    return JSONResponse(
        {"error": {"code": "not_found", "message": "There is no such page.", "details": {}}}, 404
    )


def worker(built: Parts) -> "Worker":
    """A worker of this process with its own hands and mind, loaded only where one works."""
    from studio.core.disks.disks import Disks
    from studio.core.network.resolver import Rules
    from studio.core.providers.shelf import Shelf
    from studio.core.sandboxes.opening import Opener
    from studio.core.tools.catalog import LiveCatalog
    from studio.core.tools.plugins import Plugins
    from studio.core.tools.values import Values
    from studio.core.work import health
    from studio.core.work.environments.opens import Opens
    from studio.core.work.environments.places import Places
    from studio.core.work.opening import Opening
    from studio.core.work.plugins import StoredPlugins
    from studio.core.work.trying import model_look
    from studio.core.worker import Worker

    settings = built.settings
    values = Values(settings.tool_settings, _own_key(settings))
    _mask_logs(values.mask)
    bundled = Path(__file__).parent / "demo" / "plugin"
    machine = socket.gethostname()
    plugins = StoredPlugins(
        db=built.db, feed=built.feed, clock=built.clock, folder=settings.data / "packages",
        folders=Plugins([bundled, *settings.plugins]), machine=machine,
    )  # fmt: skip
    catalog = LiveCatalog(
        plugins, values,
        frozenset(settings.http_allow), settings.data,
    )  # fmt: skip
    opening = Opening(
        db=built.db, feed=built.feed, clock=built.clock, values=values, seals=built.seals
    )
    shelf = Shelf(values, opening.resolve)
    name = f"{machine}-{os.getpid()}-{secrets.token_hex(4)}"
    places = Places(
        db=built.db, journal=built.journal, clock=built.clock, opening=opening,
        folder=settings.data / "environments", disks=Disks(settings.data / "versions"),
        opens=Opens(Opener(Rules.of(settings.http_allow), built.clock.now), values), worker=name,
        limits=_limits(settings),
    )  # fmt: skip
    return Worker(
        db=built.db, journal=built.journal, feed=built.feed, shelf=shelf,
        opening=opening,
        looks={"model": model_look(shelf, built.clock), "server": health.look(catalog)},
        catalog=catalog, clock=built.clock, concurrency=settings.concurrency,
        trace_key=built.tokens.trace_key, name=name, places=places, limits=_limits(settings),
        beside=_exporting(built, name, values.mask),
    )  # fmt: skip


def _exporting(built: Parts, worker: str, mask: Mask) -> "list[Callable[[], Any]]":
    """What exports spans, where a collector is set; loaded only then. Else what says so."""
    settings = built.settings
    if not settings.collector:
        from studio.core.telemetry import unset

        return [partial(unset.say, built.db, built.clock)]
    from studio.core.telemetry.exporter import Exporter
    from studio.core.telemetry.sending import Target

    target = Target(
        url=settings.collector, headers=settings.otel_headers,
        seconds=settings.otel_timeout / 1000,
    )  # fmt: skip
    exporter = Exporter(
        db=built.db, feed=built.feed, clock=built.clock, owner=worker, target=target,
        key=built.tokens.trace_key, service=settings.otel_service, hours=settings.export_hours,
        kinds=settings.export_content, hide=mask.text,
    )  # fmt: skip
    return [exporter.run]


def _own_key(settings: Settings) -> list[tuple[str, str]]:
    """Keys of this machine's commands and of its collector, which nothing outside should say."""
    given = [settings.api_key]
    if settings.cli_key_file.exists():
        given.append(settings.cli_key_file.read_text("ascii", "replace").strip())
    own = [("application key", key) for key in given if key]
    theirs = (value.split()[-1] for _, value in settings.otel_headers if value.strip())
    return own + [("collector's header", one) for one in theirs if len(one) >= LIKE_A_SECRET]


def _mask_logs(mask: Mask) -> None:
    """Nothing that is logged holds a secret, whatever an error says."""
    for handler in logging.getLogger().handlers:
        inner = handler.formatter
        if isinstance(inner, MaskedFormatter):
            inner = inner.inner
        handler.setFormatter(MaskedFormatter(inner or logging.Formatter(), mask))


# Running -----------------------------------------------------------------------------------------


def serve(
    settings: Settings, *, web: bool, work: bool, demo: bool = False,
    ready: Callable[[str, str], None] | None = None,
) -> None:  # fmt: skip
    """Serve, work, or both, until told to stop. `ready(url, sign-in link)` is called once up."""
    migrate(settings)
    asyncio.run(_serve(settings, web=web, work=work, with_demo=demo, ready=ready))


async def _serve(
    settings: Settings, *, web: bool, work: bool, with_demo: bool,
    ready: Callable[[str, str], None] | None,
) -> None:  # fmt: skip
    listening = address.listen(settings) if web else None
    if listening is not None:
        settings = _at_port(settings, listening.getsockname()[1])
    async with AsyncExitStack() as stack:
        demo_view = None
        if with_demo:
            settings, demo_view = host.prepare(settings)
        built = await stack.enter_async_context(parts(settings))
        await command_key.leave(built.runtime, built.reader, STUDIO, settings)
        if with_demo:
            await host.install(built.runtime, built.reader, STUDIO, settings)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        first = asyncio.Event()
        beside = [group.create_task(_sweep(built))]
        if web:
            beside.append(group.create_task(warming.warm(first)))
        if work:
            beside.append(group.create_task(_work(built)))
        try:
            if listening is None:
                warming.settle()
                await _until_signalled()
            else:
                await _answer(built, listening, demo_view, first, ready)
        finally:
            for task in beside:
                task.cancel()


async def _answer(
    built: Parts, listening: socket.socket, demo_view: Any, first: asyncio.Event,
    ready: Callable[[str, str], None] | None,
) -> None:  # fmt: skip
    config = uvicorn.Config(
        late.Answered(asgi(built, demo_view=demo_view), first),
        lifespan="off", log_config=None, access_log=False,
        server_header=False, proxy_headers=False, timeout_graceful_shutdown=2, backlog=4096,
    )  # fmt: skip
    warming.settle()
    here = built.settings
    with serving.told(here.data, serving.Place(url=here.url, own_url=here.own_url)):
        if ready is not None:
            ready(here.url, login(here, "operator", "admin"))
        await uvicorn.Server(config).serve(sockets=[listening])


async def _work(built: Parts) -> None:
    """Keep a worker going: what breaks is told, and a new one starts."""
    while True:
        one = await asyncio.to_thread(worker, built)  # it loads much; pages are answered meanwhile
        try:
            await one.run()
        except Exception:
            log.exception("The worker broke; a new one starts in %g s.", RESTART_SECONDS)
            await asyncio.sleep(RESTART_SECONDS)
        finally:
            await one.close()


async def _sweep(built: Parts) -> None:
    """Take away what is of no use to anybody any more, now and then, and when there is much that
    somebody forgot; twice does no harm."""
    is_to_clear = built.runtime.is_to_clear
    while True:
        is_to_clear.clear()
        try:
            await upkeep.sweep_all(
                built.db, built.clock.now(), _ages(built.settings), _outside(built.settings)
            )
        except Unavailable as error:
            log.warning("Nothing was swept: %s It is tried again in an hour.", error)
        except Exception:
            log.exception("Sweeping failed; it is tried again in an hour.")
        with suppress(TimeoutError):
            await asyncio.wait_for(is_to_clear.wait(), SWEEP_SECONDS)


def _ages(settings: Settings) -> Ages:
    """How long a sign-in is good."""
    return Ages(idle=settings.sign_in_idle_days * DAY, total=settings.sign_in_days * DAY)


def _limits(settings: Settings) -> FileLimits:
    """What a file may be."""
    return FileLimits(upload_bytes=settings.upload_mib * MIB, pdf_pages=settings.pdf_pages)


def _outside(settings: Settings) -> OutsideLimits:
    """How much is taken and kept of traces from outside."""
    return OutsideLimits(
        request_bytes=settings.outside_mib * MIB, request_spans=settings.outside_request_spans,
        trace_spans=settings.outside_spans, trace_bytes=settings.outside_trace_mib * MIB,
        sender_bytes=settings.outside_sender_mib * MIB, days=settings.outside_days,
        traces=settings.outside_traces,
    )  # fmt: skip


async def _until_signalled() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()


def _at_port(settings: Settings, port: int) -> Settings:
    """The settings with the port that was really bound (STUDIO_PORT=0 lets the system choose)."""
    if settings.port == port:
        return settings
    hosts = tuple(name.replace(":0", f":{port}") for name in settings.hosts)
    return replace(settings, port=port, url=settings.url.replace(":0", f":{port}"), hosts=hosts)
