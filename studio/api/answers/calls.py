"""Calls and their contents, as programs are given them."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.shapes import JSON, Time
from studio.core.rules.events import FileRef

Ms = Annotated[int, "Milliseconds."]


@dataclass(frozen=True, kw_only=True)
class Content:
    """A value. When `stored` it is too large to be here: `head` and `tail` are its text's ends."""

    hash: str
    size: int
    media: str
    value: JSON
    stored: bool
    head: str
    tail: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call (or a model attempt, kind `model`). Lists leave the contents null."""

    id: str
    session_id: str
    turn_id: str
    step: int
    index: int
    kind: str
    tool: str
    server: str | None
    plugin: str | None
    plugin_version: str | None
    state: str
    verdict: str | None
    digest: Annotated[str, "Binds what was proposed."]
    decided: Annotated[str, "Binds what may run."]
    sent: Annotated[str, "Binds what was sent; empty while nothing was."]
    peek: Annotated[str, "The first 300 characters of the arguments."]
    size: Annotated[int, "Bytes of the arguments."]
    arguments: Content | None
    proposed: Content | None
    result: Content | None
    message: str
    code: str
    edited_by: str | None
    decided_by: str | None
    choice: str | None
    decided_at: Time | None
    sends: int
    key: Annotated[str | None, "The idempotency key it is sent under."]
    proposed_at: Time
    started_at: Time | None
    ended_at: Time | None
    took: Ms | None
    settled: bool
    masked: Annotated[int, "Secrets that were taken out of what came back."]
    seq: int
    files: Annotated[tuple[FileRef, ...], "The artifacts that it left or read."]


@dataclass(frozen=True, kw_only=True)
class Calls:
    """Calls, oldest first. `before` leads to earlier ones; null at the beginning."""

    items: tuple[Call, ...]
    before: int | None
