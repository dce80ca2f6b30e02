"""Agents: the newest version of each, and one version with its tools as last found."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules import policy, ways
from studio.core.rules.errors import NotFound
from studio.core.rules.policy import Policy, Subject
from studio.core.rules.skills import Brief
from studio.core.store import agents as kept
from studio.core.store import listings, policies, tables
from studio.core.store.agents import Agent

NOT_LISTED = "Its tools are not known yet: a worker asks for them when a session first runs."
NOT_YET = "Sub-agents can be named, and run in a later release: the model is not offered it."
VERDICTS = {"runs": "allow", "held": "ask", "denied": "deny"}

a = tables.agents.c


@dataclass(frozen=True, kw_only=True)
class AgentBrief:
    """The agent of a session: the version it is on, the newest one, and a line about it."""

    name: str
    version: int
    latest: int
    description: str


@dataclass(frozen=True, kw_only=True)
class AgentRow:
    """An agent in the list: its newest version and when and by whom that was saved."""

    name: str
    version: int
    description: str
    model: str
    provider: str
    tools: int
    servers: int
    plugins: tuple[str, ...]
    by: str
    time: int


@dataclass(frozen=True, kw_only=True)
class ToolView:
    """A tool of an agent version. `schema` is JSON Schema of its arguments, None while unknown.

    `verdict` is what the policy would say: allow, ask, deny, or depends (on the arguments), and
    `sentence` says so in words, with the rules that decide it.
    """

    name: str
    kind: str
    server: str | None
    plugin: str | None
    plugin_version: str | None
    origin: str
    description: str
    schema: Any
    read_only: bool
    repeatable: bool
    destination: str
    verdict: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class GapView:
    """A server or tool that was `missing` when the tools were last looked for, or was `renamed`."""

    source: str
    message: str
    kind: str = "missing"


@dataclass(frozen=True, kw_only=True)
class VersionRow:
    """A saved version, of an agent or of the policy."""

    version: int
    by: str
    time: int
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class AgentView:
    """One version of an agent. `listed` is when a worker last listed its tools, None if never."""

    name: str
    version: int
    latest: int
    time: int
    by: str
    manifest: dict[str, Any]
    digest: str
    tools: tuple[ToolView, ...]
    gaps: tuple[GapView, ...]
    skills: tuple[Brief, ...]
    listed: int | None
    versions: tuple[VersionRow, ...]


def brief(conn: sa.Connection, name: str, version: int) -> AgentBrief:
    """The agent of a session: one statement."""
    latest = sa.select(sa.func.max(a.version)).where(a.name == name).scalar_subquery()
    query = sa.select(a.manifest, latest).where(a.name == name, a.version == version)
    found = conn.execute(query).one_or_none()
    manifest, newest = (json.loads(found[0]), found[1]) if found else ({}, version)
    description = str(manifest.get("description", ""))
    return AgentBrief(name=name, version=version, latest=newest, description=description)


def rows(conn: sa.Connection) -> list[AgentRow]:
    """The newest version of every agent, by name: one statement."""
    return [_row(agent) for agent in kept.list(conn)]


def view(conn: sa.Connection, name: str, version: int | None) -> AgentView:
    """One version of an agent, the newest without `version`: four statements."""
    versions = _versions(conn, name)
    agent = kept.get(conn, name, version)
    if agent is None:
        raise NotFound("There is no such agent, or no such version of it.", code="agent.not_found")
    listing = listings.get(conn, name, agent.version)
    rules = policies.current(conn)
    found = listing.tools if listing else described(agent.manifest)
    return AgentView(
        name=name, version=agent.version, latest=versions[0].version, time=agent.time, by=agent.by,
        manifest=agent.manifest, digest=agent.digest, versions=versions,
        tools=judged(found, rules, name),
        skills=tuple(Brief(**one) for one in listing.skills) if listing else (),
        gaps=_gaps(agent.manifest, listing), listed=listing.time if listing else None,
    )  # fmt: skip


def judged(found: Iterable[Mapping[str, Any]], rules: Policy, name: str) -> tuple[ToolView, ...]:
    """Tools in the shape of `listings.save`, with what these rules say of each."""
    return tuple(_tool(tool, rules, name) for tool in found)


def _row(agent: Agent) -> AgentRow:
    manifest = agent.manifest
    model = manifest.get("model", {})
    return AgentRow(
        name=agent.name, version=agent.version, description=manifest.get("description", ""),
        model=model.get("name", ""), provider=model.get("provider", ""),
        tools=len(manifest.get("tools", ())), servers=len(manifest.get("servers", ())),
        plugins=tuple(manifest.get("plugins", ())), by=agent.by, time=agent.time,
    )  # fmt: skip


def _versions(conn: sa.Connection, name: str) -> tuple[VersionRow, ...]:
    query = sa.select(a.version, a.by, a.time).where(a.name == name).order_by(a.version.desc())
    return tuple(VersionRow(**row) for row in conn.execute(query).mappings())


def described(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The HTTP tools, which the manifest describes itself."""
    return [
        {
            **{name: tool.get(name) for name in ("name", "description", "read_only", "repeatable")},
            "kind": "http",
            "schema": tool.get("input"),
            "destination": ways.destination(
                str(tool.get("method", "")), str(tool.get("url", "")), tool
            ),
        }
        for tool in manifest.get("tools", ())
    ]


def _tool(tool: Mapping[str, Any], rules: Policy, agent: str) -> ToolView:
    """A tool in the shape of `listings.save`, judged by these rules."""
    kind, server, plugin = str(tool["kind"]), tool.get("server"), tool.get("plugin")
    read_only = bool(tool.get("read_only"))
    subject = Subject(
        tool=tool["name"], kind=kind, agent=agent, server=server, plugin=plugin, read_only=read_only
    )
    word, sentence = policy.for_tool(rules, subject)
    return ToolView(
        name=tool["name"], kind=kind, server=server, plugin=plugin,
        plugin_version=tool.get("plugin_version"), origin=_origin(kind, server, plugin),
        description=tool.get("description") or "", schema=tool.get("schema"), read_only=read_only,
        repeatable=bool(tool.get("repeatable")), destination=tool.get("destination") or "",
        verdict=VERDICTS.get(word, "depends"), sentence=sentence,
    )  # fmt: skip


def _origin(kind: str, server: str | None, plugin: str | None) -> str:
    """Where a tool comes from, in words: `server ledger of plugin release-kit`."""
    words = f"server {server}" if server else f"{kind} tool"
    return f"{words} of plugin {plugin}" if plugin else words


def _gaps(manifest: Mapping[str, Any], listing: listings.Listing | None) -> tuple[GapView, ...]:
    if listing is not None:
        return tuple(GapView(**gap) for gap in listing.gaps)
    servers = [f"server {server.get('name', '')}" for server in manifest.get("servers", ())]
    plugins = [f"plugin {name}" for name in manifest.get("plugins", ())]
    found = [GapView(source=source, message=NOT_LISTED) for source in (*servers, *plugins)]
    later = [f"agent {name}" for name in manifest.get("agents") or ()]
    return (*found, *(GapView(source=source, message=NOT_YET) for source in later))
