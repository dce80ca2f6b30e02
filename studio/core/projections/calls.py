"""Calls and model attempts, one row an effect: light for lists, full where one is looked at."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from studio.core.projections import pages, sessions
from studio.core.rules import contents
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.rules.events import Content, FileRef, Ruling
from studio.core.store import blobs, codec, tables

LIMIT_MOST = 1000
WORDS = 300  # characters of a message in a light row

f = tables.effects.c


@dataclass(frozen=True, kw_only=True)
class CallRow:
    """One effect: a tool call, or an attempt at a model call (`kind` is `model`).

    Lists carry light rows: `arguments`, `proposed` and `result` are None there, `message` is cut
    and `full` is false; `peek` (first 300 characters of the arguments) and `size` (their bytes) are
    always set. `digest` binds what was proposed, `decided` what may run, `sent` what was sent (""
    while nothing was). `took` is ms from first send to end. `settled`: an uncertain call was
    cleared up. `masked` counts the secrets that were taken out of what came back; `files` are the
    artifacts that it left or read.
    """

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
    full: bool
    arguments: Content | None
    proposed: Content | None
    result: Content | None
    message: str
    code: str
    ruling: Ruling | None
    edited_by: str | None
    decided_by: str | None
    choice: str | None
    decided_at: int | None
    sends: int
    key: str | None
    proposed_at: int
    started_at: int | None
    ended_at: int | None
    took: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    settled: bool
    masked: int
    seq: int
    files: tuple[FileRef, ...] = ()


_MADE = {"full", "took"}  # of other columns
_CONTENTS = ("arguments", "proposed", "result")
_PLAIN = [
    field.name for field in fields(CallRow)
    if field.name not in {*_MADE, *_CONTENTS, "message", "ruling", "settled", "files"}
]  # fmt: skip
_SHARED = [f[name].label(f"c_{name}") for name in (*_PLAIN, "ruling", "settled", "files")]
LIGHT: list[sa.ColumnElement[Any]] = [
    *_SHARED,
    sa.func.substr(f.message, 1, WORDS).label("c_message"),
]
FULL: list[sa.ColumnElement[Any]] = [
    *_SHARED,
    f.message.label("c_message"),
    f.arguments.label("c_arguments"),
    f.result.label("c_result"),
    sa.case((f.proposed != f.arguments, f.proposed)).label("c_proposed"),  # seldom differs
]


def of(found: sa.RowMapping) -> CallRow:
    """The call from a row with `LIGHT` or `FULL` columns."""
    started, ended = found["c_started_at"], found["c_ended_at"]
    return CallRow(
        **{name: found[f"c_{name}"] for name in _PLAIN},
        **_contents(found),
        message=found["c_message"],
        ruling=codec.back(Ruling, found["c_ruling"]) if found["c_ruling"] != "null" else None,
        settled=bool(found["c_settled"]),
        files=refs(json.loads(found["c_files"])),
        took=ended - started if started is not None and ended is not None else None,
    )


def refs(made: list[dict[str, Any]]) -> tuple[FileRef, ...]:
    """References to files from their JSON."""
    return tuple(FileRef(**item) for item in made)


def _contents(found: Any) -> dict[str, Any]:
    if "c_arguments" not in found:
        return {"full": False, "arguments": None, "proposed": None, "result": None}
    arguments = content(found["c_arguments"])
    return {
        "full": True,
        "arguments": arguments,
        "proposed": content(found["c_proposed"]) or arguments,
        "result": content(found["c_result"]),
    }


def content(made: str | None) -> Content | None:
    """A Content from its column."""
    return None if made is None or made == "null" else codec.back(Content, made)


def page(
    conn: sa.Connection, person: Person, session_id: str, *, before: int | None, limit: int
) -> list[CallRow]:
    """The newest tool calls of a session, light, oldest first: two statements."""
    sessions.head(conn, person, session_id)
    query = sa.select(*LIGHT).where(f.session_id == session_id, f.kind != "model")
    if before is not None:
        query = query.where(f.seq < before)
    query = query.order_by(f.seq.desc()).limit(pages.size(limit, most=LIMIT_MOST))
    return [of(row) for row in reversed(sessions.rows(conn, query))]


def one(conn: sa.Connection, person: Person, effect_id: str) -> CallRow:
    """One effect with its contents, or NotFound."""
    row = (
        conn.execute(
            sa.select(*FULL)
            .join(tables.sessions, tables.sessions.c.id == f.session_id)
            .where(f.id == effect_id, *sessions.visible(person))
        )
        .mappings()
        .one_or_none()
    )
    if row is None:
        raise NotFound("There is no such call.", code="call.not_found")
    return of(row)


PARTS = ("arguments", "proposed", "result")


def part(
    conn: sa.Connection, person: Person, effect_id: str, name: str, offset: int, length: int
) -> bytes:
    """Some bytes of a part of an effect: "arguments", "proposed" or "result".

    Three statements at most. What a provider wants back unchanged is no content for people.
    """
    call = one(conn, person, effect_id)
    found: Content | None = getattr(call, name) if name in PARTS else None
    if found is None:
        raise NotFound("This call has no such part.", code="call.no_part")
    if not found.stored:
        return contents.data(found)[offset : offset + length]
    return blobs.part(conn, found.hash, offset, length) or b""


def full(conn: sa.Connection, effects: Sequence[str]) -> dict[str, CallRow]:
    """These effects with contents, by id: one statement. The caller has checked the person."""
    if not effects:
        return {}
    rows = sessions.rows(conn, sa.select(*FULL).where(f.id.in_(effects)))
    return {row["c_id"]: of(row) for row in rows}
