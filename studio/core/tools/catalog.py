"""The tools an agent is offered: described HTTP calls, MCP servers, plugins, the platform's own.

Keeps one connection per server configuration; what was offered is kept until a server says that
its tools changed, or breaks. What cannot be offered is a Gap in words, never an exception.
"""

import asyncio
import importlib
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studio.core.network.resolver import Rules
from studio.core.rules import ids
from studio.core.tools import http, needs, offers, platform, skills
from studio.core.tools import seen as told
from studio.core.tools.lending import Lending
from studio.core.tools.mcp.connection import Connection, Down, Server
from studio.core.tools.mcp.watcher import Watcher
from studio.core.tools.plugins import Plugin, PluginShelf
from studio.core.tools.servers import BadServer, Source, server
from studio.core.tools.tool import Gap, Lends, Offered, ServerSeen, Tool
from studio.core.tools.values import Values

if TYPE_CHECKING:
    from studio.core.network.connector import Connector

KEPT_OFFERS = 256
LATER = "Sub-agents can be named, and run in a later release: the model is not offered it."
IDLE_SECONDS = 900.0
WAY_OUT = "studio.core.network.connector"  # its libraries take a moment to load
SDK = ("mcp.client.client", "mcp.client.streamable_http", "mcp.client.subscriptions")


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """What was offered of a manifest, and of which states of its connections that is true."""

    manifest: Mapping[str, Any]
    offered: Offered
    states: tuple[tuple[Connection, int], ...]
    whole: bool
    values: int
    plugins: int


