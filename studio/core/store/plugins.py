"""Installed plugins and saved skills, and what workers found in folders.

Written as facts by `Journal.commit_other("plugins", …)`. Files lie in `blobs` by their hash, and
the list of a package's files lies there under the hash of the package itself.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.rules import ids
from studio.core.rules import plugins as rule
from studio.core.rules.plugin_changes import Change
from studio.core.rules.plugins import File, Plugin, Skill
from studio.core.store import raw

LIST_MEDIA, FILE_MEDIA = "application/json", "application/octet-stream"
KEEP = (
    "INSERT INTO blobs (hash, size, media, data, time) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (hash) DO NOTHING"
)
COLUMNS = (
    "name, revision, version, hash, description, servers, skills, about, changes, files, size, "
    '"by", time, removed_by, removed'
)
CURRENT = (
    f"SELECT {COLUMNS} FROM plugins WHERE name = ? AND removed IS NULL "  # noqa: S608
    "ORDER BY revision DESC LIMIT 1"
)
OF_VERSION = (
    f"SELECT {COLUMNS} FROM plugins WHERE name = ? AND version = ? AND removed IS NULL "  # noqa: S608
    "ORDER BY revision DESC LIMIT 1"
)
EVERY = (
    f"SELECT {COLUMNS} FROM plugins AS p WHERE removed IS NULL AND revision = "  # noqa: S608
    "(SELECT max(revision) FROM plugins AS q WHERE q.name = p.name) ORDER BY name"
)
HISTORY = f"SELECT {COLUMNS} FROM plugins WHERE name = ? ORDER BY revision DESC LIMIT ?"  # noqa: S608
NEWEST = "SELECT max(revision) FROM plugins WHERE name = ?"
SKILL = "SELECT hash, name, description, requires, license, files, size FROM skills WHERE hash = ?"
FOLDER_COLUMNS = (
    "machine, folder, name, version, hash, description, servers, skills, about, files, size, "
    "problem, time"
)
FOLDERS = f"SELECT {FOLDER_COLUMNS} FROM plugin_folders ORDER BY name, machine, folder"  # noqa: S608
KEEP_FOLDER = (
    f"INSERT INTO plugin_folders ({FOLDER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
)
MOST_HISTORY = 100
DRAFT_MILLISECONDS = 86_400_000


@dataclass(frozen=True, kw_only=True)
class Installed:
    """One installed version of a plugin. `plugin.files` are not filled in: see `files`."""

    plugin: Plugin
    revision: int
    changes: tuple[Change, ...]
    files: int
    size: int
    by: str
    time: int
    removed: int | None = None
    removed_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """A plugin in a folder of a machine; with a `problem` it is not used, and says why."""

    machine: str
    folder: str
    plugin: Plugin
    files: int
    size: int
    problem: str
    time: int


# Facts --------------------------------------------------------------------------------------------


def installed(
    conn: sa.Connection, new: Plugin, changes: Iterable[Change], by: str
) -> list[e.Event]:
    """The fact of a plugin's installation or of its update, with the next revision."""
    (newest,) = raw.one(conn, NEWEST, (new.name,))
    fields: dict[str, Any] = {
        "name": new.name, "revision": (newest or 0) + 1, "version": new.version, "hash": new.hash,
        "description": new.description, "servers": [dict(server) for server in new.servers],
        "skills": [rule.skill_data(skill) for skill in new.skills],
        "about": {n: getattr(new, n) for n in ("license", "homepage", "author") if getattr(new, n)},
        "files": len(new.files), "size": new.size, "by": by,
    }  # fmt: skip
    if current(conn, new.name) is None:
        return [e.PluginInstalled(**fields)]
    shown = [{"kind": change.kind, "words": change.words} for change in changes]
    return [e.PluginUpdated(**fields, changes=shown)]


def keep(
    conn: sa.Connection, files: Sequence[File], data: Mapping[str, bytes], at: int,
    skills: Iterable[Skill] = (),
) -> None:  # fmt: skip
    """Keep a package's files and their list, each under its hash; the lists of its skills too."""
    for listed_files in (files, *(rule.inside(files, skill.place) for skill in skills)):
        listed = ids.canonical(rule.listing(listed_files)).encode("utf-8")
        raw.put(conn, KEEP, (rule.tree_hash(listed_files), len(listed), LIST_MEDIA, listed, at))
    for file in files:
        raw.put(conn, KEEP, (file.hash, file.size, FILE_MEDIA, data[file.path], at))


# Questions ----------------------------------------------------------------------------------------


def current(conn: sa.Connection, name: str, version: str = "") -> Installed | None:
    """The plugin in force under this name, of this version when one is named."""
    if version:
        row = raw.one(conn, OF_VERSION, (name, version))
    else:
        row = raw.one(conn, CURRENT, (name,))
    return None if row is None else _installed(row)


def every(conn: sa.Connection) -> tuple[Installed, ...]:
    """Every plugin in force, by name."""
    return tuple(_installed(row) for row in raw.every(conn, EVERY))


