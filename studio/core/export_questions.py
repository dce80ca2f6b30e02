"""Sessions and turns as files to take away: streamed, complete, and only what a person may see.

A page of facts, or the large contents of one, or one turn is in memory at a time; what is large is
never parsed, and goes in pieces between which everybody else has their turn. Each file ends with
its counts, or says there what went wrong; a file without that end was cut on its way.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from studio.core.projections import exports, facts, pages, sessions, traces, turn_list
from studio.core.projections.facts import EventRow
from studio.core.projections.turn_list import AskedTurns
from studio.core.rules import contents, conventions, pieces, transcripts
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid, StudioError
from studio.core.rules.events import MessageAccepted
from studio.core.rules.pieces import PIECE
from studio.core.store import codec
from studio.core.trace_questions import TraceQuestions

Format = Literal["markdown", "jsonl", "otlp"]
FORMATS: tuple[Format, ...] = ("markdown", "jsonl", "otlp")
MEDIA = {
    "markdown": "text/markdown; charset=utf-8", "jsonl": "application/x-ndjson",
    "otlp": "application/x-ndjson",
}  # fmt: skip
ENDING = {"markdown": "md", "jsonl": "jsonl", "otlp": "otlp.jsonl"}
FACTS = 100  # read at once
log = logging.getLogger("studio.exports")


@dataclass(frozen=True, kw_only=True)
class Export:
    """A file: its name, its media type, and its text a piece at a time."""

    name: str
    media: str
    text: AsyncGenerator[str, None]


@dataclass(kw_only=True)
class Counts:
    """What a file holds: sessions, turns and spans of traces, facts."""

    sessions: int = 0
    turns: int = 0
    facts: int = 0
    spans: int = 0


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A session, or one turn of it, that goes into a file."""

    session_id: str
    turn_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How it is written. `inline`: large contents whole, else by hash. `about` is the filter."""

    format: Format
    inline: bool
    version: str
    about: Mapping[str, Any]
    counts: Counts = field(default_factory=Counts)


class ExportQuestions(TraceQuestions):
    """Questions whose answers are files. `version` is the program's own."""

    async def export_session(
        self, person: Person, session_id: str, format: str, *, version: str, inline: bool = False
    ) -> Export:
        """One session as it stands now, whole; NotFound before anything is written."""
        wanted = _wanted(format, version, {"session": session_id}, inline=inline)
        await self._read(lambda conn: exports.head(conn, person, session_id), session_id)

        async def alone() -> AsyncGenerator[Taken, None]:
            yield Taken(session_id=session_id)

        return self._export(person, f"session-{session_id}", alone(), wanted)

    async def export_sessions(
        self, person: Person, filters: Mapping[str, str], format: str, *, version: str,
        inline: bool = False,
    ) -> Export:  # fmt: skip
        """Every session that fits: q, agent, status, needs, plugin, environment."""
        names = ("q", "agent", "status", "needs", "plugin", "environment")
        asked = {name: filters.get(name, "") for name in names}
        pages.plain(*asked.values())
        pages.one_of("status", asked["status"], sessions.STATUSES)
        pages.one_of("needs", asked["needs"], sessions.NEEDS)
        wanted = _wanted(format, version, {"sessions": _given(asked)}, inline=inline)
        name = f"sessions-{self._today()}"
        return self._export(person, name, self._sessions(person, asked), wanted)

    async def export_turns(
        self, person: Person, filters: Mapping[str, str], format: str, *, version: str,
        inline: bool = False,
    ) -> Export:  # fmt: skip
        """Every turn that fits; `filters` are as in `turn_list.of_texts`."""
        filters = {name: filters.get(name, "") for name in turn_list.FILTERS}
        turn_list.checked_days(filters)
        asked = turn_list.of_texts(filters, self._clock.now())
        pages.plain(asked.agent, asked.tool, asked.plugin, asked.error)
        pages.one_of("status", asked.status, turn_list.STATUSES)
        wanted = _wanted(format, version, {"turns": _given(filters)}, inline=inline)
        return self._export(
            person, f"turns-{self._today()}", self._turns(person, asked), wanted
        )  # fmt: skip

    def _export(
        self, person: Person, name: str, taken: AsyncGenerator[Taken, None], wanted: Wanted
    ) -> Export:
        format = wanted.format
        return Export(
            name=f"{name}.{ENDING[format]}", media=MEDIA[format],
            text=self._written(person, taken, wanted),
        )  # fmt: skip

    # What goes into it --------------------------------------------------------------------------

    async def _sessions(self, person: Person, asked: dict[str, Any]) -> AsyncGenerator[Taken, None]:
        cursor: str | None = None
        while True:
            look = partial(
                sessions.page, person=person, **asked, limit=pages.LIMIT_MOST, cursor=cursor,
                patience=self._patience(),
            )  # fmt: skip
            page = await self._read(look)
            for row in page.items:
                yield Taken(session_id=row.id)
            cursor = page.next
            if cursor is None:
                return

    async def _turns(self, person: Person, asked: AskedTurns) -> AsyncGenerator[Taken, None]:
        cursor: str | None = None
        while True:
            look = partial(
                turn_list.page, person=person, asked=asked, limit=pages.LIMIT_MOST, cursor=cursor
            )
            page = await self._read(look)
            for line in page.items:
                yield Taken(session_id=line.turn.session_id, turn_id=line.turn.id)
            cursor = page.next
            if cursor is None:
                return

    # The file -------------------------------------------------------------------------------------

    async def _written(
        self, person: Person, taken: AsyncGenerator[Taken, None], wanted: Wanted
    ) -> AsyncGenerator[str, None]:
        fault: tuple[str, str] | None = None
        yield _begin(wanted, self._clock.now())
        try:
            async with aclosing(taken) as each:
                async for one in each:
                    async with aclosing(self._one(person, one, wanted)) as pieces:
                        async for piece in pieces:
                            for at in range(0, len(piece), PIECE):
                                yield piece[at : at + PIECE]
                                await asyncio.sleep(0)  # a fast reader makes nobody wait
        except StudioError as error:
            fault = (error.code, error.message)
        except Exception:  # the file must say that it is not whole
            log.exception("an export ended early")
            fault = ("internal", "Something went wrong on our side; the rest is not here.")
        yield _end(wanted, fault)

    async def _one(self, person: Person, one: Taken, wanted: Wanted) -> AsyncGenerator[str, None]:
        head = await self._read(lambda conn: exports.head(conn, person, one.session_id))
        wanted.counts.sessions += one.turn_id is None
        wanted.counts.turns += one.turn_id is not None
        if wanted.format == "otlp":
            pieces = self._spans(person, one, wanted)
        else:
            yield _session(wanted, head, one)
            pieces = self._facts(person, one, wanted, until=head["seq"])
        async with aclosing(pieces) as told:
            async for piece in told:
                yield piece

    async def _facts(
        self, person: Person, one: Taken, wanted: Wanted, *, until: int
    ) -> AsyncGenerator[str, None]:
        after = 0
        while True:
            look = partial(
                facts.between, person=person, session_id=one.session_id, after=after, until=until,
                limit=FACTS, turn_id=one.turn_id,
            )  # fmt: skip
            rows = await self._read(look)
            for row in rows:
                async with aclosing(self._fact(person, one.session_id, row, wanted)) as told:
                    async for piece in told:
                        yield piece
                wanted.counts.facts += 1
                wanted.counts.turns += one.turn_id is None and row.type == MessageAccepted.TYPE
            if len(rows) < FACTS:
                return
            after = rows[-1].seq

    async def _fact(
        self, person: Person, session_id: str, row: EventRow, wanted: Wanted
    ) -> AsyncGenerator[str, None]:
        """One fact; `inline` with its large contents in it, but for a provider's own."""
        large = {
            name: value for name, value in row.payload.items()
            if isinstance(value, dict) and value.get("stored") and "hash" in value
            and value.get("media") != contents.OPAQUE and wanted.inline
        }  # fmt: skip
        if not large:
            yield _fact(wanted, session_id, row, row.payload)
            return
        data = {  # all of them, so that a line that is begun is ended
            name: await self._read(partial(
                facts.blob, person=person, session_id=session_id, hash=value["hash"]
            ))
            for name, value in large.items()
        }  # fmt: skip
        marks = {name: secrets.token_hex(16) for name in large}
        is_read = wanted.format == "markdown"
        if is_read:  # small ones are written so that they are read well
            marks = {name: mark for name, mark in marks.items() if len(data[name]) > PIECE}
        whole = {
            name: _whole(value, marks[name] if name in marks else _parsed(value, data[name]))
            for name, value in large.items()
        }
        text = _fact(wanted, session_id, row, {**row.payload, **whole})
        for name, mark in marks.items():
            made, around = pieces.as_json(data[name], is_json=_is_json(large[name])), f'"{mark}"'
            if is_read:
                ticks = await asyncio.to_thread(pieces.ticks, data[name])
                made, around = pieces.as_fence(data[name], ticks), transcripts.fence(mark)
            before, found, text = text.partition(around)
            yield before
            for piece in made if found else ():
                yield piece
        yield text

    async def _spans(self, person: Person, one: Taken, wanted: Wanted) -> AsyncGenerator[str, None]:
        """A line for each turn, as OpenTelemetry's file exporter writes them."""
        key, number = self._trace_key, 0
        while True:
            ids = [one.turn_id] if one.turn_id is not None else []
            if one.turn_id is None:
                ids = await self._read(
                    partial(exports.turn_ids, session_id=one.session_id, after=number, limit=FACTS)
                )
            for turn_id in ids:
                look = partial(
                    traces.of_turn, person=person, session_id=one.session_id, turn=turn_id, key=key,
                    now=self._clock.now(),
                )  # fmt: skip
                trace = await self._read(look)
                number = trace.turn.number
                wanted.counts.turns += one.turn_id is None
                wanted.counts.spans += len(trace.spans)
                for piece in conventions.written(trace, version=wanted.version):
                    yield piece
                    await asyncio.sleep(0)  # a turn may be large, and others are served, too
                yield "\n"
            if one.turn_id is not None or len(ids) < FACTS:
                return

    def _today(self) -> str:
        return datetime.fromtimestamp(self._clock.now() / 1000, UTC).date().isoformat()


