"""MCP servers as people see them: how each is, who uses it; and what one would bring."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from studio.core.projections import probes
from studio.core.projections.agents import VERDICTS
from studio.core.projections.probes import ProbeView
from studio.core.rules import policy, servers
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.rules.policy import Policy, Subject
from studio.core.rules.sources import RESERVED
from studio.core.store import agents, listings, plugins, policies
from studio.core.store import servers as states

NEVER = "never asked"
KIND = "server"


@dataclass(frozen=True, kw_only=True)
class ServerRow:
    """One server. `state` is up, down or `never asked`, as of `asked`; times are ms or None.

    `error` says why it is down, `said` is its last line beside the protocol: it may be of anybody's
    session, so only admins have it. `latency` is the ms of its last listing (`listed`).
    `agents` use it in their newest version.
    """

    id: str
    name: str
    plugin: str | None
    plugin_version: str | None
    transport: str
    destination: str
    state: str = NEVER
    error: str = ""
    said: str = ""
    latency: int | None = None
    tools: tuple[str, ...] = ()
    listed: int | None = None
    asked: int | None = None
    changed: int | None = None
    agents: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PreviewTool:
    """A tool that a server would bring; `hints` are its own words, `sentence` the policy's.

    `called` is the name models would know it by. `problem` says why it would be left out, or what
    it collides with.
    """

    name: str
    called: str
    description: str
    schema: Any
    output: Any
    hints: tuple[str, ...]
    hash: str
    problem: str
    verdict: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class ServerPreview:
    """A look at a server: how it stands, and what was found. `about` is who it says it is."""

    probe: ProbeView
    about: Mapping[str, str]
    took: int | None
    said: str
    count: int
    tools: tuple[PreviewTool, ...]
    policy_version: int


def rows(conn: sa.Connection, person: Person) -> list[ServerRow]:
    """Every server of the newest agents and of the plugins there are, by name."""
    declared: dict[str, ServerRow] = {}
    users: dict[str, list[str]] = {}
    by_plugin: dict[str, list[str]] = {}
    for agent in agents.list(conn):
        for entry in agent.manifest.get("servers") or ():
            row = _declared(entry)
            declared.setdefault(row.id, row)
            users.setdefault(row.id, []).append(agent.name)
        for plugin in agent.manifest.get("plugins") or ():
            by_plugin.setdefault(str(plugin).partition("@")[0], []).append(agent.name)
    for name, version, entries in _of_plugins(conn):
        for entry in entries:
            row = _declared(entry, name, version)
            declared.setdefault(row.id, row)
    found = {state.id: state for state in states.every(conn)}
    known = {row.plugin for row in declared.values()}
    for state in found.values():
        if state.plugin in by_plugin and state.plugin not in known:  # a folder's, met by a worker
            declared.setdefault(state.id, _met(state))
    made = [
        _with_state(
            row, found.get(row.id), (*users.get(row.id, ()), *by_plugin.get(str(row.plugin), ()))
        )
        for row in declared.values()
    ]
    if person.role != "admin":
        made = [replace(row, error=servers.unsaid(row.error), said="") for row in made]
    return sorted(made, key=lambda row: (row.name, row.plugin or "", row.id))


def preview(conn: sa.Connection, person: Person, probe_id: str, agent: str) -> ServerPreview:
    """A look that was asked for, with what the policy of now says of each tool for an agent."""
    probe = probes.one(conn, person, probe_id)
    if probe.kind != KIND:
        raise NotFound("There is no such preview.", code="probe.not_found")
    rules = policies.current(conn)
    answer = probe.answer if isinstance(probe.answer, Mapping) else {}
    taken = _taken(conn, agent)
    return ServerPreview(
        probe=probe, about=answer.get("about", {}), took=answer.get("took_ms"),
        said=answer.get("said", ""), count=answer.get("count", 0), policy_version=rules.version,
        tools=tuple(
            _tool(tool, rules, agent, probe, taken) for tool in answer.get("tools", ())
        ),
    )  # fmt: skip


def _declared(
    entry: Mapping[str, Any], plugin: str | None = None, version: str | None = None
) -> ServerRow:
    return ServerRow(
        id=servers.identity(entry, plugin, version), name=str(entry.get("name", "")),
        plugin=plugin, plugin_version=version, transport=str(entry.get("transport", "stdio")),
        destination=servers.destination(entry),
    )  # fmt: skip


def _met(state: states.ServerState) -> ServerRow:
    return ServerRow(
        id=state.id, name=state.name, plugin=state.plugin, plugin_version=state.plugin_version,
        transport=state.transport, destination=state.destination,
    )  # fmt: skip


def _of_plugins(
    conn: sa.Connection,
) -> Iterable[tuple[str, str, Iterable[Mapping[str, Any]]]]:
    for installed in plugins.every(conn):
        yield installed.plugin.name, installed.plugin.version, installed.plugin.servers
    for found in plugins.folders(conn):
        if not found.problem:
            yield found.plugin.name, found.plugin.version, found.plugin.servers


def _with_state(
    row: ServerRow, state: states.ServerState | None, users: Iterable[str]
) -> ServerRow:
    names = tuple(dict.fromkeys(users))
    if state is None:
        return replace(row, agents=names)
    return replace(
        row, agents=names, state=state.state, error=state.error, said=state.said,
        latency=state.latency, tools=state.tools, listed=state.listed, asked=state.asked,
        changed=state.changed,
    )  # fmt: skip


def _taken(conn: sa.Connection, agent: str) -> dict[str, str]:
    """The names that are given already, and to what, as an agent was last listed."""
    found = agents.get(conn, agent) if agent else None
    listing = listings.get(conn, found.name, found.version) if found else None
    tools = listing.tools if listing else ()
    return {
        str(tool["name"]): f"the server {tool['server']}" if tool.get("server") else "an HTTP tool"
        for tool in tools
        if tool.get("kind") != "platform"
    }


def _tool(
    tool: Mapping[str, Any], rules: Policy, agent: str, probe: ProbeView, taken: Mapping[str, str]
) -> PreviewTool:
    name, read_only = str(tool["called"]), bool(tool.get("read_only"))
    subject = Subject(
        tool=name, kind="mcp", agent=agent, server=_server(probe), plugin=None, read_only=read_only
    )
    word, sentence = policy.for_tool(rules, subject)
    problem = str(tool.get("problem") or "")
    if not problem and name in taken and name not in RESERVED:
        server = _server(probe)
        problem = f"{taken[name]} of {agent} has this name; it would be called {server}_{name}."
    return PreviewTool(
        name=str(tool["name"]), called=name, description=str(tool.get("description") or ""),
        schema=tool.get("schema"), output=tool.get("output"), hints=tuple(_hints(tool)),
        hash=str(tool["hash"]), problem=problem, verdict=VERDICTS.get(word, "depends"),
        sentence=sentence,
    )  # fmt: skip


def _server(probe: ProbeView) -> str:
    subject = probe.subject if isinstance(probe.subject, Mapping) else {}
    return str(subject.get("name", ""))


def _hints(tool: Mapping[str, Any]) -> Iterable[str]:
    """What a server says of its tool, in words; these are its own claims."""
    words = {
        "read_only": ("only reads", "changes things"),
        "destructive": ("may destroy", "only adds"),
        "idempotent": ("may be repeated", "not to be repeated"),
        "open_world": ("reaches outside", "stays inside"),
    }
    for name, (yes, no) in words.items():
        if tool.get(name) is not None:
            yield yes if tool[name] else no
