"""Facts of people and programs: sign-ins, application keys, saved views.

They stand in the journals `people` and `views`.
"""

from dataclasses import dataclass
from typing import ClassVar

from studio.core.rules.events.base import Event


@dataclass(frozen=True, kw_only=True)
class KeyMade(Event):
    """An application key was made. The key itself is never recorded, only its SHA-256."""

    TYPE: ClassVar[str] = "key.made"
    ACTOR: ClassVar[str] = "person"
    key_id: str
    name: str
    role: str
    hash: str
    by: str


@dataclass(frozen=True, kw_only=True)
class KeyRevoked(Event):
    """An application key was revoked and opens nothing from now on."""

    TYPE: ClassVar[str] = "key.revoked"
    ACTOR: ClassVar[str] = "person"
    key_id: str
    by: str


@dataclass(frozen=True, kw_only=True)
class ViewSaved(Event):
    """Filters of a list were saved under a name, changed, or brought back. All of it, each time.

    `list` is the page they belong to, `query` that of its URL; with `shared` everybody sees it.
    """

    TYPE: ClassVar[str] = "view.saved"
    ACTOR: ClassVar[str] = "person"
    view_id: str
    list: str
    name: str
    query: str
    owner: str
    shared: bool
    by: str


@dataclass(frozen=True, kw_only=True)
class ViewRemoved(Event):
    """A saved view was taken away; it can be brought back."""

    TYPE: ClassVar[str] = "view.removed"
    ACTOR: ClassVar[str] = "person"
    view_id: str
    by: str


@dataclass(frozen=True, kw_only=True)
class OutsideTraceForgotten(Event):
    """An admin took away a trace from outside, with all of its spans. It cannot be had back."""

    TYPE: ClassVar[str] = "outside_trace.forgotten"
    ACTOR: ClassVar[str] = "person"
    trace_id: str
    sent_by: str
    spans: int
    by: str


@dataclass(frozen=True, kw_only=True)
class OutsideSenderForgotten(Event):
    """An admin took away traces of one sender, those whose last span came before a time (ms).

    An act that takes many away is told by several of these, one after the other, each of traces
    that no other names. `spans` and `bytes` are of all of them. They cannot be had back.
    """

    TYPE: ClassVar[str] = "outside_sender.forgotten"
    ACTOR: ClassVar[str] = "person"
    sent_by: str
    before: int
    trace_ids: tuple[str, ...]
    spans: int
    bytes: int
    by: str


@dataclass(frozen=True, kw_only=True)
class SignedIn(Event):
    """A person came in by a single-use link."""

    TYPE: ClassVar[str] = "person.signed_in"
    ACTOR: ClassVar[str] = "person"
    person: str
    role: str
