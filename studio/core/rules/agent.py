"""What an agent is: its manifest, read and checked as a whole, and how two versions differ."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from studio.core.rules import models, plugins, sources
from studio.core.rules.conditions import same
from studio.core.rules.errors import Invalid
from studio.core.rules.events import Limit, Limits
from studio.core.rules.reading import Faults, Reader, top

LARGEST = 1024 * 1024
DEEPEST = 64
NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
RESERVED = frozenset({"new"})  # pages of the studio stand at these names
MOST_AGENTS = 20
LIMITS = {
    "steps": 1_000,
    "calls": 10_000,
    "active_seconds": 86_400,
    "total_seconds": 366 * 86_400,
}

SchemaProblem = Callable[[Any], str | None]


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """An agent as it was written, checked. `data` is the whole JSON, without fields that are null.

    `model`, `tools` and `servers` are JSON as in `data`; `warnings` are sentences for its author.
    `plugins` are `name` or `name@version`. `skills` names those it is offered: `name` or
    `plugin/name` of its plugins, `name@hash` of skills saved by content; None means all of its
    plugins.
    `agents` names its sub-agents.
    """

    name: str
    description: str
    instructions: str
    model: Mapping[str, Any]
    tools: tuple[Mapping[str, Any], ...] = ()
    servers: tuple[Mapping[str, Any], ...] = ()
    plugins: tuple[str, ...] = ()
    skills: tuple[str, ...] | None = None
    agents: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    output_schema: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


def parse(manifest: object, *, schema_problem: SchemaProblem, is_kept: bool = False) -> Manifest:
    """The manifest, or Invalid with a sentence for each field, such as `tools[0].url`.

    `schema_problem` says what is wrong with a JSON Schema, or None. One that is kept was taken
    before there was a rule for the steps of a script, and they are left alone.
    """
    faults = Faults()
    if fault := json_fault(manifest):
        raise Invalid(
            f"The agent manifest {fault}.", fields={"": f"{fault}."}, code="agent.invalid"
        )
    reader = top(manifest, "", faults)
    if reader is None:
        words = "An agent manifest is a JSON object."
        raise Invalid(words, fields=faults.fields, code="agent.invalid")
    reader.known(
        "$schema", "name", "description", "instructions", "model", "tools", "servers", "plugins",
        "skills", "agents", "limits", "output_schema",
    )  # fmt: skip
    reader.text("$schema", most=500)  # for editors; the studio does not look at it
    name = reader.text("name", most=63, needed=True) or ""
    if name and not NAME.fullmatch(name):
        reader.fault("name", "must begin with a small letter and hold only a-z, 0-9 and -.")
    elif name in RESERVED:
        reader.fault("name", "is a name that the studio keeps for itself; choose another.")
    description = reader.text("description", most=500, least=0) or ""
    if "\n" in description or "\r" in description:
        reader.fault("description", "must be one line.")
    instructions = reader.text("instructions", most=LARGEST, least=0) or ""
    model = _model(reader, is_kept=is_kept)
    tools = sources.tools(reader, schema_problem)
    servers = sources.servers(reader)
    parsed = Manifest(
        name=name, description=description, instructions=instructions, model=model,
        tools=tools, servers=servers, plugins=_plugins(reader), skills=_skills(reader),
        agents=(agents := _agents(reader, name)), limits=_limits(reader),
        output_schema=_output_schema(reader, schema_problem),
        warnings=_warnings(instructions, agents),
        data={key: part for key, part in reader.value.items() if part is not None},
    )  # fmt: skip
    faults.check("The agent manifest", code="agent.invalid")
    return parsed


def _warnings(instructions: str, agents: tuple[str, ...]) -> tuple[str, ...]:
    found = [] if instructions else ["It has no instructions for the model."]
    if agents:
        found.append(f"{later(agents)} Until then they are not offered to the model.")
    return tuple(found)


def later(agents: tuple[str, ...]) -> str:
    """What is said of sub-agents as long as they do not run."""
    noun = "sub-agent" if len(agents) == 1 else "sub-agents"
    return f"Its {noun} {', '.join(agents)} can be named, and run in a later release."


def diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What changed between two manifests (their JSON), one short line for each field."""
    lines = []
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if same(before, after):
            continue
        if name in ("tools", "servers") and _are_named(before) and _are_named(after):
            lines += _named_changes(name.removesuffix("s"), before or [], after or [])
        elif isinstance(before, Mapping) and isinstance(after, Mapping):
            lines += _field_changes(name, before, after)
        else:
            lines.append(_line(name, before, after))
    return lines


