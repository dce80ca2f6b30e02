"""Plugins and skills: put here and taken away by people; what that changes is shown first."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import sqlalchemy as sa

from studio.core.packages import archive, package
from studio.core.rules import access, plugin_changes, texts
from studio.core.rules import events as e
from studio.core.rules import plugins as rule
from studio.core.rules.access import Person
from studio.core.rules.errors import Gone, Invalid, NotFound, Refused
from studio.core.rules.plugin_changes import Change, TextChange, changes
from studio.core.rules.plugins import Plugin, Skill
from studio.core.store import agents, listings, plugins, raw
from studio.core.store.plugins import Installed
from studio.core.verbs.parts import Verbs

DRAFT = "plugin"
HELD = "SELECT count(*) FROM waits WHERE state = 'open' AND kind = 'approval' AND plugin = ?"


@dataclass(frozen=True, kw_only=True)
class PluginPlan:
    """What putting a plugin here does, or would do. `revision` is the one it makes, or keeps.

    `current` is the revision in force before (0: none) and `current_version` its version;
    `creates` is false when these very files are installed already. `texts` are the lines that
    differ in files that both versions have, told of a plan alone.
    """

    plugin: Plugin
    revision: int
    current: int
    current_version: str
    creates: bool
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]
    texts: tuple[TextChange, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SkillSaved:
    """A skill was saved by its content; agents name it by `name`@`hash`."""

    skill: Skill
    creates: bool

    @property
    def reference(self) -> str:
        """As a manifest names it."""
        return f"{self.skill.name}@{self.skill.hash}"


@dataclass(frozen=True, kw_only=True)
class _Sent:
    """A package that was sent, read and checked."""

    plugin: Plugin
    files: Mapping[str, bytes]


class PluginVerbs(Verbs):
    """What one may do with plugins and skills."""

    async def put_plugin(
        self, person: Person, data: bytes, *, name: str | None = None, dry_run: bool = False,
        expect: int | None = None,
    ) -> PluginPlan:  # fmt: skip
        """Install a plugin from a zip archive or put it in the place of another version.

        `name` is the plugin that is meant, `expect` the revision that was looked at (0: none).
        """
        access.needs(person, "admin", "install a plugin")
        sent = await asyncio.to_thread(_sent, data)
        if name is not None and sent.plugin.name != name:
            raise Invalid(
                f"This is the plugin {sent.plugin.name}, and {name} was meant.",
                code="plugin.other_name", fields={"plugin.json: name": f"must be {name}."},
            )  # fmt: skip
        return await self._put(person, sent, dry_run=dry_run, expect=expect)

    async def draft_plugin(self, person: Person, data: bytes) -> tuple[str, PluginPlan]:
        """Keep what was sent until it is confirmed; an id for it, and what it would do."""
        plan = await self.put_plugin(person, data, dry_run=True)
        draft, at = self.clock.new_id("drf"), self.clock.now()
        await self.db.touch(
            lambda conn: plugins.keep_draft(conn, draft, DRAFT, person.id, data, at)
        )
        return draft, plan

    async def plan_draft(self, person: Person, draft: str) -> PluginPlan:
        """What a kept draft would do now."""
        data = await self._draft(person, draft)
        return await self.put_plugin(person, data, dry_run=True)

    async def confirm_plugin(self, person: Person, draft: str, *, expect: int) -> PluginPlan:
        """Install what was kept, if what was shown is still what it would change."""
        data = await self._draft(person, draft)
        plan = await self.put_plugin(person, data, expect=expect)
        await self.db.touch(lambda conn: plugins.drop_draft(conn, draft))
        return plan

    async def remove_plugin(self, person: Person, name: str, *, expect: int | None = None) -> None:
        """Remove a plugin that no agent's newest version uses."""
        access.needs(person, "admin", "remove a plugin")

        def act(conn: sa.Connection) -> list[e.Event]:
            found = plugins.current(conn, name)
            if found is None:
                raise _not_installed(conn, name)
            _check_expected(found, name, expect)
            if users := _users(conn, name):
                raise Refused(
                    f"The plugin {name} is used by {_listed(users)}. Save a version of "
                    f"{'it' if len(users) == 1 else 'each'} without the plugin first.",
                    code="plugin.in_use", details={"agents": users},
                )  # fmt: skip
            return [
                e.PluginRemoved(
                    name=name, revision=found.revision, version=found.plugin.version,
                    hash=found.plugin.hash, by=person.id,
                )
            ]  # fmt: skip

        await self.journal.commit_other("plugins", act, at=self.clock.now(), actor=person.actor)

    async def save_skill(self, person: Person, data: bytes, *, dry_run: bool = False) -> SkillSaved:
        """Save a skill (a zip archive with SKILL.md at its top) by its content."""
        access.needs(person, "admin", "save a skill")
        skill, files = await asyncio.to_thread(_skill, data)
        at, creates = self.clock.now(), False

        def act(conn: sa.Connection) -> list[e.Event]:
            nonlocal creates
            creates = plugins.skill(conn, skill.hash) is None
            if not creates or dry_run:
                return []
            plugins.keep(conn, rule.entries(files), files, at)
            kept = rule.skill_data(skill)
            return [
                e.SkillSaved(
                    name=skill.name, hash=skill.hash, description=skill.description,
                    requires=kept["requires"], license=skill.license, files=skill.files,
                    size=skill.size, by=person.id,
                )
            ]  # fmt: skip

        if dry_run:
            await self.db.read(act)
        else:
            await self.journal.commit_other("plugins", act, at=at, actor=person.actor)
        return SkillSaved(skill=skill, creates=creates)

    async def _put(
        self, person: Person, sent: _Sent, *, dry_run: bool, expect: int | None
    ) -> PluginPlan:
        at, plan = self.clock.now(), None

        def act(conn: sa.Connection) -> list[e.Event]:
            nonlocal plan
            plan = _plan(conn, sent, expect, reads=dry_run)
            if dry_run or not plan.creates:
                return []
            plugins.keep(conn, sent.plugin.files, sent.files, at, sent.plugin.skills)
            return plugins.installed(conn, sent.plugin, plan.changes, person.id)

        if dry_run:
            await self.db.read(act)
        else:
            await self.journal.commit_other("plugins", act, at=at, actor=person.actor)
        assert plan is not None, "it was planned"
        return plan

    async def _draft(self, person: Person, draft: str) -> bytes:
        access.needs(person, "admin", "install a plugin")
        found = await self.db.read(lambda conn: plugins.draft(conn, draft, DRAFT, person.id))
        if found is None:
            raise Gone(
                "What you sent is no longer kept: it was confirmed, or a day has passed. Send the "
                "archive again.",
                code="draft.gone",
            )
        return found


