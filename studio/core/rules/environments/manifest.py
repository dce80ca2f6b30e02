"""An environment manifest: read and checked as a whole, made whole, and compared with another."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from studio.core.rules import agent, ids, secrets, sources
from studio.core.rules.conditions import same
from studio.core.rules.environments import files, names, network, slots
from studio.core.rules.environments.slots import Slot
from studio.core.rules.errors import Invalid
from studio.core.rules.reading import Faults, Reader, top

KINDS = ("none", "sandbox", "container", "remote")
KEEPS = ("turn", "hand")
ISOLATIONS = ("sandbox", "reduced", "none")
FIELDS = (
    "$schema", "name", "description", "kind", "image", "url", "token", "setup", "files",
    "variables", "secrets", "network", "limits", "keep", "delete_after", "refuse_on_gaps",
    "isolation",
)  # fmt: skip
NEEDS_DISK = ("setup", "files", "variables", "network", "limits", "keep")
ABOUT = ("$schema", "name", "description")  # fields that say nothing of the environment itself
MOST_SETUP, LONGEST_RUN = 16, 8_000
SETUP_SECONDS, MOST_SETUP_SECONDS = 600, 1_800
MOST_VARIABLES, LONGEST_VARIABLE = 100, 32_000
DAY = 86_400
LIMITS = {  # the least, the most and the default of each
    "memory_mib": (64, 262_144, 1_024),
    "processes": (16, 4_096, 128),
    "disk_mib": (16, 1_048_576, 2_048),
    "command_seconds": (1, 600, 30),
}


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A manifest as it was written, checked. `data` is its JSON without fields that are null.

    `definition` is what an environment is pinned to: `data` without name and description, and
    with every default written out. `warnings` are sentences for its author.
    """

    name: str
    description: str
    kind: str
    slots: tuple[Slot, ...] = ()
    warnings: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    definition: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical definition: what would make another environment."""
        return ids.digest(dict(self.definition))


def parse(manifest: object, *, is_named: bool = True) -> Manifest:
    """The manifest, or Invalid (`manifest.invalid`) with a sentence for each faulty field.

    One that `is_named` must have a name; one that is written inline for a single environment has
    none.
    """
    faults = Faults()
    what = "The environment manifest"
    if fault := agent.json_fault(manifest):
        raise Invalid(f"{what} {fault}.", fields={"": f"{fault}."}, code="manifest.invalid")
    reader = top(manifest, "", faults)
    if reader is None:
        raise Invalid(f"{what} is no JSON object.", fields=faults.fields, code="manifest.invalid")
    reader.known(*FIELDS)
    reader.text("$schema", most=500)
    name = _name(reader, is_named=is_named)
    description = reader.text("description", most=500, least=0) or ""
    if "\n" in description or "\r" in description:
        reader.fault("description", "must be one line.")
    kind = reader.one_of("kind", KINDS) or "sandbox"
    _kind(reader, kind)
    definition, found = _definition(reader, kind)
    faults.check(what, code="manifest.invalid")
    return Manifest(
        name=name, description=description, kind=kind, slots=found,
        warnings=_warnings(definition),
        data={key: part for key, part in reader.value.items() if part is not None},
        definition=definition,
    )  # fmt: skip


def diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What changed between two manifests (their JSON), one short line for each field."""
    lines = []
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if same(before, after) or name == "$schema":
            continue
        if name == "secrets":
            lines += _entries("secret", "name", before or [], after or [])
        elif name == "files":
            lines += _entries("file", "path", before or [], after or [])
        elif name == "network":
            allowed = [(one or {}).get("allow", []) for one in (before, after)]
            lines += _entries("network", "host", *allowed)
        else:
            lines += agent.diff({name: before} if before is not None else {},
                                {name: after} if after is not None else {})  # fmt: skip
    return lines


def differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields in which two definitions differ."""
    return tuple(
        name for name in dict.fromkeys([*old, *new]) if not same(old.get(name), new.get(name))
    )


def _name(reader: Reader, *, is_named: bool) -> str:
    if not is_named:
        if reader.has("name"):
            reader.fault("name", "is for manifests that are saved; leave it out here.")
        return ""
    name = reader.text("name", most=63, needed=True) or ""
    if name and not names.MANIFEST.fullmatch(name):
        reader.fault("name", "must begin with a small letter and hold only a-z, 0-9 and -.")
    elif name in agent.RESERVED:
        reader.fault("name", "is a name that the studio keeps for itself; choose another.")
    return name


def _kind(reader: Reader, kind: str) -> None:
    """Fields that only some kinds have."""
    wanted = {"container": ("image",), "remote": ("url", "token")}
    for other, fields in wanted.items():
        for name in fields:
            if reader.has(name) and kind != other:
                reader.fault(name, f"is for environments of kind {other}.")
    if kind == "none":
        for name in NEEDS_DISK:
            if reader.has(name):
                reader.fault(name, "needs a disk, and environments of kind none have none.")
    if kind != "sandbox" and reader.has("isolation"):
        reader.fault("isolation", "is for environments of kind sandbox.")
    if kind == "container":
        image = reader.text("image", most=400, needed=True) or "x"
        if image.startswith("-") or not image.isprintable() or " " in image:
            reader.fault("image", "must be the name of an image, such as python:3.12-slim.")
    if kind == "remote":
        url = reader.text("url", most=2_000, needed=True)
        if url is not None and (fault := sources.url_fault(url)):
            reader.fault("url", fault)
        if reader.has("token"):
            sources.setting(reader, "token", literal=False)


def _definition(reader: Reader, kind: str) -> tuple[dict[str, Any], tuple[Slot, ...]]:
    """What an environment is pinned to, with defaults, and its slots."""
    found = slots.read(reader)
    if kind == "none":
        for index, slot in enumerate(found):
            if slot.type in ("variable", "file"):
                words = "needs commands to be given to, and environments of kind none run none."
                reader.faults.add(f"secrets[{index}].type", words)
    made: dict[str, Any] = {"kind": kind, "secrets": [asdict(slot) for slot in found]}
    delete_after = reader.whole("delete_after", 60, 3_650 * DAY)
    if delete_after is not None:
        made["delete_after"] = delete_after
    refuse = reader.flag("refuse_on_gaps")
    keep, isolation = reader.one_of("keep", KEEPS), reader.one_of("isolation", ISOLATIONS)
    parts = {
        "setup": _setup(reader), "files": [dict(entry) for entry in files.read(reader)],
        "variables": _variables(reader, found), "network": {"allow": list(network.read(reader))},
        "limits": _limits(reader), "keep": keep or "turn",
    }  # fmt: skip
    made["refuse_on_gaps"] = refuse is True
    if kind == "none":
        return made, found
    own = {name: reader.value[name] for name in ("image", "url", "token") if reader.has(name)}
    if kind == "sandbox":
        own["isolation"] = isolation or "sandbox"
    return {**made, **own, **parts}, found


def _setup(reader: Reader) -> list[dict[str, Any]]:
    found = []
    for command in reader.objects("setup", most=MOST_SETUP):
        command.known("run", "cwd", "timeout")
        run = command.text("run", most=LONGEST_RUN, needed=True) or ""
        if run and not run.strip():
            command.fault("run", "is blank.")
        cwd = command.text("cwd", most=files.LONGEST_PATH) or "."
        if cwd != "." and (fault := files.path_fault(cwd)):
            command.fault("cwd", fault)
        seconds = command.whole("timeout", 1, MOST_SETUP_SECONDS) or SETUP_SECONDS
        found.append({"run": run, "cwd": cwd, "timeout": seconds})
    return found


def _variables(reader: Reader, found: tuple[Slot, ...]) -> dict[str, str]:
    variables = reader.object("variables")
    if variables is None:
        return {}
    if len(variables.value) > MOST_VARIABLES:
        reader.fault("variables", f"may have at most {MOST_VARIABLES} entries.")
        return {}
    bound = {slot.binding for slot in found if slot.type == "variable"}
    for name in variables.value:
        if fault := slots.variable_fault(name):
            variables.fault(name, fault)
        elif name in bound:
            variables.fault(name, "is the variable of a secret too.")
        else:
            variables.text(name, most=LONGEST_VARIABLE, least=0, needed=True)
    return dict(variables.value)


def _limits(reader: Reader) -> dict[str, int]:
    limits = reader.object("limits")
    made = {name: default for name, (_, _, default) in LIMITS.items()}
    if limits is None:
        return made
    limits.known(*LIMITS)
    for name, (least, most, _) in LIMITS.items():
        value = limits.whole(name, least, most)
        if value is not None:
            made[name] = value
    return made


def _warnings(definition: Mapping[str, Any]) -> tuple[str, ...]:
    found = []
    if definition.get("isolation") == "none":
        found.append("It accepts no isolation at all: where bubblewrap is missing, commands run "
                     "as the studio itself.")  # fmt: skip
    elif definition.get("isolation") == "reduced":
        found.append("It accepts reduced isolation where bubblewrap is missing.")
    wide = [one["host"] for one in definition.get("network", {}).get("allow", ())
            if one["host"].startswith("*.")]  # fmt: skip
    if wide:
        found.append(f"Every host below {', '.join(one[2:] for one in wide)} may be reached.")
    named = list(secrets.named(definition.get("token")))
    if named:
        found.append(f"The service is given the studio's secret {named[0]}.")
    return tuple(found)


def _entries(noun: str, key: str, before: Any, after: Any) -> list[str]:
    old = {one[key]: one for one in before}
    new = {one[key]: one for one in after}
    lines = [f"{noun} {name} added" for name in new if name not in old]
    lines += [f"{noun} {name} removed" for name in old if name not in new]
    for name in new:
        if name in old and not same(old[name], new[name]):
            fields = ", ".join(differing(old[name], new[name]))
            lines.append(f"{noun} {name}: {fields} changed")
    return lines or [f"the order of {noun} entries changed"]
