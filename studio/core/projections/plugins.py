"""Plugins: what is installed and what lies in folders, who uses it, and what its calls came to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from studio.core.projections import calls, pages, sessions
from studio.core.projections.calls import CallRow
from studio.core.projections.pages import Page
from studio.core.rules import plugins as rule
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.rules.plugin_changes import Change
from studio.core.rules.plugins import File, Plugin, Skill
from studio.core.store import agents, listings, tables
from studio.core.store import plugins as kept

WINDOW_FILE = 64 * 1024  # bytes of a file that a page shows
STATES = ("succeeded", "failed", "denied", "held", "uncertain", "cancelled", "started")

f, s, w = tables.effects.c, tables.sessions.c, tables.waits.c


@dataclass(frozen=True, kw_only=True)
class PluginCounts:
    """What the calls of a plugin came to, of those that the person may see. `held` is now.

    `failed` counts calls that failed; `uncertain` those that nobody has settled.
    """

    calls: int = 0
    succeeded: int = 0
    failed: int = 0
    denied: int = 0
    held: int = 0
    uncertain: int = 0


@dataclass(frozen=True, kw_only=True)
class PluginRow:
    """A plugin in the list. `source` is installed or folder; `where` names machine and folder.

    With a `problem` nothing of it is used. `revision` is 0 for a folder.
    """

    name: str
    version: str
    description: str
    source: str
    where: str
    problem: str
    revision: int
    hash: str
    servers: tuple[str, ...]
    skills: tuple[str, ...]
    agents: tuple[str, ...]
    counts: PluginCounts
    files: int
    size: int
    by: str
    time: int


@dataclass(frozen=True, kw_only=True)
class ServerView:
    """A server of a plugin: how it is reached, what it is given, and its tools as last listed.

    `asks` names the settings and secrets it is given; `gap` says why it did not answer last.
    """

    name: str
    transport: str
    target: str
    asks: tuple[str, ...]
    tools: tuple[Mapping[str, Any], ...]
    gap: str


@dataclass(frozen=True, kw_only=True)
class SkillView:
    """A skill of a plugin with the files beside SKILL.md; `files` are empty when not kept here."""

    skill: Skill
    files: tuple[File, ...]


@dataclass(frozen=True, kw_only=True)
class RevisionRow:
    """A version that was installed: when, by whom, and what it changed."""

    revision: int
    version: str
    hash: str
    by: str
    time: int
    removed: int | None
    removed_by: str | None
    changes: tuple[Change, ...]


@dataclass(frozen=True, kw_only=True)
class UserRow:
    """An agent that uses the plugin, as its newest version names it."""

    name: str
    version: int
    reference: str


@dataclass(frozen=True, kw_only=True)
class PluginView:
    """One plugin. `revision` is 0 and `history` empty when it lies in a folder."""

    row: PluginRow
    plugin: Plugin
    servers: tuple[ServerView, ...]
    skills: tuple[SkillView, ...]
    users: tuple[UserRow, ...]
    history: tuple[RevisionRow, ...]
    listed: int | None
    is_removed: bool = False


@dataclass(frozen=True, kw_only=True)
class FileView:
    """A file of a skill: its text, as much as a page shows, or None when it is no text."""

    file: File
    text: str | None
    cut: bool
    label: str = field(default="")


def rows(conn: sa.Connection, person: Person) -> list[PluginRow]:
    """Every plugin, by name: installed ones, then what lies in folders. Five statements."""
    counted = _counts(conn, person, None)
    newest = agents.list(conn)
    found = [_installed(one, newest, counted) for one in kept.every(conn)]
    found += [_folder(one, newest, counted) for one in kept.folders(conn)]
    return sorted(found, key=lambda row: (row.name, row.source != "installed", row.where))


def tools(conn: sa.Connection, name: str) -> list[Mapping[str, Any]]:
    """The tools of its servers, as a worker last listed them for any of the newest agents."""
    return [*_listed(conn, name, _users(agents.list(conn), name))[1].values()]


def names(conn: sa.Connection) -> list[str]:
    """The names that calls carry, for filters: one statement."""
    query = sa.select(tables.session_plugins.c.plugin).distinct().order_by("plugin").limit(200)
    return [str(row[0]) for row in conn.execute(query)]


def view(conn: sa.Connection, person: Person, name: str) -> PluginView:
    """One plugin, or NotFound: installed, in a folder, or removed with its history."""
    history = kept.history(conn, name)
    newest, counted = agents.list(conn), _counts(conn, person, name)
    current = next((one for one in history if one.removed is None), None)
    folder = next((one for one in kept.folders(conn) if one.plugin.name == name), None)
    if current is not None:
        row, plugin = _installed(current, newest, counted), current.plugin
    elif folder is not None:
        row, plugin = _folder(folder, newest, counted), folder.plugin
    elif history:
        row, plugin = _installed(history[0], newest, counted), history[0].plugin
    else:
        raise NotFound("There is no such plugin.", code="plugin.not_found")
    users = tuple(_users(newest, name))
    listed, tools, gaps = _listed(conn, name, users)
    return PluginView(
        row=row, plugin=plugin, users=users, listed=listed,
        servers=tuple(_server(server, tools, gaps) for server in plugin.servers),
        skills=tuple(
            SkillView(skill=skill, files=kept.files(conn, skill.hash)) for skill in plugin.skills
        ),
        history=tuple(_revision(one) for one in history),
        is_removed=current is None and folder is None,
    )  # fmt: skip


def file(conn: sa.Connection, name: str, skill: str, path: str) -> FileView:
    """One file of a skill of a plugin, as it is in force or lies in a folder."""
    row = kept.current(conn, name)
    plugins = [row.plugin] if row is not None else [one.plugin for one in kept.folders(conn)]
    skills = [one for plugin in plugins if plugin.name == name for one in plugin.skills]
    found = next((one for one in skills if one.name == skill), None)
    if found is None:
        raise NotFound("There is no such skill.", code="skill.not_found")
    inside = kept.files(conn, found.hash)
    wanted = next((one for one in inside if one.path == path), None)
    data = kept.data(conn, wanted.hash) if wanted is not None else None
    if wanted is None or data is None:
        raise NotFound("The skill has no such file.", code="skill.no_file")
    text, cut = _text(data)
    return FileView(file=wanted, text=text, cut=cut, label=found.label)


def recent(
    conn: sa.Connection, person: Person, name: str, *, state: str, limit: int, cursor: str | None
) -> Page[CallRow]:
    """Calls of a plugin, the newest first: one statement."""
    pages.one_of("state", state, STATES)
    bound = pages.filter_digest(list="plugin calls", name=name, state=state)
    place = pages.place(cursor, bound, int, str)
    size = pages.size(limit)
    query = (
        sa.select(*calls.LIGHT)
        .join(tables.sessions, s.id == f.session_id)
        .where(f.plugin == name, *sessions.visible(person))
        .order_by(f.proposed_at.desc(), f.id.desc())
        .limit(size + 1)
    )
    if state:
        query = query.where(f.state == state)
    if place is not None:
        query = query.where(
            sa.or_(f.proposed_at < place[0], sa.and_(f.proposed_at == place[0], f.id < place[1]))
        )
    found = [calls.of(row) for row in sessions.rows(conn, query)]
    items, more = tuple(found[:size]), len(found) > size
    last = (items[-1].proposed_at, items[-1].id) if items else None
    return Page(items=items, next=pages.cursor(bound, last) if more and last else None)


# ----------------------------------------------------------------------------------------------


def _counts(conn: sa.Connection, person: Person, name: str | None) -> dict[str, PluginCounts]:
    """Calls by plugin: one statement, and one more for who may not see all sessions."""
    found = dict[str, dict[str, int]]()
    which = [f.plugin == name] if name is not None else [f.plugin.is_not(None)]
    query = (
        sa.select(f.plugin, f.state, f.settled, sa.func.count())
        .where(*which)
        .group_by(f.plugin, f.state, f.settled)
    )
    _add(found, conn.execute(query), 1)
    if person.role != "admin":
        hidden = query.join(tables.sessions, s.id == f.session_id).where(
            s.private == 1, s.owner != person.id
        )
        _add(found, conn.execute(hidden), -1)
    return {plugin: _count(states) for plugin, states in found.items()}


def _add(found: dict[str, dict[str, int]], counted: Iterable[Any], sign: int) -> None:
    for plugin, state, settled, count in counted:
        states = found.setdefault(plugin, {})
        word = "settled" if state == "uncertain" and settled else state
        states[word] = states.get(word, 0) + sign * count


def _count(states: Mapping[str, int]) -> PluginCounts:
    known = ("succeeded", "failed", "denied", "held", "uncertain")
    return PluginCounts(calls=sum(states.values()), **{word: states.get(word, 0) for word in known})


def _installed(
    one: kept.Installed, newest: Iterable[agents.Agent], counted: Mapping[str, PluginCounts]
) -> PluginRow:
    plugin = one.plugin
    return _row(
        plugin, newest, counted, source="installed", where="", problem="", revision=one.revision,
        files=one.files, size=one.size, by=one.by, time=one.time,
    )  # fmt: skip


def _folder(
    one: kept.Found, newest: Iterable[agents.Agent], counted: Mapping[str, PluginCounts]
) -> PluginRow:
    return _row(
        one.plugin, newest, counted, source="folder", where=f"{one.machine}: {one.folder}",
        problem=one.problem, revision=0, files=one.files, size=one.size, by="", time=one.time,
    )  # fmt: skip


def _row(
    plugin: Plugin, newest: Iterable[agents.Agent], counted: Mapping[str, PluginCounts],
    **more: Any,
) -> PluginRow:  # fmt: skip
    return PluginRow(
        name=plugin.name, version=plugin.version, description=plugin.description,
        hash=plugin.hash, servers=tuple(str(server["name"]) for server in plugin.servers),
        skills=tuple(skill.name for skill in plugin.skills),
        agents=tuple(user.name for user in _users(newest, plugin.name)),
        counts=counted.get(plugin.name, PluginCounts()), **more,
    )  # fmt: skip


def _users(newest: Iterable[agents.Agent], name: str) -> Iterable[UserRow]:
    for agent in newest:
        named = agent.manifest.get("plugins") or ()
        found = next((str(one) for one in named if rule.reference(str(one))[0] == name), "")
        if found:
            yield UserRow(name=agent.name, version=agent.version, reference=found)


def _listed(
    conn: sa.Connection, name: str, users: Iterable[UserRow]
) -> tuple[int | None, dict[str, Mapping[str, Any]], dict[str, str]]:
    """When its tools were last listed, the tools by name, and gaps by server."""
    tools, gaps, listed = dict[str, Mapping[str, Any]](), dict[str, str](), None
    found = [listings.get(conn, user.name, user.version) for user in list(users)[:20]]
    for listing in sorted((one for one in found if one is not None), key=lambda one: one.time):
        listed = listing.time
        tools |= {
            t["name"]: t for t in listing.tools if t.get("plugin") == name and t.get("server")
        }
        gaps = {str(gap["source"]): str(gap["message"]) for gap in listing.gaps}
    return listed, tools, gaps


def _server(
    server: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]], gaps: Mapping[str, str]
) -> ServerView:
    given = [*(server.get("env") or {}).values(), *(server.get("headers") or {}).values()]
    asks = [str(value) for item in given if isinstance(item, Mapping) for value in item.values()]
    target = str(server.get("url") or " ".join(map(str, server.get("command") or ())))
    return ServerView(
        name=str(server["name"]), transport=str(server.get("transport", "stdio")), target=target,
        asks=tuple(dict.fromkeys(asks)), gap=gaps.get(str(server["name"]), ""),
        tools=tuple(tool for tool in tools.values() if tool.get("server") == server["name"]),
    )  # fmt: skip


def _revision(one: kept.Installed) -> RevisionRow:
    return RevisionRow(
        revision=one.revision, version=one.plugin.version, hash=one.plugin.hash, by=one.by,
        time=one.time, removed=one.removed, removed_by=one.removed_by, changes=one.changes,
    )  # fmt: skip


def _text(data: bytes) -> tuple[str | None, bool]:
    """The text of a file, as much as a page shows, and whether that is a part."""
    part = data[:WINDOW_FILE]
    try:
        text = part.decode("utf-8-sig") if len(data) <= WINDOW_FILE else part.decode(
            "utf-8-sig", "ignore"
        )  # fmt: skip
    except UnicodeDecodeError:
        return None, False
    return (None, False) if "\0" in text else (text, len(data) > WINDOW_FILE)
