"""What a plugin and a skill are, how they are named, and how their descriptions are read.

A plugin is a set of files with `plugin.json`; a skill is a folder in it with `SKILL.md`. Both are
named by the SHA-256 of their list of files, so what has the same hash is the same, byte for byte.
Nothing here opens a file or an archive: that is `studio.core.packages`.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from studio.core.rules import ids, sources
from studio.core.rules.reading import Faults, Reader, top

NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}")
HASH = re.compile(r"[0-9a-f]{64}")
LONGEST_DESCRIPTION = 1_024
MOST_SKILLS = 100
ENVIRONMENTS = ("sandbox", "container", "remote")


@dataclass(frozen=True, kw_only=True)
class File:
    """A file of a package: its path with `/`, the SHA-256 of its bytes, and how many there are."""

    path: str
    hash: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Requires:
    """What a skill cannot do without. `environment` is "", "any" or a kind of environment."""

    tools: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    environment: str = ""


@dataclass(frozen=True, kw_only=True)
class Skill:
    """A skill. `place` is its folder in the plugin, "" when it stands alone; `size` is bytes."""

    name: str
    description: str
    hash: str
    place: str = ""
    license: str = ""
    requires: Requires = field(default_factory=Requires)
    files: int = 1
    size: int = 0

    @property
    def label(self) -> str:
        """Its name with the beginning of its hash: the folder it is staged in."""
        return f"{self.name}@{self.hash[:12]}"


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A plugin as it describes itself. `servers` are as in an agent's manifest."""

    name: str
    version: str
    description: str
    hash: str
    servers: tuple[Mapping[str, Any], ...] = ()
    skills: tuple[Skill, ...] = ()
    files: tuple[File, ...] = ()
    license: str = ""
    homepage: str = ""
    author: str = ""

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, kw_only=True)
class Described:
    """What `plugin.json` says, before its skills and files were looked at."""

    name: str
    version: str
    description: str
    servers: tuple[Mapping[str, Any], ...]
    skills: tuple[str, ...]
    license: str = ""
    homepage: str = ""
    author: str = ""


def entries(files: Mapping[str, bytes]) -> list[File]:
    """The list of files of a package that is held in memory, by path."""
    return [
        File(path=path, hash=hashlib.sha256(files[path]).hexdigest(), size=len(files[path]))
        for path in sorted(files)
    ]


def tree_hash(files: Iterable[File]) -> str:
    """SHA-256 over the list of files: the name of a plugin or a skill by its content."""
    return ids.digest(listing(files))


def listing(files: Iterable[File]) -> list[list[Any]]:
    """The list of files as it is hashed and kept: [path, hash, size], by path."""
    return [[file.path, file.hash, file.size] for file in sorted(files, key=lambda f: f.path)]


def files_of(listed: Iterable[Sequence[Any]]) -> tuple[File, ...]:
    """The files of a kept list."""
    return tuple(File(path=path, hash=hash, size=size) for path, hash, size in listed)


def inside(files: Iterable[File], place: str) -> tuple[File, ...]:
    """The files in a folder of a package, by their paths in it."""
    prefix = f"{place}/"
    return tuple(
        replace(file, path=file.path.removeprefix(prefix))
        for file in files
        if file.path.startswith(prefix)
    )


def with_files(plugin: Plugin, files: Iterable[File]) -> Plugin:
    """The same plugin with its list of files."""
    return replace(plugin, files=tuple(files))


def reference(text: str) -> tuple[str, str]:
    """The name and the version (or "") of `name` or `name@version`, as agents name plugins."""
    name, _, version = text.partition("@")
    return name, version


def reference_fault(text: str) -> str | None:
    """What is wrong with the naming of a plugin, as a sentence without its subject."""
    name, at, version = text.partition("@")
    if not NAME.fullmatch(name):
        return "is not the name of a plugin."
    if at and not VERSION.fullmatch(version):
        return "names no version behind the @."
    return None


