"""How two versions of an agent differ, part by part, each change exact."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from studio.core.rules import paths, texts
from studio.core.rules.conditions import same
from studio.core.rules.texts import Line

MOST_FIELDS = 200
LONGEST_VALUE = 2_000
NAMED = ("tools", "servers")
NAMES = ("plugins", "skills", "agents")
TEXTS = ("instructions", "output_schema")

Change = Literal["added", "removed", "changed"]


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    """One value that differs, by its path; a value that is not there is None, else JSON text."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class ThingChange:
    """A tool, server, plugin, skill or sub-agent that differs."""

    name: str
    change: Change
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the manifest that differs: things by name, single values, or lines of a text.

    `moved` says that the same things stand in another order.
    """

    name: str
    things: tuple[ThingChange, ...] = ()
    fields: tuple[FieldChange, ...] = ()
    lines: tuple[Line, ...] = ()
    moved: bool = False


def sections(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Section, ...]:
    """What differs between two manifests, in the order a reader looks for it."""
    order = (
        "name", "description", "instructions", "model", "tools", "servers", "plugins", "skills",
        "agents", "limits", "output_schema",
    )  # fmt: skip
    names = dict.fromkeys([*order, *old, *new])
    found = (_section(name, old.get(name), new.get(name)) for name in names)
    return tuple(section for section in found if section is not None)


def _section(name: str, old: Any, new: Any) -> Section | None:
    if same(old, new):
        return None
    if name in NAMED and _are_named(old) and _are_named(new):
        things = tuple(_named(_by_name(old), _by_name(new)))
        return Section(name=name, things=things, moved=not things)
    if name in NAMES and _are_texts(old) and _are_texts(new):
        return _names(name, old or [], new or [])
    if name in TEXTS:
        return Section(name=name, lines=texts.lines(_text(old), _text(new)))
    return Section(name=name, fields=fields_changed(old, new, path="" if _both(old, new) else name))


def _names(name: str, old: list[str], new: list[str]) -> Section:
    things = [ThingChange(name=one, change="removed") for one in old if one not in new]
    things += [ThingChange(name=one, change="added") for one in new if one not in old]
    return Section(name=name, things=tuple(things), moved=not things)


def _named(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[ThingChange]:
    for name in dict.fromkeys([*old, *new]):
        if name not in new:
            yield ThingChange(name=name, change="removed", fields=fields_changed(old[name], None))
        elif name not in old:
            yield ThingChange(name=name, change="added", fields=fields_changed(None, new[name]))
        elif not same(old[name], new[name]):
            yield ThingChange(
                name=name, change="changed", fields=fields_changed(old[name], new[name])
            )


def fields_changed(old: Any, new: Any, *, path: str = "") -> tuple[FieldChange, ...]:
    """The values that differ between two JSON values, by path."""
    return tuple(islice(_differences(old, new, path), MOST_FIELDS))


def _differences(old: Any, new: Any, path: str) -> Iterator[FieldChange]:
    """Every leaf that differs, found without recursion over more than 64 levels."""
    if same(old, new):
        return
    if _is_object(old) and _is_object(new) and (old or new):
        before, after = old or {}, new or {}
        for name in dict.fromkeys([*before, *after]):
            yield from _differences(before.get(name), after.get(name), paths.join(path, name))
    elif _is_list(old) and _is_list(new) and (old or new):
        first, second = old or [], new or []
        for index in range(max(len(first), len(second))):
            one = first[index] if index < len(first) else None
            other = second[index] if index < len(second) else None
            yield from _differences(one, other, paths.join(path, index))
    else:
        yield FieldChange(path=path, before=_shown(old), after=_shown(new))


def _both(old: Any, new: Any) -> bool:
    return isinstance(old, Mapping | None) and isinstance(new, Mapping | None)


def _is_object(value: Any) -> bool:
    return value is None or isinstance(value, Mapping)


def _is_list(value: Any) -> bool:
    return value is None or isinstance(value, list)


def _shown(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _are_named(value: Any) -> bool:
    return value is None or (
        isinstance(value, list)
        and all(isinstance(item, Mapping) and isinstance(item.get("name"), str) for item in value)
    )


def _are_texts(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )


def _by_name(value: Any) -> dict[str, Any]:
    return {item["name"]: item for item in value or ()}