def json_fault(value: object) -> str | None:
    """Why a value is no JSON that may be kept here, as the end of a sentence about it."""
    stack: list[tuple[object, int]] = [(value, 0)]
    size = 0
    while stack:
        item, depth = stack.pop()
        if depth > DEEPEST:
            return f"is nested more than {DEEPEST} levels deep"
        if isinstance(item, Mapping) and not all(isinstance(key, str) for key in item):
            return "has a name that is not text"
        if isinstance(item, Mapping | list):
            size += 2 + 2 * len(item)  # brackets, and at least a character and a comma each
        elif fault := _scalar_fault(item):
            return fault
        else:
            size += len(json.dumps(item)) - 1
        if size > LARGEST:
            return f"is larger than {LARGEST:,} bytes"
        if isinstance(item, Mapping):
            stack += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, list):
            stack += [(part, depth + 1) for part in item]
    return None


def _scalar_fault(item: object) -> str | None:
    if isinstance(item, str):
        if "\0" in item or any("\ud800" <= letter <= "\udfff" for letter in item):
            return "has a null character or half of a character in a text"
        return None
    if isinstance(item, float) and not math.isfinite(item):
        return "has a number that is not finite"
    if isinstance(item, int) and abs(item) >= 10**300:
        return "has a number of more than 300 digits"
    if item is not None and not isinstance(item, bool | int | float):
        return "has something that is not JSON"
    return None


def _model(reader: Reader, *, is_kept: bool) -> Mapping[str, Any]:
    model = reader.object("model")
    if model is None:
        return {}
    models.check(model, is_kept=is_kept)
    return model.value


def _plugins(reader: Reader) -> tuple[str, ...]:
    names = reader.words("plugins", most=50)
    if len({plugins.reference(name)[0] for name in names}) < len(names):
        reader.fault("plugins", "names a plugin twice.")
    for index, name in enumerate(names):
        if fault := plugins.reference_fault(name):
            reader.faults.add(f"plugins[{index}]", fault)
    return names


def _skills(reader: Reader) -> tuple[str, ...] | None:
    if not reader.has("skills"):
        return None
    names = reader.words("skills", most=plugins.MOST_SKILLS)
    if len(set(names)) < len(names):
        reader.fault("skills", "names a skill twice.")
    for index, name in enumerate(names):
        if fault := plugins.skill_fault(name):
            reader.faults.add(f"skills[{index}]", fault)
    return names


def _agents(reader: Reader, own: str) -> tuple[str, ...]:
    names = reader.words("agents", most=MOST_AGENTS)
    if len(set(names)) < len(names):
        reader.fault("agents", "names an agent twice.")
    for index, name in enumerate(names):
        if not NAME.fullmatch(name):
            reader.faults.add(f"agents[{index}]", "is not the name of an agent.")
        elif name == own:
            reader.faults.add(f"agents[{index}]", "is this agent itself.")
    return names


def _limits(reader: Reader) -> Limits:
    limits = reader.object("limits")
    if limits is None:
        return Limits()
    limits.known(*LIMITS)
    given = {name: _limit(limits, name, most) for name, most in LIMITS.items()}
    return Limits(**{name: limit for name, limit in given.items() if limit is not None})


def _limit(limits: Reader, name: str, most: int) -> Limit | None:
    if not isinstance(limits.value.get(name), Mapping):
        value = limits.whole(name, 1, most)
        return None if value is None else Limit(value=value)
    limit = limits.object(name)
    assert limit is not None, "it is an object"
    limit.known("value", "hard")
    if not limit.has("value"):
        limit.fault("value", "is needed.")
    value, hard = limit.whole("value", 1, most), limit.flag("hard")
    return None if value is None else Limit(value=value, hard=hard is not False)


def _output_schema(reader: Reader, schema_problem: SchemaProblem) -> Mapping[str, Any] | None:
    schema = reader.object("output_schema")
    if schema is None:
        return None
    if problem := schema_problem(schema.value):
        reader.fault("output_schema", problem)
    return schema.value


def _are_named(value: object) -> bool:
    return value is None or (
        isinstance(value, list)
        and all(isinstance(item, Mapping) and isinstance(item.get("name"), str) for item in value)
    )


def _named_changes(noun: str, before: list[Any], after: list[Any]) -> list[str]:
    old = {item["name"]: item for item in before}
    new = {item["name"]: item for item in after}
    lines = [f"{noun} {name} added" for name in new if name not in old]
    lines += [f"{noun} {name} removed" for name in old if name not in new]
    for name in new:
        if name in old and not same(old[name], new[name]):
            lines += _field_changes(f"{noun} {name}", old[name], new[name])
    if not lines:
        lines.append(f"the order of {noun}s changed")
    return lines


def _field_changes(what: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [
        _line(f"{what}: {name}", before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if not same(before.get(name), after.get(name))
    ]


def _line(what: str, before: object, after: object) -> str:
    if before is None:
        return f"{what} added"
    if after is None:
        return f"{what} removed"
    short = (bool, int, float)
    if isinstance(before, short) or isinstance(after, short) or _is_short(before, after):
        return f"{what} changed from {_shown(before)} to {_shown(after)}"
    return f"{what} changed"


def _is_short(before: object, after: object) -> bool:
    return all(isinstance(text, str) and len(text) <= 60 for text in (before, after))


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