def skill_fault(text: str) -> str | None:
    """What is wrong with the naming of a skill: `name`, `plugin/name` or `name@hash`."""
    if "@" in text:
        name, _, hash = text.partition("@")
        if NAME.fullmatch(name) and HASH.fullmatch(hash):
            return None
        return "must be a skill's name, an @ and its hash of 64 hex characters."
    if all(NAME.fullmatch(part) for part in text.split("/")) and text.count("/") <= 1:
        return None
    return "is not the name of a skill: small letters, digits and hyphens, or plugin/name."


# Reading ------------------------------------------------------------------------------------------


def described(value: object, faults: Faults) -> Described | None:
    """What `plugin.json` says, with a fault for everything that is not right."""
    reader = top(value, "", faults)
    if reader is None:
        return None
    reader.known(
        "$schema", "name", "version", "description", "servers", "skills", "license", "homepage",
        "author",
    )  # fmt: skip
    name = reader.text("name", most=63, needed=True) or ""
    if name and not NAME.fullmatch(name):
        reader.fault("name", "must begin with a small letter and hold only a-z, 0-9 and -.")
    version = reader.text("version", most=64, needed=True) or ""
    if version and not VERSION.fullmatch(version):
        reader.fault("version", "must be letters, digits and . + _ -, such as 1.2.0.")
    homepage = reader.text("homepage", most=500) or ""
    if homepage and (wrong := sources.url_fault(homepage)):
        reader.fault("homepage", wrong)
    return Described(
        name=name, version=version, description=_line(reader, "description", needed=True),
        servers=sources.servers(reader), skills=_places(reader),
        license=_line(reader, "license", most=200), homepage=homepage,
        author=_line(reader, "author", most=200),
    )  # fmt: skip


def skill(value: object, faults: Faults) -> tuple[str, str, str, Requires] | None:
    """Name, description, license and requirements of a skill's front matter; faults are kept.

    Fields that are not known are left alone: other programs put theirs beside ours.
    """
    reader = top(value, "", faults)
    if reader is None:
        return None
    name = reader.text("name", most=63, needed=True) or ""
    if name and not NAME.fullmatch(name):
        reader.fault("name", "must begin with a small letter and hold only a-z, 0-9 and -.")
    description = _line(reader, "description", needed=True)
    reader.object("metadata")
    return name, description, _line(reader, "license", most=200), _requires(reader)


def _line(
    reader: Reader, name: str, *, most: int = LONGEST_DESCRIPTION, needed: bool = False
) -> str:
    """Text on one line, whatever lines it was written in."""
    text = " ".join((reader.text(name, most=most, needed=needed) or "").split())
    if needed and reader.has(name) and isinstance(reader.value[name], str) and not text:
        reader.fault(name, "is empty.")
    return text


def _places(reader: Reader) -> tuple[str, ...]:
    found = reader.words("skills", most=MOST_SKILLS, longest=400)
    if len(set(found)) < len(found):
        reader.fault("skills", "names a folder twice.")
    return found


def _requires(reader: Reader) -> Requires:
    requires = reader.object("requires")
    if requires is None:
        return Requires()
    requires.known("tools", "servers", "skills", "secrets", "environment")
    environment = requires.value.get("environment")
    if environment is True:
        kind = "any"
    elif environment is None or environment is False:
        kind = ""
    else:
        kind = requires.one_of("environment", ("any", *ENVIRONMENTS)) or ""
    return Requires(
        tools=requires.words("tools", most=100), servers=requires.words("servers", most=50),
        skills=requires.words("skills", most=50), secrets=requires.words("secrets", most=50),
        environment=kind,
    )  # fmt: skip


# As JSON ------------------------------------------------------------------------------------------


def skill_data(found: Skill) -> dict[str, Any]:
    """A skill as JSON."""
    return {**asdict(found), "requires": {k: v for k, v in asdict(found.requires).items() if v}}


def skill_of(data: Mapping[str, Any]) -> Skill:
    """A skill from its JSON."""
    given = data.get("requires", {})
    lists = {name: tuple(given.get(name, ())) for name in ("tools", "servers", "skills", "secrets")}
    requires = Requires(**lists, environment=str(given.get("environment", "")))
    known = {name: data[name] for name in Skill.__dataclass_fields__ if name in data}
    return Skill(**{**known, "requires": requires})
