"""How an HTTP tool's arguments become a request: which of them goes where, and what is shown of it.

A field of the input goes where the URL has a place for it (`{name}`), where `in` sends it, or where
a template in `query` or `body` names it; what is left goes into the JSON body, or into the query of
a method without one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from studio.core.rules import selection
from studio.core.rules.reading import Reader

WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
BODIES = ("json", "form", "text")
WHOLE = "*"
NAMED = re.compile(r"\{(\w+)\}")
MOST_DESTINATION = 2_000
WRITTEN = re.compile(r"path|(query|body)(:[^\x00-\x20\x7f]+)?|header:[^\x00-\x20\x7f]+")
_NAME = re.compile(r"[^\x00-\x20\x7f]{1,200}")


@dataclass(frozen=True, kw_only=True)
class Way:
    """Where one field goes: into which part of the request, and under which name.

    A body's name `*` means that the field is the whole body.
    """

    part: Literal["path", "query", "header", "body"]
    name: str


def way(field: str, written: object) -> Way | None:
    """The way `in` gives a field: `query`, `query:NAME`, `header:NAME`, `body:NAME`; or None."""
    if not isinstance(written, str) or len(written) > 200 or not WRITTEN.fullmatch(written):
        return None
    part, _, name = written.partition(":")
    return Way(part=part, name=name or field)  # type: ignore[arg-type]


def named(template: object) -> Iterator[str]:
    """Every field that a template names, anywhere in it."""
    if isinstance(template, str):
        yield from NAMED.findall(template)
    elif isinstance(template, Mapping):
        for item in template.values():
            yield from named(item)
    elif isinstance(template, list):
        for item in template:
            yield from named(item)


def leftover(tool: Mapping[str, Any]) -> list[str]:
    """The declared fields that nothing of the description places."""
    schema = tool.get("input")
    declared = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    ways = _mapping(tool.get("in"))
    taken = {*ways, *named(str(tool.get("url", ""))), *named(_mapping(tool.get("query")))}
    taken |= set(named(tool.get("body")))
    return [name for name in _mapping(declared) if name not in taken]


# Checking a manifest ------------------------------------------------------------------------------


def check(tool: Reader, *, headers: frozenset[str], header_name: re.Pattern[str]) -> None:
    """Keep a fault for whatever of the mapping makes no sense; `headers` are the studio's own."""
    value = tool.value
    fields = _mapping(_mapping(value.get("input")).get("properties"))
    has_body = str(value.get("method")) in WITH_BODY
    _ways(tool, fields, headers, header_name, has_body=has_body)
    _queries(tool, fields)
    _body(tool, fields, has_body=has_body)
    if tool.has("select") and (fault := selection.fault(value["select"])):
        tool.fault("select", fault)


def _ways(
    tool: Reader, fields: Mapping[str, Any], headers: frozenset[str],
    header_name: re.Pattern[str], *, has_body: bool,
) -> None:  # fmt: skip
    ways = tool.object("in")
    in_url = set(named(str(tool.value.get("url", ""))))
    for field, written in ways.value.items() if ways else ():
        assert ways is not None, "it has fields"
        found = way(field, written)
        if field not in fields:
            ways.fault(field, "is no field of the input schema.")
        elif found is None:
            ways.fault(field, "must be path, query, query:NAME, header:NAME, body or body:NAME.")
        elif (found.part == "path") != (field in in_url):
            ways.fault(field, "stands in the path exactly when the URL has a place for it.")
        elif found.part == "header" and (
            not header_name.fullmatch(found.name) or found.name.lower() in headers
        ):
            ways.fault(field, "names a header that cannot be set here.")
        elif found.part == "body" and not has_body:
            ways.fault(field, "cannot go into the body: this method is sent without one.")
        elif found.part == "body" and tool.has("body"):
            ways.fault(field, "cannot go into the body beside a template of the body.")


def _queries(tool: Reader, fields: Mapping[str, Any]) -> None:
    queries = tool.object("query")
    for name, template in queries.value.items() if queries else ():
        assert queries is not None, "it has fields"
        if not _NAME.fullmatch(name):
            queries.fault(name, "is no name of a parameter.")
        elif isinstance(template, str):
            _known(queries, name, template, fields)


