"""Plugins as a worker has them: what they describe, and the folder their servers run in.

`Plugins` reads folders in place, and again when a file in them changes. Installed plugins come from
the store: `studio.core.work.plugins` puts them behind the same questions.
"""

import asyncio
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from studio.core.packages import folder as folders
from studio.core.packages import package
from studio.core.rules import plugins as rule
from studio.core.rules.errors import StudioError
from studio.core.tools.intact import Unpacked
from studio.core.tools.skills import Package

LOOK_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A plugin that can be used; its servers are started in `folder`.

    `unpacked` are the files of an installed one, which nobody is to change.
    """

    described: rule.Plugin
    folder: Path
    unpacked: Unpacked | None = None

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.described.name

    @property
    def version(self) -> str:
        """Its version."""
        return self.described.version

    def packages(self) -> tuple[Package, ...]:
        """The skills it brings, with their files."""
        return tuple(self._package(skill) for skill in self.described.skills)

    def _package(self, skill: rule.Skill) -> Package:
        return Package(
            skill=skill, folder=self.folder / skill.place, plugin=self.name, version=self.version,
            files=rule.inside(self.described.files, skill.place),
        )  # fmt: skip


class PluginShelf(Protocol):
    """Where the catalog finds plugins and skills. `generation` grows when any of them changes."""

    generation: int

    async def fresh(self) -> None:
        """See whether anything changed; costs little when nothing did."""
        ...

    async def find(self, reference: str) -> Plugin | str:
        """The plugin that an agent names (`name` or `name@version`), or why there is none."""
        ...

    async def skill(self, hash: str) -> Package | None:
        """The skill that was saved by its content."""
        ...

    async def tidy(self, in_use: Collection[Path]) -> None:
        """Clear what nobody needs any more, beside the folders that servers run in now."""
        ...


class Plugins:
    """The plugins in some folders. A folder is a plugin, or holds plugins.

    `problems` says in words what was found and could not be used, by folder.
    """

    def __init__(self, given: Iterable[Path]) -> None:
        self._given = tuple(given)
        self._plugins: dict[str, Plugin] = {}
        self._states: dict[Path, object] = {}
        self._looked = time.monotonic()
        self.problems: dict[str, str] = {}
        self.generation = 0
        self._read()

    def get(self, name: str) -> Plugin | None:
        """The plugin of this name, if it was found."""
        return self._plugins.get(name)

    def problem(self, name: str) -> str | None:
        """Why the plugin in the folder of this name could not be used, if it was found broken."""
        return next(
            (words for folder, words in self.problems.items() if Path(folder).name == name), None
        )

    def all(self) -> tuple[Plugin, ...]:
        """Every plugin, by name."""
        return tuple(self._plugins[name] for name in sorted(self._plugins))

    async def fresh(self) -> None:
        """Look at the folders again, every two seconds at most."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        await asyncio.to_thread(self._look)

    async def find(self, reference: str) -> Plugin | str:
        """The plugin that an agent names, or why there is none."""
        name, version = rule.reference(reference)
        found = self.get(name)
        if found is None:
            return self.problem(name) or "There is no such plugin here."
        if version and version != found.version:
            return f"Its version {version} is not here; {found.version} is."
        return found

    async def skill(self, hash: str) -> Package | None:
        """Folders hold no skills of their own."""
        return None

    async def tidy(self, in_use: Collection[Path]) -> None:
        """Folders are their owner's: nothing is cleared."""

    def _look(self) -> None:
        states = {folder: folders.state(folder) for folder in _plugin_folders(self._given)}
        if states != self._states:
            self._read()

    def _read(self) -> None:
        self._plugins, self._states = {}, {}
        self.problems = {}
        for folder in _plugin_folders(self._given):
            self._states[folder] = folders.state(folder)
            self._add(folder)
        self.generation += 1

    def _add(self, folder: Path) -> None:
        try:
            plugin = read(folder)
        except StudioError as wrong:
            fields = getattr(wrong, "fields", {})
            told = "; ".join(f"{place}: {words}" if place else words
                             for place, words in fields.items())  # fmt: skip
            self.problems[str(folder)] = told or wrong.message
            return
        if plugin.name in self._plugins:
            self.problems[str(folder)] = f"Another folder has a plugin named {plugin.name} already."
        else:
            self._plugins[plugin.name] = plugin


def read(folder: Path) -> Plugin:
    """The plugin in a folder; Invalid says what is wrong with it, by place."""
    files = folders.read(folder, in_place=True)
    return Plugin(described=package.plugin(files), folder=folder.resolve())


def _plugin_folders(given: Iterable[Path]) -> list[Path]:
    found = list[Path]()
    for folder in given:
        if (folder / "plugin.json").exists():
            found.append(folder)
        elif folder.is_dir():
            found += sorted(inner.parent for inner in folder.glob("*/plugin.json"))
    return found