def _wanted(format: str, version: str, about: Mapping[str, Any], *, inline: bool) -> Wanted:
    known = next((one for one in FORMATS if one == format), None)
    if known is None:
        words = f"Choose one of {', '.join(FORMATS)}."
        raise Invalid(f"There is no such format. {words}", fields={"format": words},
                      code="export.format")  # fmt: skip
    return Wanted(format=known, inline=inline, version=version, about=about)


def _given(filters: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in filters.items() if value}


def _begin(wanted: Wanted, now: int) -> str:
    if wanted.format == "markdown":
        return ""
    about = {"format": wanted.format, "studio": wanted.version, "at": _iso(now), **wanted.about}
    return "" if wanted.format == "otlp" else _line({"line": "export", **about})


def _session(wanted: Wanted, head: Mapping[str, Any], one: Taken) -> str:
    if wanted.format == "markdown":
        return transcripts.head(head)
    kept = {name: head[name] for name in exports.HEAD if name not in ("private", "started")}
    return _line(
        {
            "line": "session", **kept, "private": bool(head["private"]),
            "started": _iso(head["started"]), "seq": head["seq"], "turn_id": one.turn_id,
        }
    )  # fmt: skip


def _fact(wanted: Wanted, session_id: str, row: EventRow, payload: dict[str, Any]) -> str:
    if wanted.format == "markdown":
        return transcripts.fact(row.type, row.time, row.actor, payload)
    told = {**asdict(row), "time": _iso(row.time), "payload": payload}
    return _line({"line": "fact", "session_id": session_id, **told})