def _body(tool: Reader, fields: Mapping[str, Any], *, has_body: bool) -> None:
    kind = tool.one_of("body_as", BODIES)
    whole = [
        field for field, written in _mapping(tool.value.get("in")).items()
        if (found := way(field, written)) and found.part == "body" and found.name == WHOLE
    ]  # fmt: skip
    if not has_body:
        for name in ("body", "body_as"):
            if tool.has(name):
                tool.fault(name, "cannot be: this method is sent without a body.")
        return
    if tool.has("body"):
        _known(tool, "body", tool.value["body"], fields)
        if lost := leftover(tool.value):
            tool.fault("body", f"leaves out the field {lost[0]}, which would be sent nowhere.")
    if len(whole) > 1 or (whole and _others(tool.value)):
        tool.fault("in", "sends a whole body and something beside it.")
    if kind == "text" and not whole and not isinstance(tool.value.get("body"), str):
        tool.fault("body_as", "is text, so the body is one text: a template, or a field as body:*.")


def _others(tool: Mapping[str, Any]) -> bool:
    """Something goes into the body beside a field that is the whole of it."""
    ways = [way(field, written) for field, written in _mapping(tool.get("in")).items()]
    return bool(leftover(tool)) or any(
        one is not None and one.part == "body" and one.name != WHOLE for one in ways
    )


def _known(reader: Reader, name: str, template: object, fields: Mapping[str, Any]) -> None:
    for field in named(template):
        if field not in fields:
            reader.fault(name, f"has the place {{{field}}}, and the input has no such field.")


# What a person is shown ---------------------------------------------------------------------------


def destination(method: str, url: str, tool: Mapping[str, Any]) -> str:
    """The method and the whole address, with a place for each argument that goes into it."""
    pairs = [
        f"{name}={template if isinstance(template, str) else '•••'}"
        for name, template in _mapping(tool.get("query")).items()
    ]
    for field, written in _mapping(tool.get("in")).items():
        found = way(field, written)
        if found is not None and found.part == "query":
            pairs.append(f"{found.name}={{{field}}}")
    if method not in WITH_BODY:
        pairs += [f"{field}={{{field}}}" for field in leftover(tool)]
    mark = "&" if "?" in url else "?"
    return f"{method} {url}{mark if pairs else ''}{'&'.join(pairs)}"


def aimed(kind: str, written: str, arguments: Any) -> str:
    """The destination of a call with its arguments in the places; other kinds have no places.

    It is the address as it is sent: what is not given is left out of the query. What cannot stand
    in an address (a list, an object) keeps its place.
    """
    return _aim(written, arguments) if kind == "http" else written


def _aim(written: str, arguments: Any) -> str:
    if not isinstance(arguments, Mapping) or "{" not in written:
        return written
    head, mark, query = written.partition("?")
    found = NAMED.sub(lambda place: segment(arguments.get(place[1])) or place[0], head)
    pairs = [one for pair in query.split("&") if (one := _pair(pair, arguments))]
    text = f"{found}{mark if pairs else ''}{'&'.join(pairs)}"
    return text if len(text) <= MOST_DESTINATION else f"{text[: MOST_DESTINATION - 1]}…"


def _pair(pair: str, arguments: Mapping[str, Any]) -> str | None:
    name, _, template = pair.partition("=")
    if any(arguments.get(field) is None for field in named(template)):
        return None
    whole = NAMED.fullmatch(template)
    if whole and isinstance(items := arguments[whole[1]], list):
        return "&".join(f"{name}={_quoted(item)}" for item in items if item is not None) or None
    return f"{name}={NAMED.sub(lambda place: _quoted(arguments[place[1]]), template)}"


def segment(value: object) -> str | None:
    """A value as one part of an address's path, encoded; None when it cannot stand there."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return None
    return _quoted(value)


def text(value: object) -> str:
    """A value as it stands in a query, a header or a text: texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _quoted(value: object) -> str:
    return quote(text(value).encode("utf-8", "replace"), safe="")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
