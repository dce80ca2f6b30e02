"""Two versions of an agent side by side: what differs, and what the policy says of each tool."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.projections import agents, plugins
from studio.core.projections.agents import ToolView
from studio.core.rules import agent as agents_rule
from studio.core.rules import agent_diff
from studio.core.rules.agent_diff import Section
from studio.core.rules.conditions import same
from studio.core.rules.errors import NotFound
from studio.core.store import agents as kept
from studio.core.store import listings, policies, tables
from studio.core.store.agents import Agent

a = tables.agents.c
PAGE, MOST_PLUGINS = 50, 20


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two versions. `listed` says that a worker listed its tools; 0 is a draft."""

    version: int
    by: str
    time: int | None
    listed: bool


@dataclass(frozen=True, kw_only=True)
class VerdictRow:
    """A tool and what the policy of now says of it in both versions; "" where it is not there.

    `change` is added, removed, changed (the verdict, or what the tool says of itself) or same.
    """

    tool: str
    change: str
    before: str
    before_sentence: str
    after: str
    after_sentence: str


@dataclass(frozen=True, kw_only=True)
class AgentDiff:
    """How two versions of an agent differ, under the policy of now."""

    name: str
    old: Side
    new: Side
    latest: int
    sections: tuple[Section, ...]
    verdicts: tuple[VerdictRow, ...]
    policy_version: int


@dataclass(frozen=True, kw_only=True)
class VersionChange:
    """A saved version and what it changed, in short lines."""

    version: int
    by: str
    time: int
    changes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class VersionPage:
    """Versions, the newest first; `next` is the version to go on before, None at the end."""

    name: str
    latest: int
    versions: tuple[VersionChange, ...]
    next: int | None


def view(conn: sa.Connection, name: str, old: int, new: int) -> AgentDiff:
    """Two versions of one agent: six statements, and more for plugins not listed with either."""
    latest = conn.execute(sa.select(sa.func.max(a.version)).where(a.name == name)).scalar() or 0
    return _diff(conn, name, _one(conn, name, old), _one(conn, name, new), latest)


def draft(conn: sa.Connection, manifest: Mapping[str, Any]) -> AgentDiff:
    """A manifest that is not saved, against the newest version of its agent, if there is one."""
    name = str(manifest.get("name", ""))
    newest = kept.get(conn, name)
    old = _kept(conn, newest) if newest is not None else _unsaved({})
    return _diff(conn, name, old, _unsaved(manifest), old.side.version)


def versions(conn: sa.Connection, name: str, before: int | None) -> VersionPage:
    """The versions of an agent with what each changed: three statements."""
    latest = conn.execute(sa.select(sa.func.max(a.version)).where(a.name == name)).scalar()
    if latest is None:
        raise NotFound("There is no such agent.", code="agent.not_found")
    end = latest + 1 if before is None else before
    found = kept.window(conn, name, before=end, limit=PAGE + 1)
    rows = []
    for index, one in enumerate(found[:PAGE]):
        earlier = found[index + 1] if index + 1 < len(found) else None
        changes = agents_rule.diff(earlier.manifest, one.manifest) if earlier else ["new agent"]
        rows.append(
            VersionChange(version=one.version, by=one.by, time=one.time, changes=tuple(changes))
        )
    more = found[PAGE - 1].version if len(found) > PAGE else None
    return VersionPage(name=name, latest=latest, versions=tuple(rows), next=more)


@dataclass(frozen=True, kw_only=True)
class _Version:
    """A version, or a draft, with its tools as far as they are known."""

    side: Side
    manifest: Mapping[str, Any]
    listing: listings.Listing | None = None

    @property
    def plugins(self) -> set[str]:
        """The plugins that it names."""
        return {str(name).partition("@")[0] for name in self.manifest.get("plugins") or ()}

    @property
    def known(self) -> tuple[Mapping[str, Any], ...]:
        """The tools that a worker listed."""
        return self.listing.tools if self.listing is not None else ()

    def tools(
        self, other: "_Version", elsewhere: Iterable[Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        """As a worker listed them; else those it describes, those that `other` is known to have
        from the same servers and plugins, and those of its plugins that are known `elsewhere`."""
        if self.listing is not None:
            return [*self.listing.tools]
        shared = [tool for tool in other.known if self._has(tool, other.manifest)]
        brought = [tool for tool in elsewhere if tool.get("plugin") in self.plugins]
        found = dict[str, Mapping[str, Any]]()
        for tool in (*agents.described(self.manifest), *shared, *brought):
            found.setdefault(str(tool["name"]), tool)
        return [*found.values()]

    def _has(self, tool: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        plugin, server = tool.get("plugin"), tool.get("server")
        if plugin:
            return plugin in self.plugins
        if server:
            mine, theirs = _server(self.manifest, server), _server(other, server)
            return mine is not None and same(mine, theirs)
        return tool.get("kind") == "platform"


def _server(manifest: Mapping[str, Any], name: str) -> Any:
    servers = manifest.get("servers") or ()
    return next((one for one in servers if one.get("name") == name), None)


def _one(conn: sa.Connection, name: str, version: int) -> _Version:
    found = kept.get(conn, name, version)
    if found is None:
        words = f"There is no version {version} of an agent by that name."
        raise NotFound(words, code="agent.not_found")
    return _kept(conn, found)


def _kept(conn: sa.Connection, found: Agent) -> _Version:
    listing = listings.get(conn, found.name, found.version)
    side = Side(
        version=found.version, by=found.by, time=found.time, listed=listing is not None
    )  # fmt: skip
    return _Version(side=side, manifest=found.manifest, listing=listing)


def _unsaved(manifest: Mapping[str, Any]) -> _Version:
    return _Version(side=Side(version=0, by="", time=None, listed=False), manifest=manifest)


def _diff(conn: sa.Connection, name: str, old: _Version, new: _Version, latest: int) -> AgentDiff:
    rules, more = policies.current(conn), _elsewhere(conn, old, new)
    return AgentDiff(
        name=name, old=old.side, new=new.side, latest=latest,
        sections=agent_diff.sections(old.manifest, new.manifest),
        verdicts=_verdicts(
            agents.judged(old.tools(new, more), rules, name),
            agents.judged(new.tools(old, more), rules, name),
        ),
        policy_version=rules.version,
    )  # fmt: skip


def _elsewhere(conn: sa.Connection, *versions: _Version) -> list[Mapping[str, Any]]:
    """The tools of plugins that neither listing knows, as they were listed for other agents."""
    named = {plugin for one in versions if one.listing is None for plugin in one.plugins}
    named -= {str(tool.get("plugin")) for one in versions for tool in one.known}
    return [tool for plugin in sorted(named)[:MOST_PLUGINS] for tool in plugins.tools(conn, plugin)]


def _verdicts(was: tuple[ToolView, ...], now: tuple[ToolView, ...]) -> tuple[VerdictRow, ...]:
    old, new = {tool.name: tool for tool in was}, {tool.name: tool for tool in now}
    rows = (_verdict(name, old.get(name), new.get(name)) for name in {**old, **new})
    return tuple(sorted(rows, key=lambda row: row.change == "same"))


def _verdict(name: str, old: ToolView | None, new: ToolView | None) -> VerdictRow:
    if old is None:
        change = "added"
    elif new is None:
        change = "removed"
    elif (old.sentence, old.read_only) != (new.sentence, new.read_only):
        change = "changed"
    else:
        change = "same"
    return VerdictRow(
        tool=name, change=change,
        before=old.verdict if old else "", before_sentence=old.sentence if old else "",
        after=new.verdict if new else "", after_sentence=new.sentence if new else "",
    )  # fmt: skip