def _whole(content: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """A content as it is when it stands in its fact."""
    return {**content, "value": value, "stored": False, "head": "", "tail": ""}


def _is_json(content: Mapping[str, Any]) -> bool:
    return content.get("media") == "application/json"


def _parsed(content: Mapping[str, Any], data: bytes) -> Any:
    text = data.decode("utf-8", "replace")
    return json.loads(text) if _is_json(content) else text


def _end(wanted: Wanted, fault: tuple[str, str] | None) -> str:
    counts = asdict(wanted.counts)
    if wanted.format == "markdown":
        told = ", ".join(
            f"{count:,} {name.removesuffix('s') if count == 1 else name}"
            for name, count in counts.items()
            if name != "spans" and (count or name != "sessions")
        )
        if fault is None:
            return f"---\n\nThe end of this export, which is complete: {told}.\n"
        why = f"{transcripts.code(fault[1])} ({transcripts.code(fault[0])})"
        return f"\n\n---\n\n**This export is not complete.** It ended after {told}: {why}.\n"
    end: dict[str, Any] = {"complete": fault is None, **counts}
    if fault is not None:
        end["error"] = {"code": fault[0], "message": fault[1]}
    if wanted.format == "otlp":  # a field that OTLP does not know is left unread there
        return _line({"resourceSpans": [], "studioExport": end})
    return _line({"line": "end", **end})


def _line(value: Any) -> str:
    return codec.text(value) + "\n"


def _iso(milliseconds: int) -> str:
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
