"""Plugins of a worker: those that were installed, made from the store, and those in folders.

An installed plugin is unpacked once into a folder named by its hash, which every worker can make
and none changes: what lies there is held against the hashes whenever a worker first uses it, and
before each start of a server in it.
"""

import asyncio
import logging
import os
import secrets
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from studio.core.clock import Clock
from studio.core.rules import plugins as rule
from studio.core.rules.plugins import File
from studio.core.store import plugins as kept
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.tools.intact import Unpacked, difference
from studio.core.tools.plugins import Plugin, Plugins
from studio.core.tools.skills import Package
from studio.core.tools.tool import ToolError

log = logging.getLogger("studio.worker")

MOST_SHOWN_BYTES = 4 * 1024 * 1024  # of skills in folders that are kept for pages
PROGRAMS = (b"#!", b"\x7fELF")  # what begins so may be started
KEPT_SECONDS = 7 * 86_400  # unused for so long, an unpacked package goes; it can be made again
DRAFT_SECONDS = 86_400  # so old, what was half unpacked is nobody's work any more


class StoredPlugins:
    """The shelf of a worker. A plugin that is installed goes before one in a folder.

    `folder` is where packages are unpacked, `machine` the name that pages show for folders.
    """

    def __init__(
        self, *, db: Db, feed: Feed, clock: Clock, folders: Plugins, folder: Path, machine: str
    ) -> None:
        self._db, self._feed, self._clock = db, feed, clock
        self._folders, self._folder, self._machine = folders, folder, machine
        self._mark = -1
        self._noted = -1
        self._whole: dict[str, Path] = {}  # packages that were looked at, by hash
        self._installed: frozenset[str] = frozenset()
        self.generation = 0

    async def fresh(self) -> None:
        """See whether a plugin was installed, changed or removed, or a folder changed."""
        await self._folders.fresh()
        mark = self._feed.mark("plugins")
        if mark == self._mark and self._noted == self._folders.generation:
            return
        rows = await self._db.read(kept.every)
        self._installed = frozenset(row.plugin.name for row in rows)
        await self._note()
        self._mark, self._noted = mark, self._folders.generation
        self.generation += 1

    async def find(self, reference: str) -> Plugin | str:
        """The plugin that an agent names, or why there is none."""
        name, version = rule.reference(reference)
        if name not in self._installed:
            return await self._folders.find(reference)
        row = await self._db.read(lambda conn: kept.current(conn, name, version))
        if row is None:
            current = await self._db.read(lambda conn: kept.current(conn, name))
            there = f"; {current.plugin.version} is" if current is not None else ""
            return f"Its version {version} is not installed{there}."
        hash = row.plugin.hash
        files = await self._db.read(lambda conn: kept.files(conn, hash))
        try:
            folder = await self._unpacked(self._folder / "plugins" / hash, hash, files)
        except OSError as wrong:
            return f"It cannot be unpacked here: {wrong.strerror or wrong}."
        described = rule.with_files(row.plugin, files)
        words = f"the plugin {row.plugin.name} {row.plugin.version}"
        unpacked = Unpacked(folder=folder, files=tuple(files), of=words)
        return Plugin(described=described, folder=folder, unpacked=unpacked)

    async def skill(self, hash: str) -> Package | None:
        """The skill that was saved by its content."""
        found = await self._db.read(lambda conn: kept.skill(conn, hash))
        if found is None:
            return None
        files = await self._db.read(lambda conn: kept.files(conn, hash))
        place = self._folder / "skills" / f"{found.name}@{hash}"
        folder = await self._unpacked(place, hash, files)
        return Package(skill=found, folder=folder, files=files)

    async def _unpacked(self, place: Path, hash: str, files: Sequence[File]) -> Path:
        """The folder of a package, made when it is not there or not what it should be."""
        if hash in self._whole and await asyncio.to_thread(_touch, place, self._seconds()):
            return place
        if await asyncio.to_thread(difference, place, files):
            data = await self._db.read(lambda conn: kept.bytes_of(conn, files))
            await asyncio.to_thread(unpack, place, files, data)
        await asyncio.to_thread(_touch, place, self._seconds())
        self._whole[hash] = place
        return place

    async def tidy(self, in_use: Collection[Path]) -> None:
        """Clear packages of earlier versions that no worker of this machine has used for a week.

        `in_use` are the folders that servers run in now.
        """
        rows = await self._db.read(kept.every)
        current = {row.plugin.hash for row in rows}
        now = self._seconds()
        cleared = await asyncio.to_thread(tidy, self._folder, {*in_use}, current, now)
        gone = [hash for hash, place in self._whole.items() if not place.exists()]
        for hash in gone:
            del self._whole[hash]
        if gone:  # what was offered of them is found anew, and unpacked again if it is asked for
            self.generation += 1
        if cleared:
            log.info("%d unpacked packages that nobody used were cleared.", cleared)

    def _seconds(self) -> float:
        return self._clock.now() / 1000

    async def _note(self) -> None:
        """Leave word of the folders of this machine, for the pages."""
        at, found = self._clock.now(), list[kept.Found]()
        for plugin in self._folders.all():
            taken = plugin.name in self._installed
            words = "A plugin of this name is installed, so this folder is not used."
            found.append(self._found(plugin.described, plugin.folder, words if taken else "", at))
        for folder, words in self._folders.problems.items():
            nothing = rule.Plugin(
                name=Path(folder).name, version="", description="", hash="", files=()
            )
            found.append(self._found(nothing, Path(folder), words, at))
        skills = await asyncio.to_thread(self._skill_files)

        await self._db.touch(lambda conn: kept.note_folders(conn, self._machine, found, at, skills))

    def _skill_files(self) -> list[tuple[tuple[File, ...], dict[str, bytes]]]:
        """The files of small skills in folders, so that pages can show them on any machine."""
        found, left = list[tuple[tuple[File, ...], dict[str, bytes]]](), MOST_SHOWN_BYTES
        for plugin in self._folders.all():
            for package in plugin.packages():
                left -= package.skill.size
                with suppress(ToolError):  # it changed just now; the next look takes it
                    if left >= 0:
                        data = {file.path: package.read(file.path) for file in package.files}
                        found.append((package.files, data))
        return found

    def _found(self, plugin: rule.Plugin, folder: Path, problem: str, at: int) -> kept.Found:
        return kept.Found(
            machine=self._machine, folder=str(folder), plugin=plugin, files=len(plugin.files),
            size=plugin.size, problem=problem, time=at,
        )  # fmt: skip