class LiveCatalog:
    """Finds the tools of a manifest and keeps the connections they need.

    `settings` maps names to values (see `values`), `allow` lists places (`host:port`) that tools
    may reach though they are not public, `data` is the folder that servers may keep files in.
    """

    def __init__(
        self, plugins: PluginShelf, settings: Mapping[str, str], allow: frozenset[str], data: Path
    ) -> None:
        self._plugins, self._data = plugins, data
        self._values, self._rules = Values.of(settings), Rules.of(allow)
        self._watcher = Watcher()
        self._connections: dict[str, Connection] = {}
        self._lending = Lending()
        self._ending: set[Connection] = set()
        self._kept: OrderedDict[tuple[int, str], _Kept] = OrderedDict()
        self._connector: Connector | None = None

    async def prepare(self) -> None:
        """Look at the plugins that are there."""
        await self._plugins.fresh()

    async def tidy(self) -> None:
        """End connections, and clear unpacked plugins, that nobody has used for long."""
        self._let_idle_go()
        connections = [*self._connections.values(), *self._ending]
        launches = [connection.server.launch for connection in connections]
        await self._plugins.tidy({launch.folder for launch in launches if launch is not None})

    async def offered(self, manifest: Mapping[str, Any], lends: Lends | None = None) -> Offered:
        """The tools of this manifest now; what is missing is a Gap, never an exception."""
        await self._plugins.fresh()
        if lends is not None:
            self._end(self._lending.outdated(lends))
        kept = self._kept.get(_key(manifest, lends))
        if kept is not None and kept.manifest is manifest and self._holds(kept):
            for connection, _ in kept.states:
                connection.used = time.monotonic()
            return kept.offered
        self._let_idle_go()
        return await self._found(manifest, lends)

    def _holds(self, kept: _Kept) -> bool:
        """Nothing was missing, and no value has changed and no server changed or gone since."""
        return (
            kept.whole
            and kept.values == self._values.generation
            and kept.plugins == self._plugins.generation
            and all(
                connection.is_up and connection.generation == generation
                for connection, generation in kept.states
            )
        )

    async def close(self) -> None:
        """End every server and connection it started."""
        connections = [*self._connections.values(), *self._ending]
        self._connections, self._kept = {}, OrderedDict()
        async with asyncio.TaskGroup() as group:
            for connection in connections:
                group.create_task(connection.close())
        await self._watcher.close()
        if self._connector is not None:
            await self._connector.aclose()

    async def _found(self, manifest: Mapping[str, Any], lends: Lends | None) -> Offered:
        gaps = list[Gap]()
        made = offers.Names()
        for tool in await self._http_tools(_entries(manifest, "tools"), gaps):
            made.add(tool, gaps)
        gaps += [
            Gap(source=f"agent {name}", message=LATER) for name in manifest.get("agents") or ()
        ]
        generation = self._plugins.generation
        plugins = await self._brought(manifest, gaps)
        sources = [_lent(source, lends) for source in self._sources(manifest, plugins)]
        seen = list[ServerSeen]()
        connections = await self._connected(sources, gaps, seen)
        for source, connection, listed in connections:
            for entry in listed:
                made.add_listed(entry, source, connection, gaps)
        packages = skills.offered(await self._packages(manifest, plugins, gaps), gaps)
        tools = {**made.tools, **platform.TOOLS, **skills.tools(packages)}
        held = {name: package.skill for name, package in packages.items()}
        answering = {source.name for source, _, _ in connections}
        gaps += needs.missing(held, tools, answering, self._values)
        offered = Offered(
            tools=tools, gaps=tuple(gaps), skills=skills.briefs(packages), servers=tuple(seen),
            packages=tuple(packages.values()),
        )  # fmt: skip
        states = tuple((connection, connection.generation) for _, connection, _ in connections)
        whole = len(connections) == len(sources)
        self._kept[_key(manifest, lends)] = _Kept(
            manifest=manifest, offered=offered, states=states, whole=whole,
            values=self._values.generation, plugins=generation,
        )  # fmt: skip
        while len(self._kept) > KEPT_OFFERS:
            self._kept.popitem(last=False)
        return offered

    async def _http_tools(
        self, entries: Iterable[Mapping[str, Any]], gaps: list[Gap]
    ) -> list[Tool]:
        found = list[Tool]()
        for entry in entries:
            name = str(entry.get("name", "a tool"))
            try:
                if entry.get("kind", "http") != "http":
                    raise http.BadTool(f"There are no tools of the kind {entry.get('kind')}.")
                described = http.described(entry, self._values)
            except (http.BadTool, TypeError, ValueError) as wrong:
                gaps.append(Gap(source=name, message=f"{name}: {wrong}"))
                continue
            found.append(http.HttpTool(described, await self._way_out()))
        return found

    async def _way_out(self) -> "Connector":
        loaded = await asyncio.to_thread(importlib.import_module, WAY_OUT)
        if self._connector is None:
            self._connector = loaded.Connector(self._rules)
        return self._connector

    async def _brought(self, manifest: Mapping[str, Any], gaps: list[Gap]) -> list[Plugin]:
        """The plugins of a manifest that are here, in the order they are named."""
        found = list[Plugin]()
        for name in manifest.get("plugins", ()):
            plugin = await self._plugins.find(str(name))
            if isinstance(plugin, str):
                gaps.append(Gap(source=str(name), message=f"Plugin {name}: {plugin}"))
            else:
                found.append(plugin)
        return found

    def _sources(self, manifest: Mapping[str, Any], plugins: Iterable[Plugin]) -> Iterable[Source]:
        """Servers of the manifest, then of its plugins, in the order they are named."""
        for entry in _entries(manifest, "servers"):
            yield Source(entry=entry, folder=self._data)
        for plugin in plugins:
            for entry in plugin.described.servers:
                yield Source(
                    entry=entry, folder=plugin.folder, plugin=plugin.name, version=plugin.version,
                    hash=plugin.described.hash, unpacked=plugin.unpacked,
                )  # fmt: skip

    async def _packages(
        self, manifest: Mapping[str, Any], plugins: Iterable[Plugin], gaps: list[Gap]
    ) -> list[skills.Package]:
        """The skills of a manifest: all of its plugins', or those that it names."""
        brought = [package for plugin in plugins for package in plugin.packages()]
        named = manifest.get("skills")
        if not isinstance(named, list | tuple):
            return brought
        found = list[skills.Package]()
        for name in map(str, named):
            package = await self._package(name, brought)
            if package is None:
                words = f"The skill {name} is not saved here, and none of its plugins brings it."
                gaps.append(Gap(source=f"skill {name}", message=words))
            else:
                found.append(package)
        return found

    async def _package(self, name: str, brought: list[skills.Package]) -> skills.Package | None:
        if "@" in name:
            return await self._plugins.skill(name.partition("@")[2])
        plugin, _, skill = name.rpartition("/")
        return next(
            (p for p in brought if p.skill.name == skill and plugin in ("", p.plugin)), None
        )

    async def _connected(
        self, sources: list[Source], gaps: list[Gap], seen: list[ServerSeen]
    ) -> list[tuple[Source, Connection, tuple[Any, ...]]]:
        """Each server that can be reached with the tools it lists; all are asked side by side."""
        if sources:
            await _load_sdk()
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._listed(source)) for source in sources]
        found = list[tuple[Source, Connection, tuple[Any, ...]]]()
        for source, task in zip(sources, asked, strict=True):
            answer = task.result()
            if isinstance(answer, Gap):
                gaps.append(answer)
                seen.append(told.missing(source, answer))
            else:
                found.append((source, *answer))
                seen.append(told.found(source, *answer))
        return found

    async def _listed(self, source: Source) -> tuple[Connection, tuple[Any, ...]] | Gap:
        try:
            described = server(source, self._values, self._data)
            connection = self._connection(source, described)
            return connection, await connection.tools()
        except (BadServer, Down) as wrong:
            return Gap(source=source.name, message=str(wrong))

    async def preview(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """What a server would bring, as JSON; it is started for this look alone.

        BadServer or Down say why there is nothing to see.
        """
        await _load_sdk()
        source = Source(entry=entry, folder=self._data)
        described = server(source, self._values, self._data)
        connection = Connection(described, self._rules, self._watcher)
        try:
            return told.preview(source, connection, await connection.tools())
        finally:
            await connection.close()

    def _connection(self, source: Source, described: Server) -> Connection:
        secrets = sorted(source.opened(self._values))
        parts: list[Any] = [source.entry, str(source.folder), source.hash, secrets]
        if source.lent is not None:
            parts += [source.lent.environment_id, source.lent.name, dict(described.headers)]
        key = ids.digest(parts)
        if key not in self._connections:
            self._connections[key] = Connection(described, self._rules, self._watcher)
        if source.lent is not None:
            self._end(self._lending.add(key, source.lent, self._connections))
        return self._connections[key]

    def _end(self, keys: Iterable[str]) -> None:
        """Let go of connections that carry what is lent no more, or that are too many."""
        for key in keys:
            connection = self._connections.pop(key, None)
            if connection is not None:
                connection.retire()
                self._ending.add(connection)

    def _let_idle_go(self) -> None:
        """End connections that no agent has needed for long; agents get new versions."""
        self._ending = {connection for connection in self._ending if not connection.is_over}
        now = time.monotonic()
        for key, connection in list(self._connections.items()):
            if not connection.busy and now - connection.used > IDLE_SECONDS:
                self._end([key])


async def _load_sdk() -> None:
    """It takes a moment, so not on the loop, and not before there is a server."""
    for module in SDK:
        await asyncio.to_thread(importlib.import_module, module)


def _key(manifest: Mapping[str, Any], lends: Lends | None) -> tuple[int, str]:
    return id(manifest), lends.identity if lends is not None else ""


def _lent(source: Source, lends: Lends | None) -> Source:
    """The server with what the environment lends to its address; a program gets nothing."""
    url = source.entry.get("url")
    if lends is None or source.entry.get("transport", "stdio") != "http" or not url:
        return source
    return replace(source, lent=lends.of(str(url)))


def _entries(manifest: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = manifest.get(name, ())
    return [item for item in found if isinstance(item, Mapping)]