def _sent(data: bytes) -> _Sent:
    files = archive.read(data)
    return _Sent(plugin=package.plugin(files), files=files)


def _skill(data: bytes) -> tuple[Skill, Mapping[str, bytes]]:
    files = archive.read(data)
    return package.skill(files), files


def _plan(conn: sa.Connection, sent: _Sent, expect: int | None, *, reads: bool) -> PluginPlan:
    """What it would change; `reads` compares texts too, for which the writer has no time."""
    new = sent.plugin
    found = plugins.current(conn, new.name)
    _check_expected(found, new.name, expect)
    if found is None and (folder := _in_folder(conn, new.name)):
        raise Refused(
            f"A plugin named {new.name} lies in the folder {folder.folder} on {folder.machine}. "
            "Two plugins cannot have one name: rename one, or take the folder away.",
            code="plugin.name_taken",
        )
    if found is not None and found.plugin.hash == new.hash:
        return PluginPlan(
            plugin=new, revision=found.revision, current=found.revision, creates=False,
            current_version=found.plugin.version, changes=(), warnings=(),
        )  # fmt: skip
    old = None
    if found is not None:
        old = rule.with_files(found.plugin, plugins.files(conn, found.plugin.hash))
    newest = raw.one(conn, plugins.NEWEST, (new.name,))[0] or 0
    return PluginPlan(
        plugin=new, revision=newest + 1, current=found.revision if found else 0, creates=True,
        current_version=old.version if old else "",
        changes=changes(old, new, _tools(conn, new.name)),
        warnings=tuple(_warnings(conn, old, new)),
        texts=tuple(_texts(conn, old, sent)) if old and reads else (),
    )  # fmt: skip


