"""A plugin from its files: `plugin.json`, its servers and skills, all faults told at once."""

from collections.abc import Mapping
from typing import Any

from studio.core.packages import json_text, refusing
from studio.core.packages import skill as skills
from studio.core.rules import plugins as rule
from studio.core.rules.plugins import Plugin, Skill
from studio.core.rules.reading import Faults

DESCRIPTION = "plugin.json"
PLACE = "${plugin}/"


def plugin(files: Mapping[str, bytes], *, what: str = "The plugin") -> Plugin:
    """The plugin that these files are, or Invalid with a sentence for each place."""
    faults = Faults()
    found = _plugin(files, faults)
    refusing.check(faults, what, code="plugin.invalid")
    assert found is not None, "without a fault there is a plugin"
    return found


def skill(files: Mapping[str, bytes], *, what: str = "The skill") -> Skill:
    """The skill that these files are (SKILL.md at the top), or Invalid."""
    faults = Faults()
    found = skills.parse(files, "", faults)
    refusing.check(faults, what, code="skill.invalid")
    assert found is not None, "without a fault there is a skill"
    return found


def _plugin(files: Mapping[str, bytes], faults: Faults) -> Plugin | None:
    raw = files.get(DESCRIPTION)
    if raw is None:
        faults.add(DESCRIPTION, "is missing: a plugin is a folder with plugin.json at its top.")
        return None
    text = skills.text_of(raw, DESCRIPTION, faults)
    if text is None:
        return None
    try:
        value = json_text.loads(text)
    except json_text.NotJson as wrong:
        faults.add(DESCRIPTION, f"is not JSON: {wrong}.")
        return None
    own = Faults()
    said = rule.described(value, own)
    if said is not None:
        _check_commands(said.servers, files, own)
    for path, sentence in own.fields.items():
        faults.add(f"{DESCRIPTION}: {path}" if path else DESCRIPTION, sentence)
    if said is None:
        return None
    listed = rule.entries(files)
    return Plugin(
        name=said.name, version=said.version, description=said.description, servers=said.servers,
        skills=_skills(said.skills, files, faults), files=tuple(listed),
        hash=rule.tree_hash(listed), license=said.license, homepage=said.homepage,
        author=said.author,
    )  # fmt: skip


def _skills(
    places: tuple[str, ...], files: Mapping[str, bytes], faults: Faults
) -> tuple[Skill, ...]:
    found: dict[str, Skill] = {}
    for index, place in enumerate(places):
        at = f"{DESCRIPTION}: skills[{index}]"
        parts = place.removeprefix("./").rstrip("/").split("/")
        if place.startswith("/") or any(part in ("", ".", "..") for part in parts):
            faults.add(at, f"“{place}” is no folder inside the plugin.")
            continue
        skill = skills.parse(files, "/".join(parts), faults)
        if skill is None:
            continue
        if skill.name in found:
            words = f"brings a second skill named {skill.name}; {found[skill.name].place} is one."
            faults.add(at, words)
        found.setdefault(skill.name, skill)
    return tuple(found.values())


def _check_commands(
    servers: tuple[Mapping[str, Any], ...], files: Mapping[str, bytes], faults: Faults
) -> None:
    """What a command names in the plugin must be there."""
    folders = {path[:at] for path in files for at, sign in enumerate(path) if sign == "/"}
    for index, server in enumerate(servers):
        command = server.get("command")
        for number, part in enumerate(command if isinstance(command, list) else ()):
            if not isinstance(part, str) or not part.startswith(PLACE):
                continue
            path = part.removeprefix(PLACE).rstrip("/")
            if path not in files and path not in folders:
                at = f"servers[{index}].command[{number}]"
                faults.add(at, f"names {path}, and the plugin has no such file.")
