"""The demo inside a studio: what it brings, the endpoint its notices reach, and what came of it.

`prepare` needs no store, `install` uses the runtime's verbs like anybody else. A demo that was
changed by a person stays as they left it.
"""

import asyncio
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.runtime import Runtime
from studio.settings import Settings

HERE = Path(__file__).parent
AGENT = "release-assistant"
SITE, LABELS = "demo-site", {"demo": "site"}
SETTING = "DEMO_TOKEN"
LARGEST = 64 * 1024
SHOWN = 20

NOTICES = """
CREATE TABLE IF NOT EXISTS notices (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, text TEXT NOT NULL,
    at REAL NOT NULL, times INTEGER NOT NULL DEFAULT 1)
"""


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message to try, in which environment if in any, and what to watch when it is sent."""

    title: str
    text: str
    watch: str
    environment: str = ""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release in the ledger. `at` and `withdrawn` are ms, UTC."""

    version: str
    channel: str
    notes: str
    notify: tuple[str, ...]
    percent: int
    canary: bool
    at: int
    withdrawn: int | None


@dataclass(frozen=True, kw_only=True)
class Notice:
    """A notice that arrived. `times` counts how often the same key came; it was put up once."""

    channel: str
    text: str
    at: int
    times: int


@dataclass(frozen=True, kw_only=True)
class Applied:
    """One effect of the plugin's server, as it counted it."""

    tool: str
    what: str
    at: int


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the demo's outside world looks like now."""

    agent: str
    messages: tuple[Message, ...]
    releases: tuple[Release, ...]
    notices: tuple[Notice, ...]
    applied: tuple[Applied, ...]
    plugin: str
    plugin_version: str


class Demo:
    """The outside world of the demo, kept in two small files of its own."""

    def __init__(self, folder: Path, token: str) -> None:
        self._ledger, self._notices = folder / "ledger.db", folder / "notices.db"
        self._token = token
        brought = _json("plugin/release-kit/plugin.json")
        self._plugin, self._plugin_version = str(brought["name"]), str(brought["version"])
        self.messages = tuple(Message(**item) for item in _json("messages.json"))

    async def seen(self) -> Seen:
        """Releases, notices and effects, newest first."""
        return await asyncio.to_thread(self._seen)

    async def receive(self, request: Request) -> Response:
        """POST /demo/notices: take a notice. The same Idempotency-Key is put up once."""
        if not secrets.compare_digest(request.headers.get("x-demo-token", ""), self._token):
            return JSONResponse({"error": "The token is missing or wrong."}, 401)
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST:
                return JSONResponse({"error": "The notice is too long."}, 413)
        try:
            notice = json.loads(bytes(body))
            channel, text = str(notice["channel"]), str(notice["text"])
        except (ValueError, KeyError, TypeError):
            return JSONResponse({"error": "A notice has a channel and a text."}, 400)
        key = request.headers.get("idempotency-key") or secrets.token_hex(16)
        return JSONResponse(await asyncio.to_thread(self._put_up, key, channel, text), 201)

    def _put_up(self, key: str, channel: str, text: str) -> dict[str, Any]:
        with _open(self._notices) as conn:
            conn.execute(NOTICES)
            conn.execute(
                "INSERT INTO notices (key, channel, text, at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET times = times + 1",
                (key, channel, text, time.time()),
            )
            row = conn.execute("SELECT id, times FROM notices WHERE key = ?", (key,)).fetchone()
        return {"notice": row[0], "channel": channel, "told": True}

    def _seen(self) -> Seen:
        return Seen(
            agent=AGENT, messages=self.messages, plugin=self._plugin,
            plugin_version=self._plugin_version,
            releases=tuple(_release(row) for row in _rows(
                self._ledger, "SELECT version, channel, notes, notify, percent, canary, at, "
                "withdrawn FROM releases ORDER BY at DESC LIMIT ?")),
            notices=tuple(
                Notice(channel=channel, text=text, at=_ms(at), times=times)
                for channel, text, at, times in _rows(
                    self._notices,
                    "SELECT channel, text, at, times FROM notices ORDER BY id DESC LIMIT ?")),
            applied=tuple(
                Applied(tool=tool, what=what, at=_ms(at))
                for tool, what, at in _rows(
                    self._ledger, "SELECT tool, what, at FROM applied ORDER BY id DESC LIMIT ?")),
        )  # fmt: skip


def prepare(settings: Settings) -> tuple[Settings, Demo]:
    """The settings with the demo's own address and token, and its outside world."""
    folder = settings.data / "demo"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = _token(folder / "token")
    reachable = settings.url.partition("://")[2]
    return (
        replace(
            settings,
            tool_settings={**settings.tool_settings, SETTING: token},
            http_allow=(*settings.http_allow, reachable),
        ),
        Demo(folder, token),
    )


async def install(runtime: Runtime, reader: Reader, person: Person, settings: Settings) -> bool:
    """Bring agent and policy into an empty studio; false when it is not the demo's to fill."""
    agents = await reader.agents(person)
    if agents and settings.demo != "on" and not any(row.name == AGENT for row in agents):
        return False
    if not any(row.name == AGENT for row in agents) or await _address_moved(
        reader, person, settings
    ):
        await runtime.save_agent(person, manifest(settings.url))
    if (await reader.policy(person)).version == 0:
        await runtime.save_policy(person, _json("policy.json"), expect=0, note="The demo's policy")
    await _site(runtime, reader, person)
    return True


async def _site(runtime: Runtime, reader: Reader, person: Person) -> None:
    """The environment of the demo, made once: what people do with it then stays as they left it."""
    manifest = _json("environment.json")
    if any(row.name == manifest["name"] for row in await reader.environment_manifests(person)):
        return
    await runtime.save_environment_manifest(person, manifest)
    await runtime.make_environment(person, SITE, manifest=manifest["name"], labels=LABELS)


def manifest(url: str) -> Mapping[str, Any]:
    """The agent's manifest with the studio's own address as that of the notices."""
    text = (HERE / "agent.json").read_text("utf-8").replace("${demo}", url)
    found: Mapping[str, Any] = json.loads(text)
    return found


async def _address_moved(reader: Reader, person: Person, settings: Settings) -> bool:
    """The studio listens elsewhere now, so notices would miss it. Only our own text is renewed."""
    try:
        view = await reader.agent(person, AGENT)
    except NotFound:
        return True
    ours = {**view.manifest, "tools": None} == {**manifest(settings.url), "tools": None}
    return ours and view.manifest != manifest(settings.url)


def _token(path: Path) -> str:
    if not path.exists():
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(24))
    return path.read_text("ascii").strip()


def _json(name: str) -> Any:
    return json.loads((HERE / name).read_text("utf-8"))


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, timeout=10)) as conn, conn:
        yield conn


def _rows(path: Path, query: str) -> list[Any]:
    if not path.exists():
        return []
    with _open(path) as conn:
        try:
            return conn.execute(query, (SHOWN,)).fetchall()
        except sqlite3.OperationalError:  # the file is there, its tables not yet
            return []


def _release(row: Any) -> Release:
    version, channel, notes, notify, percent, canary, at, withdrawn = row
    return Release(
        version=version, channel=channel, notes=notes, notify=tuple(json.loads(notify)),
        percent=percent, canary=bool(canary), at=_ms(at),
        withdrawn=_ms(withdrawn) if withdrawn is not None else None,
    )  # fmt: skip


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