def _texts(conn: sa.Connection, old: Plugin, sent: _Sent) -> Iterator[TextChange]:
    """The files of which a person can read what changes; others are named alone."""
    for was, now in plugin_changes.changed(old, sent.plugin):
        before, after = plugins.data(conn, was.hash), sent.files[now.path]
        if before is None or b"\0" in before + after:
            continue
        with suppress(UnicodeDecodeError):
            lines = texts.lines(before.decode(), after.decode())
            yield TextChange(path=now.path, lines=lines)


def _check_expected(found: Installed | None, name: str, expect: int | None) -> None:
    current = found.revision if found is not None else 0
    if expect is not None and expect != current:
        raise Refused(
            f"The plugin {name} is at revision {current}; you looked at {expect}. Look again.",
            code="plugin.changed", details={"revision": current, "expected": expect},
        )  # fmt: skip


def _warnings(conn: sa.Connection, old: Plugin | None, new: Plugin) -> list[str]:
    found = []
    held = raw.one(conn, HELD, (new.name,))[0]
    if old is not None and held:
        calls = "1 held call" if held == 1 else f"{held} held calls"
        found.append(
            f"{calls} of its tools will not run as shown: the agent is told, and may ask again."
        )
    for agent in agents.list(conn):
        for named in agent.manifest.get("plugins", ()):
            name, version = rule.reference(str(named))
            if name == new.name and version and version != new.version:
                found.append(f"The agent {agent.name} keeps to version {version}.")
    names = {skill.name for skill in new.skills}
    for skill in new.skills:
        needed = [other for other in skill.requires.skills if other not in names]
        if needed:
            found.append(f"Its skill {skill.name} needs skills it does not bring: "
                         f"{', '.join(needed)}.")  # fmt: skip
    return found


def _tools(conn: sa.Connection, name: str) -> list[str]:
    """The tools of a plugin, as they were last listed for an agent that uses it."""
    found = dict[str, None]()
    for agent in agents.list(conn):
        if uses(agent.manifest, name):
            listing = listings.get(conn, agent.name, agent.version)
            tools = listing.tools if listing is not None else ()
            found |= {tool["name"]: None for tool in tools if tool.get("plugin") == name}
    return list(found)


def uses(manifest: Mapping[str, object], name: str) -> bool:
    """Whether an agent's manifest names this plugin, or a skill of it."""
    named, skills = manifest.get("plugins"), manifest.get("skills")
    plugged = named if isinstance(named, list | tuple) else ()
    skilled = skills if isinstance(skills, list | tuple) else ()
    return any(rule.reference(str(one))[0] == name for one in plugged) or any(
        str(one).startswith(f"{name}/") for one in skilled
    )


def _users(conn: sa.Connection, name: str) -> list[str]:
    return [agent.name for agent in agents.list(conn) if uses(agent.manifest, name)]


def _in_folder(conn: sa.Connection, name: str) -> plugins.Found | None:
    found = plugins.folders(conn)
    return next((one for one in found if one.plugin.name == name and not one.problem), None)


def _not_installed(conn: sa.Connection, name: str) -> NotFound | Refused:
    folder = _in_folder(conn, name)
    if folder is None:
        return NotFound("There is no such plugin.", code="plugin.not_found")
    return Refused(
        f"The plugin {name} is read from the folder {folder.folder} on {folder.machine}; it was "
        "not installed, so it is not removed here. Take it out of STUDIO_PLUGINS.",
        code="plugin.in_folder",
    )


def _listed(names: list[str]) -> str:
    shown = names if len(names) <= 10 else [*names[:10], f"{len(names) - 10} more"]
    kind = "the agent" if len(names) == 1 else "the agents"
    return f"{kind} {', '.join(shown)}"
