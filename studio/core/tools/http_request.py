"""An HTTP tool's request: its description and the arguments, put together and safe to send.

Whatever comes from arguments is encoded for its place: it cannot leave a part of the path, add a
parameter, a line to the head, or a field to a form.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from studio.core.rules import ways
from studio.core.rules.ways import WHOLE, Way
from studio.core.tools.tool import ToolError

if TYPE_CHECKING:
    import httpx2

_MEDIA = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "text": "text/plain; charset=utf-8",
}
_DOTS = re.compile(r"(\.|%2e){1,2}", re.I)
_ABSENT: Any = object()
_NO_HEADER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The request of a described tool, before its arguments are known.

    `secrets` are parameters of the query whose values are not the agent's to see.
    """

    method: str
    url: str
    ways: Mapping[str, Way] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Any = None
    body_as: str = "json"

    def request(self, arguments: Mapping[str, Any], headers: dict[str, str]) -> "httpx2.Request":
        """The request of these arguments; ToolError says why there is none. Nothing is sent."""
        import httpx2

        path = self._path(arguments)
        left = self._left(arguments)
        headers = {**headers, **self._headers(arguments)}
        try:
            url = httpx2.URL(path)
            if pairs := [*self._pairs(arguments, left), *self.secrets.items()]:
                url = url.copy_with(params=[*url.params.multi_items(), *pairs])
            content = None
            if self.method in ways.WITH_BODY:
                headers.setdefault("content-type", _MEDIA[self.body_as])
                content = self._content(arguments, left)
            return httpx2.Request(self.method, url, headers=headers, content=content)
        except (httpx2.InvalidURL, ValueError) as wrong:
            raise bad_arguments(f"No request can be made of these arguments: {wrong}.") from None

    def _path(self, arguments: Mapping[str, Any]) -> str:
        expanded = ways.NAMED.sub(lambda found: _segment(found[1], arguments), self.url)
        if any(_DOTS.fullmatch(part) for part in urlsplit(expanded).path.split("/")):
            raise bad_arguments("A path parameter may not be “.” or “..”.")
        return expanded

    def _left(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that nothing in the description places."""
        placed = {*self.ways, *ways.named(self.url), *ways.named(self.query)}
        placed |= set(ways.named(self.body))
        left = {name: value for name, value in arguments.items() if name not in placed}
        if left and self.body is not None:
            raise bad_arguments(f"{next(iter(left))}: this tool sends it nowhere; leave it out.")
        return left

    def _headers(self, arguments: Mapping[str, Any]) -> dict[str, str]:
        found = dict[str, str]()
        for name, header, value in self._on("header", arguments):
            text = ways.text(value)
            if _NO_HEADER.search(text) or not text.isascii():
                words = "it stands in a header, so it is one line of plain characters."
                raise bad_arguments(f"{name}: {words}")
            found[header.lower()] = text.strip()
        return found

    def _pairs(
        self, arguments: Mapping[str, Any], left: Mapping[str, Any]
    ) -> list[tuple[str, str]]:
        found = dict[str, Any]()
        for name, template in self.query.items():
            if (value := _filled(template, arguments)) is not _ABSENT:
                found[name] = value
        found |= {name: value for _, name, value in self._on("query", arguments)}
        if self.method not in ways.WITH_BODY:
            found |= left
        own = {*self.secrets, *parse_qs(urlsplit(self.url).query, keep_blank_values=True)}
        if taken := own & found.keys():
            words = "the address has a parameter of this name of its own; leave it out."
            raise bad_arguments(f"{min(taken)}: {words}")
        return _flat(found)

    def _content(self, arguments: Mapping[str, Any], left: Mapping[str, Any]) -> bytes:
        value = self._body(arguments, left)
        if self.body_as == "json":
            return json.dumps(value, allow_nan=False).encode()
        elif self.body_as == "form":
            return urlencode(_flat(value if isinstance(value, Mapping) else {})).encode()
        return ways.text("" if value is None else value).encode("utf-8", "replace")

    def _body(self, arguments: Mapping[str, Any], left: Mapping[str, Any]) -> Any:
        if self.body is not None:
            filled = _filled(self.body, arguments)
            return None if filled is _ABSENT else filled
        found = dict(left)
        for _, name, value in self._on("body", arguments):
            if name == WHOLE:
                return value
            found[name] = value
        return found

    def _on(self, part: str, arguments: Mapping[str, Any]) -> Iterable[tuple[str, str, Any]]:
        """(field, name it goes under, its value) of what goes into a part of the request."""
        for name, way in self.ways.items():
            if way.part == part and name in arguments:
                yield name, way.name, arguments[name]


def bad_arguments(words: str) -> ToolError:
    """The arguments make no request; nothing happened."""
    return ToolError("tool.bad_arguments", words, settled=True)


def _segment(name: str, arguments: Mapping[str, Any]) -> str:
    found = ways.segment(arguments.get(name))
    if found is None:
        words = "it stands in the address, so it is a text or a number."
        raise bad_arguments(f"{name}: {words}")
    return found


def _filled(template: Any, arguments: Mapping[str, Any]) -> Any:
    """A template with its places filled; what names an argument that is not given is left out."""
    if isinstance(template, str):
        return _text(template, arguments)
    elif isinstance(template, Mapping):
        found = {name: _filled(item, arguments) for name, item in template.items()}
        return {name: item for name, item in found.items() if item is not _ABSENT}
    elif isinstance(template, list):
        items = [_filled(item, arguments) for item in template]
        return [item for item in items if item is not _ABSENT]
    return template


def _text(template: str, arguments: Mapping[str, Any]) -> Any:
    names = ways.NAMED.findall(template)
    if any(name not in arguments for name in names):
        return _ABSENT
    if names and ways.NAMED.fullmatch(template):
        return arguments[names[0]]
    return ways.NAMED.sub(lambda found: ways.text(arguments[found[1]]), template)


def _flat(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and texts: a list gives its name again and again, what is null is left out."""
    found = list[tuple[str, str]]()
    for name, value in values.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                found.append((name, ways.text(item).encode("utf-8", "replace").decode()))
    return found
