"""Calls and their contents."""

from typing import Any, TypedDict

from api_client.shapes.artifacts import FileRef


class Content(TypedDict):
    """A value, or the ends of one that is too large."""

    hash: str
    size: int
    media: str
    value: Any
    stored: bool
    head: str
    tail: str


class CallRow(TypedDict):
    """A tool call."""

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
    digest: str
    decided: str
    sent: str
    peek: str
    size: int
    arguments: Content | None
    proposed: Content | None
    result: Content | None
    message: str
    code: str
    edited_by: str | None
    decided_by: str | None
    choice: str | None
    decided_at: str | None
    sends: int
    key: str | None
    proposed_at: str
    started_at: str | None
    ended_at: str | None
    took: int | None
    settled: bool
    masked: int
    seq: int
    files: list[FileRef]


class Calls(TypedDict):
    """Calls, oldest first; `before` leads to earlier ones."""

    items: list[CallRow]
    before: int | None
