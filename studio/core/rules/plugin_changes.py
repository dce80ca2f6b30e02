"""How two versions of a plugin differ, in words, and what either of them reaches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from studio.core.rules.conditions import same
from studio.core.rules.plugins import File, Plugin
from studio.core.rules.texts import Line

MOST_SHOWN = 40  # files named one by one in a difference
MOST_TEXTS, LONGEST_TEXT = 5, 64 * 1024  # files whose lines are compared, and bytes of each


@dataclass(frozen=True, kw_only=True)
class Change:
    """One difference between two plugins.

    `kind` is version, about, authority, server, tool, skill or file.
    """

    kind: str
    words: str


@dataclass(frozen=True, kw_only=True)
class TextChange:
    """A text file that both versions have, and the lines of it that differ."""

    path: str
    lines: tuple[Line, ...]


def changed(old: Plugin, new: Plugin) -> list[tuple[File, File]]:
    """The files that both have, that differ, and are small enough to be read line by line.

    What a model is told comes first.
    """
    return sorted(_changed(old, new), key=lambda pair: _rank(pair[1].path))[:MOST_TEXTS]


def _changed(old: Plugin, new: Plugin) -> Iterator[tuple[File, File]]:
    before = {file.path: file for file in old.files}
    for now in new.files:
        was = before.get(now.path)
        if was is not None and was.hash != now.hash and max(was.size, now.size) <= LONGEST_TEXT:
            yield was, now


def _rank(path: str) -> tuple[bool, str]:
    return (not path.endswith("SKILL.md"), path)


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