def history(conn: sa.Connection, name: str) -> tuple[Installed, ...]:
    """Every version that was ever installed under this name, newest first."""
    return tuple(_installed(row) for row in raw.every(conn, HISTORY, (name, MOST_HISTORY)))


def files(conn: sa.Connection, hash: str) -> tuple[File, ...]:
    """The files of the package with this hash; none when it was never kept."""
    row = raw.one(conn, "SELECT data FROM blobs WHERE hash = ?", (hash,))
    return () if row is None else rule.files_of(json.loads(bytes(row[0])))


def data(conn: sa.Connection, hash: str) -> bytes | None:
    """The bytes of a file."""
    row = raw.one(conn, "SELECT data FROM blobs WHERE hash = ?", (hash,))
    return None if row is None else bytes(row[0])


def bytes_of(conn: sa.Connection, files: Sequence[File]) -> dict[str, bytes]:
    """The bytes of these files by hash; OSError when one is not here."""
    found = dict[str, bytes]()
    for file in files:
        kept = data(conn, file.hash)
        if kept is None:
            raise OSError(0, f"the bytes of {file.path} are not in the store")
        found[file.hash] = kept
    return found


def skill(conn: sa.Connection, hash: str) -> Skill | None:
    """A skill that was saved by its content."""
    row = raw.one(conn, SKILL, (hash,))
    if row is None:
        return None
    return rule.skill_of({
        "hash": row[0], "name": row[1], "description": row[2], "requires": json.loads(row[3]),
        "license": row[4], "files": row[5], "size": row[6],
    })  # fmt: skip


# Folders ------------------------------------------------------------------------------------------


def note_folders(
    conn: sa.Connection, machine: str, found: Iterable[Found], at: int,
    skills: Iterable[tuple[Sequence[File], Mapping[str, bytes]]] = (),
) -> None:  # fmt: skip
    """What a worker found in the folders of its machine, in place of what it found before.

    `skills` are files of their skills, kept so that pages can show them.
    """
    for files_of_skill, data_of_skill in skills:
        keep(conn, files_of_skill, data_of_skill, at)
    raw.put(conn, "DELETE FROM plugin_folders WHERE machine = ?", (machine,))
    for one in found:
        plugin = one.plugin
        row = (
            machine, one.folder, plugin.name, plugin.version, plugin.hash, plugin.description,
            _json([dict(server) for server in plugin.servers]),
            _json([rule.skill_data(skill) for skill in plugin.skills]),
            _json({n: getattr(plugin, n) for n in ("license", "homepage", "author")
                   if getattr(plugin, n)}),
            one.files, one.size, one.problem, at,
        )  # fmt: skip
        raw.put(conn, KEEP_FOLDER, row)


def folders(conn: sa.Connection) -> tuple[Found, ...]:
    """What workers found in folders, by name."""
    return tuple(_found(row) for row in raw.every(conn, FOLDERS))


# Drafts -------------------------------------------------------------------------------------------


def keep_draft(conn: sa.Connection, id: str, what: str, by: str, data: bytes, at: int) -> None:
    """Keep what was sent for a plan; drafts older than a day go."""
    raw.put(conn, "DELETE FROM drafts WHERE time < ?", (at - DRAFT_MILLISECONDS,))
    row = (id, what, by, data, at)
    raw.put(conn, 'INSERT INTO drafts (id, what, "by", data, time) VALUES (?, ?, ?, ?, ?)', row)


def draft(conn: sa.Connection, id: str, what: str, by: str) -> bytes | None:
    """What this person sent."""
    statement = 'SELECT data FROM drafts WHERE id = ? AND what = ? AND "by" = ?'
    row = raw.one(conn, statement, (id, what, by))
    return None if row is None else bytes(row[0])


def drop_draft(conn: sa.Connection, id: str) -> None:
    """It was confirmed, or given up."""
    raw.put(conn, "DELETE FROM drafts WHERE id = ?", (id,))


# ----------------------------------------------------------------------------------------------


def _plugin(name: str, version: str, hash: str, description: str, *made: str) -> Plugin:
    servers, skills, about = (json.loads(text) for text in made)
    return Plugin(
        name=name, version=version, hash=hash, description=description, servers=tuple(servers),
        skills=tuple(rule.skill_of(data) for data in skills), **about,
    )  # fmt: skip


def _installed(row: Any) -> Installed:
    (name, revision, version, hash, description, servers, skills, about, changes, files, size,
     by, time, removed_by, removed) = row  # fmt: skip
    return Installed(
        plugin=_plugin(name, version, hash, description, servers, skills, about),
        revision=revision, changes=tuple(Change(**one) for one in json.loads(changes)),
        files=files, size=size, by=by, time=time, removed=removed, removed_by=removed_by,
    )  # fmt: skip


def _found(row: Any) -> Found:
    machine, folder, name, version, hash, description, *made, files, size, problem, time = row
    return Found(
        machine=machine, folder=folder, files=files, size=size, problem=problem, time=time,
        plugin=_plugin(name, version, hash, description, *made),
    )  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
