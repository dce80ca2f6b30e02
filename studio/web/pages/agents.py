"""Agents: the list, and one version of one with its tools as tables and what the policy says."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import AgentRow, AgentView
from studio.core.rules import paths
from studio.web.format import count
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, may, person, reader

DEEPEST = 6
MOST_ROWS = 200
BOUNDS = {
    "const": "is", "minimum": "at least", "maximum": "at most", "exclusiveMinimum": "over",
    "exclusiveMaximum": "under", "pattern": "matches", "format": "written as", "default": "default",
}  # fmt: skip
COUNTED = {
    "minLength": ("at least", "character", ""), "maxLength": ("at most", "character", ""),
    "minItems": ("at least", "entry", "entries"), "maxItems": ("at most", "entry", "entries"),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SchemaRow:
    """One field of a tool's arguments, with its dotted path."""

    path: str
    kind: str
    needed: bool
    words: str
    limits: str


@dataclass(frozen=True, kw_only=True)
class ListView:
    """All agents."""

    frame: Frame
    agents: tuple[AgentRow, ...]
    may_edit: bool


@dataclass(frozen=True, kw_only=True)
class ShowView:
    """One version of an agent. `rows` are the fields of each tool, by the tool's name."""

    frame: Frame
    agent: AgentView
    rows: dict[str, tuple[SchemaRow, ...]]
    may_act: bool
    may_edit: bool


async def index(request: Request) -> Response:
    """GET /agents."""
    view = ListView(
        frame=await frame(request, "Agents", nav="agents"),
        agents=tuple(await reader(request).agents(person(request))),
        may_edit=may(request, "admin"),
    )
    return page(request, "agents/index.html", view)


async def show(request: Request) -> Response:
    """GET /agents/{name}."""
    version = asked(request, "version")
    agent = await reader(request).agent(
        person(request), request.path_params["name"],
        int(version) if version.isascii() and version.isdigit() and len(version) < 10 else None,
    )  # fmt: skip
    view = ShowView(
        frame=await frame(request, agent.name, nav="agents"),
        agent=agent,
        rows={tool.name: some_rows(tool.schema) for tool in agent.tools},
        may_act=may(request, "operator"),
        may_edit=may(request, "admin"),
    )
    return page(request, "agents/show.html", view)


def some_rows(schema: Any) -> tuple[SchemaRow, ...]:
    """The fields of a tool's arguments, as many as a page shows."""
    return tuple(islice(schema_rows(schema), MOST_ROWS))


def schema_rows(
    schema: Any, path: str = "", depth: int = 0, whole: Any = None
) -> Iterator[SchemaRow]:
    """The fields of a JSON Schema of an object, those of nested objects and arrays behind them."""
    whole = schema if whole is None else whole
    schema = _referred(schema, whole)
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or depth > DEEPEST:
        return
    needed = schema.get("required")
    for name, part in properties.items():
        here, child = paths.join(path, str(name)), _referred(part, whole)
        yield SchemaRow(
            path=here,
            kind=_kind(child),
            needed=isinstance(needed, list) and name in needed,
            words=str(child.get("description") or child.get("title") or ""),
            limits=_limits(child),
        )
        yield from schema_rows(child, here, depth + 1, whole)
        yield from schema_rows(child.get("items"), f"{here}[*]", depth + 1, whole)


def _referred(schema: Any, whole: Any) -> Mapping[str, Any]:
    """The schema behind a reference into the whole; what stands beside the reference is kept."""
    if not isinstance(schema, Mapping):
        return {}
    place = schema.get("$ref")
    if not isinstance(place, str) or not place.startswith("#/"):
        return schema
    found = whole
    for name in place[2:].split("/"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return {**(found if isinstance(found, Mapping) else {}), **schema, "$ref": None}


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(str(one) for one in kind)
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return f"list of {_kind(schema['items'])}"
    if kind is None:
        return "one of" if "enum" in schema else "const" if "const" in schema else "anything"
    return str(kind)


def _limits(schema: Mapping[str, Any]) -> str:
    """What bounds a value, in short."""
    found = []
    if isinstance(schema.get("enum"), list):
        found.append(", ".join(_short(one) for one in schema["enum"][:12]))
    found += [f"{words} {_short(schema[key])}" for key, words in BOUNDS.items() if key in schema]
    found += [
        f"{words} {count(schema[key], noun, many)}"
        for key, (words, noun, many) in COUNTED.items()
        if isinstance(schema.get(key), int)
    ]
    return "; ".join(found)


def _short(value: Any) -> str:
    return value[:80] if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:80]