def unpack(place: Path, files: Sequence[File], data: dict[str, bytes]) -> None:
    """Write the files, which nobody is to change, beside `place`, and put all there at once."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name[:80]}.{secrets.token_hex(8)}")
    for file in files:
        path = draft / file.path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(data[file.hash])
        path.chmod(0o500 if data[file.hash].startswith(PROGRAMS) else 0o400)
    if place.exists() or place.is_symlink():
        away = place.with_name(f".{place.name[:80]}.{secrets.token_hex(8)}.old")
        place.rename(away)
        _clear(away)
    try:
        draft.rename(place)
    except OSError:  # another worker of this machine was first
        _clear(draft)
        if difference(place, files):
            raise


def tidy(folder: Path, in_use: Collection[Path], current: Collection[str], now: float) -> int:
    """Clear what is too old in a folder of packages; how many packages went. `now` in seconds."""
    cleared = 0
    for place in [*folder.glob("plugins/*"), *folder.glob("skills/*")]:
        if place in in_use or place.name in current:
            _touch(place, now)
            continue
        is_draft = place.name.startswith(".")
        age = now - place.lstat().st_mtime
        if age > (DRAFT_SECONDS if is_draft else KEPT_SECONDS):
            away = place.with_name(f".{place.name[:80]}.{secrets.token_hex(8)}.old")
            place.rename(away)  # gone at once for whoever looks, also when it takes a while
            _clear(away)
            cleared += not is_draft
    return cleared


def _touch(place: Path, now: float) -> bool:
    """Note that a folder is used now; False when it is not there."""
    try:
        os.utime(place, (now, now), follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _clear(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)
