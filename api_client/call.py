"""A call as a value: a request to send and the type of what comes back. It does nothing itself."""

import secrets
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

T = TypeVar("T")
Json = Any
Content = bytes | Iterable[bytes] | AsyncIterable[bytes]  # the last for what is awaited


class Absent:
    """The type of `ABSENT`: not sent, which is not the same as null."""


ABSENT: Final = Absent()


@dataclass(frozen=True, kw_only=True)
class Call(Generic[T]):
    """One request; `T` is the type of its answer's JSON."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Json = ABSENT
    content: Content | None = None  # sent as it is, of the kind `media`, instead of a body
    media: str = ""

    @property
    def is_safe(self) -> bool:
        """It only reads, or the server answers a repetition with its first answer."""
        return self.method == "GET" or "Idempotency-Key" in self.headers


@dataclass(frozen=True, kw_only=True)
class Listing(Generic[T]):
    """A list that comes in pages: the call of the first page; `T` is one item."""

    first: Call[Any]

    def page(self, cursor: str | None) -> Call[Any]:
        """The call of the page that a cursor leads to."""
        if cursor is None:
            return self.first
        return replace(self.first, query={**self.first.query, "cursor": cursor})


def get(path: str, **query: object) -> Call[Any]:
    """A reading call; what is None is left out of the query."""
    return Call(method="GET", path=path, query=texts(query))


def keyed(path: str, body: Json, key: str | None, **headers: str) -> Call[Any]:
    """A changing call under an idempotency key; a fresh one when none is given."""
    key = key if key is not None else secrets.token_urlsafe(24)
    return Call(method="POST", path=path, body=body, headers={"Idempotency-Key": key, **headers})


def texts(query: Mapping[str, object]) -> dict[str, str]:
    """Query values as texts."""
    words = {True: "true", False: "false"}
    return {
        name: words[value] if isinstance(value, bool) else str(value)
        for name, value in query.items()
        if value is not None
    }


def given(**fields: object) -> dict[str, Any]:
    """A body of those fields that are there."""
    return {name: value for name, value in fields.items() if value is not ABSENT}


def part(text: str) -> str:
    """A part of a path, whatever is in it; dots alone would lead elsewhere."""
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


def tag(text: object) -> str:
    """An entity tag."""
    return f'"{text}"'
