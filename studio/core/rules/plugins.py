"""What a plugin and a skill are, how their descriptions are read, and how two plugins differ.

A plugin is a set of files with `plugin.json`; a skill is a folder in it with `SKILL.md`. Both are
named by the SHA-256 of their list of files, so what has the same hash is the same, byte for byte.
Nothing here opens a file or an archive: that is `studio.core.packages`.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from studio.core.rules import ids, sources
from studio.core.rules.conditions import same
from studio.core.rules.reading import Faults, Reader, top

NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}")
HASH = re.compile(r"[0-9a-f]{64}")
LONGEST_DESCRIPTION = 1_024
MOST_SKILLS = 100
MOST_SHOWN = 40  # files named one by one in a difference
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
class Change:
    """One difference between two plugins.

    `kind` is version, about, authority, server, tool, skill or file.
    """

    kind: str
    words: str


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


# Differences --------------------------------------------------------------------------------------


def changes(old: Plugin | None, new: Plugin, tools: Sequence[str] = ()) -> tuple[Change, ...]:
    """What installing `new` in place of `old` changes; `tools` are those that were last listed."""
    if old is None:
        return tuple(_brings(new))
    found = list(_about(old, new))
    found += _authority(old, new)
    moved = _servers(old, new)
    found += moved
    if tools and (moved or _program_files(old) != _program_files(new)):
        words = ", ".join(tools)
        found.append(
            Change(kind="tool", words=f"its tools are listed anew; last listed were: {words}")
        )
    return (*found, *_skills(old, new), *_files(old, new))


def authority(plugin: Plugin) -> dict[str, set[str]]:
    """What a plugin reaches: hosts it talks to, commands it starts, secrets it asks for."""
    hosts, commands, secrets = set[str](), set[str](), set[str]()
    for server in plugin.servers:
        if server.get("url"):
            hosts.add(urlsplit(str(server["url"])).netloc)
        if server.get("command"):
            commands.add(" ".join(str(part) for part in server["command"]))
        for place in ("env", "headers"):
            given = server.get(place)
            values = given.values() if isinstance(given, Mapping) else ()
            secrets |= {str(one) for item in values if isinstance(item, Mapping)
                        for one in item.values()}  # fmt: skip
    for found in plugin.skills:
        secrets |= set(found.requires.secrets)
    return {"host": hosts, "command": commands, "secret": secrets}


def _brings(new: Plugin) -> list[Change]:
    found = [Change(kind="version", words=f"new plugin, version {new.version}")]
    for noun, things in authority(new).items():
        found += [Change(kind="authority", words=f"{_verb(noun)} {thing}")
                  for thing in sorted(things)]  # fmt: skip
    found += [Change(kind="server", words=f"brings the server {s['name']}") for s in new.servers]
    found += [Change(kind="skill", words=f"brings the skill {s.name}") for s in new.skills]
    return found


def _about(old: Plugin, new: Plugin) -> list[Change]:
    found = []
    if old.version != new.version:
        words = f"version {old.version} becomes {new.version}"
        found.append(Change(kind="version", words=words))
    elif old.hash != new.hash:
        words = f"the version stays {new.version} though its files change"
        found.append(Change(kind="version", words=words))
    for name in ("description", "license", "homepage", "author"):
        if getattr(old, name) != getattr(new, name):
            found.append(Change(kind="about", words=f"its {name} changes"))
    return found


def _authority(old: Plugin, new: Plugin) -> list[Change]:
    before, after = authority(old), authority(new)
    found = []
    for noun in after:
        found += [Change(kind="authority", words=f"newly {_verb(noun)} {thing}")
                  for thing in sorted(after[noun] - before[noun])]  # fmt: skip
        found += [Change(kind="authority", words=f"no longer {_verb(noun)} {thing}")
                  for thing in sorted(before[noun] - after[noun])]  # fmt: skip
    return found


def _verb(noun: str) -> str:
    return {"host": "reaches the host", "command": "starts", "secret": "asks for the secret"}[noun]


def _servers(old: Plugin, new: Plugin) -> list[Change]:
    before = {server["name"]: server for server in old.servers}
    after = {server["name"]: server for server in new.servers}
    found = [Change(kind="server", words=f"server {n} added") for n in after if n not in before]
    found += [Change(kind="server", words=f"server {n} removed") for n in before if n not in after]
    for name, server in after.items():
        if name not in before:
            continue
        moved = [
            key
            for key in dict.fromkeys([*before[name], *server])
            if not same(before[name].get(key), server.get(key))
        ]
        if moved:
            words = f"server {name} changes: {', '.join(moved)}"
            found.append(Change(kind="server", words=words))
    return found


def _skills(old: Plugin, new: Plugin) -> list[Change]:
    before = {skill.name: skill for skill in old.skills}
    after = {skill.name: skill for skill in new.skills}
    found = [Change(kind="skill", words=f"skill {n} added") for n in after if n not in before]
    found += [Change(kind="skill", words=f"skill {n} removed") for n in before if n not in after]
    for name, now in after.items():
        was = before.get(name)
        if was is None or was.hash == now.hash:
            continue
        more = ", and what it requires" if was.requires != now.requires else ""
        found.append(Change(kind="skill", words=f"skill {name} changes{more}"))
    return found


def _files(old: Plugin, new: Plugin) -> list[Change]:
    before = {file.path: file.hash for file in old.files}
    after = {file.path: file.hash for file in new.files}
    lines = [f"{path} added" for path in after if path not in before]
    lines += [f"{path} removed" for path in before if path not in after]
    lines += [f"{p} changed" for p, hash in after.items() if before.get(p, hash) != hash]
    lines.sort()
    found = [Change(kind="file", words=line) for line in lines[:MOST_SHOWN]]
    if len(lines) > MOST_SHOWN:
        found.append(Change(kind="file", words=f"and {len(lines) - MOST_SHOWN:,} files more"))
    return found


def _program_files(plugin: Plugin) -> set[tuple[str, str]]:
    """Files outside its skills: what its servers run."""
    places = tuple(f"{skill.place}/" for skill in plugin.skills)
    return {(f.path, f.hash) for f in plugin.files if not places or not f.path.startswith(places)}
