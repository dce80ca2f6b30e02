"""Plugins: folders with `plugin.json` that bring servers and skills. Read once and checked."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studio.core.tools import strict

LARGEST_FILE = 256 * 1024
NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")


class BadPlugin(Exception):
    """The folder is not a plugin; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Skill:
    """A SKILL.md package: what it is for, and where it lies."""

    name: str
    description: str
    folder: Path


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A plugin as its folder describes it. `servers` are as in an agent's manifest."""

    name: str
    version: str
    description: str
    folder: Path
    servers: tuple[Mapping[str, Any], ...] = ()
    skills: tuple[Skill, ...] = ()


class Plugins:
    """The plugins in some folders. A folder is a plugin, or holds plugins.

    `problems` says in words what was found and could not be used, by folder.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._plugins: dict[str, Plugin] = {}
        self.problems: dict[str, str] = {}
        for folder in _plugin_folders(folders):
            self._add(folder)

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

    def _add(self, folder: Path) -> None:
        try:
            plugin = read(folder)
        except BadPlugin as wrong:
            self.problems[str(folder)] = str(wrong)
            return
        if plugin.name in self._plugins:
            self.problems[str(folder)] = f"Another folder has a plugin named {plugin.name} already."
        else:
            self._plugins[plugin.name] = plugin


def _plugin_folders(folders: Iterable[Path]) -> list[Path]:
    found = list[Path]()
    for folder in folders:
        if (folder / "plugin.json").exists():
            found.append(folder)
        elif folder.is_dir():
            found += sorted(inner.parent for inner in folder.glob("*/plugin.json"))
    return found


def read(folder: Path) -> Plugin:
    """The plugin in a folder; BadPlugin says what is wrong with it."""
    try:
        value = strict.loads(_text(folder / "plugin.json"))
    except strict.NotJson as wrong:
        raise BadPlugin(f"plugin.json is not JSON: {wrong}.") from None
    if not isinstance(value, dict):
        raise BadPlugin("plugin.json is an object.")
    name = _word(value, "name")
    if not NAME.fullmatch(name):
        raise BadPlugin(f"“{name}” is no name: small letters, digits and hyphens, 63 at most.")
    return Plugin(
        name=name,
        version=_word(value, "version"),
        description=_word(value, "description"),
        folder=folder.resolve(),
        servers=tuple(_server(item) for item in _list(value, "servers")),
        skills=tuple(_skill(folder.resolve(), item) for item in _list(value, "skills")),
    )


def _word(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str) or not found.strip():
        raise BadPlugin(f"plugin.json: “{name}” is missing.")
    return found


def _list(value: Mapping[str, Any], name: str) -> list[Any]:
    found = value.get(name, [])
    if not isinstance(found, list):
        raise BadPlugin(f"plugin.json: “{name}” is a list.")
    return found


def _server(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise BadPlugin("plugin.json: each of “servers” is an object with a name.")
    return value


def _skill(folder: Path, place: Any) -> Skill:
    if not isinstance(place, str):
        raise BadPlugin("plugin.json: “skills” lists folders.")
    found = (folder / place).resolve()
    if not found.is_relative_to(folder):
        raise BadPlugin(f"The skill {place} lies outside the plugin.")
    front = front_matter(_text(found / "SKILL.md"))
    missing = [name for name in ("name", "description") if not front.get(name)]
    if missing:
        raise BadPlugin(f"{place}/SKILL.md: “{missing[0]}” is missing in its front matter.")
    return Skill(name=front["name"], description=front["description"], folder=found)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadPlugin(f"{path.name} is larger than {LARGEST_FILE // 1024} KiB.")
        return path.read_text("utf-8")
    except OSError as wrong:
        raise BadPlugin(f"{path.name} cannot be read: {wrong.strerror}.") from None
    except UnicodeDecodeError:
        raise BadPlugin(f"{path.name} is not UTF-8.") from None


def front_matter(text: str) -> dict[str, str]:
    """Names and values between the two `---` lines; a value may go on in indented lines."""
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        return {}
    found, name = dict[str, str](), ""
    for line in lines[1:]:
        if line.strip() == "---":
            return {key: _unquoted(value) for key, value in found.items()}
        pair = re.match(r"([\w-]+):(?:\s+(.*))?$", line)
        if pair:
            name = pair[1]
            found[name] = "" if pair[2] in {"|", ">", "|-", ">-"} else (pair[2] or "").strip()
        elif name and line[:1] in {" ", "\t"}:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return {}


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value
