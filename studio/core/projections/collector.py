"""What is exported: turns as spans, the content that was opted in, and how the export stands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import sqlalchemy as sa

from studio.core.projections import traces
from studio.core.rules import contents, excerpts
from studio.core.rules.events import Content, Event, MessageAccepted, ModelReplied
from studio.core.rules.spans import Span, Trace
from studio.core.store import backfills, blobs, codec, collector, raw, tables
from studio.core.store.backfills import Backfill
from studio.core.store.collector import Ended, Place

Hide = Callable[[str], str]  # a text without secrets
BEHIND = 1_000  # turns that are counted, at most
LOOKS = 10  # of so many facts each, at once

e, f = tables.events.c, tables.effects.c


@dataclass(frozen=True, kw_only=True)
class CollectorState:
    """How the export stands. Times are ms, counts are of spans but for `behind`, which is turns.

    `state` is off (no collector is set), gone (no worker exports now), failing, refusing (its
    newest answer took none of the spans, which do not go again by themselves) or well. `behind`
    counts up to BEHIND turns that ended and were not sent; `oldest` is when the first of them did.
    While it is off nothing is counted, and turns that ended after `unsent_since` were not sent.
    """

    state: str
    endpoint: str = ""
    sent: int = 0
    refused: int = 0
    dropped: int = 0
    behind: int = 0
    oldest: int | None = None
    unsent_since: int | None = None
    seen: int | None = None
    last_sent: int | None = None
    failing_since: int | None = None
    retry_at: int | None = None
    error: str = ""
    error_at: int | None = None
    backfill: Backfill | None = None


class Waiting:
    """When the turns ended that were not sent, the oldest first, at most BEHIND.

    What was found is kept, so that a look goes only through facts that came since the last one.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._place = self._scanned = Place(at=0)
        self._found: list[Ended] = []

    def times(self, conn: sa.Connection, place: Place) -> list[int]:
        """Those behind a place; a part of them for now when there are very many facts."""
        with self._lock:
            if place.at < self._place.at:  # of another store
                self._scanned, self._found = place, []
            self._place = place
            if self._scanned.at < place.at:
                self._scanned = place
            self._found = [turn for turn in self._found if turn.place.at > place.at]
            for _ in range(LOOKS):
                room = BEHIND - len(self._found)
                if room <= 0:
                    break
                window = collector.ends(conn, self._scanned, room)
                self._found += window.turns
                self._scanned = window.scanned
                if not window.more:
                    break
            return [turn.time for turn in self._found]


def state(conn: sa.Connection, now: int, waiting_ones: Waiting | None = None) -> CollectorState:
    """How the export stands now; `waiting_ones` is kept from one look to the next."""
    row = collector.read(conn)
    if row is None:
        return CollectorState(state="off")
    if not row.endpoint:
        return CollectorState(
            state="off", sent=row.sent, refused=row.refused, dropped=row.dropped,
            unsent_since=collector.moment(conn, Place(at=row.position)), last_sent=row.last_sent,
            error=row.error, error_at=row.error_at, backfill=backfills.newest(conn),
        )  # fmt: skip
    waiting = (waiting_ones or Waiting()).times(conn, Place(at=row.position))
    how = "well" if row.failing_since is None else "failing"
    if how == "well" and row.refused and (row.error_at or 0) > (row.last_sent or 0):
        how = "refusing"
    if not row.is_worked(now):
        how = "gone"
    return CollectorState(
        state=how, endpoint=row.endpoint, sent=row.sent, refused=row.refused,
        dropped=row.dropped, behind=len(waiting), oldest=waiting[0] if waiting else None,
        seen=row.seen, last_sent=row.last_sent, failing_since=row.failing_since,
        retry_at=row.retry_at, error=row.error, error_at=row.error_at,
        backfill=backfills.newest(conn),
    )  # fmt: skip


# Turns --------------------------------------------------------------------------------------------


def trace(conn: sa.Connection, turn_id: str, *, key: bytes) -> Trace | None:
    """A turn that ended, as its page shows it; None when there is none."""
    return traces.of_any(conn, turn_id, key=key, now=0)


def content(
    conn: sa.Connection, of: Trace, spans: Sequence[Span], kinds: frozenset[str], *, hide: Hide
) -> dict[str, dict[str, str]]:
    """The content of these spans that was opted in, by span id: attribute and text.

    What came from outside was masked when it was recorded; `hide` masks what people wrote.
    """
    found: dict[str, dict[str, str]] = {}
    if "messages" in kinds:
        _messages(conn, of, spans, hide, found)
    if kinds & {"arguments", "results"}:
        _calls(conn, spans, kinds, found)
    if "reasons" in kinds:
        for span in spans:
            if span.words and span.kind != "agent":
                _put(found, span, "studio.reason", excerpts.cut(hide(span.words)))
    return found


def _messages(
    conn: sa.Connection, of: Trace, spans: Sequence[Span], hide: Hide,
    found: dict[str, dict[str, str]],
) -> None:  # fmt: skip
    """What the person wrote, at the root and the first model call; what each model answered."""
    models = {span.effect_id: span for span in spans if span.kind == "model"}
    asked = [span for span in spans if span.kind == "agent"]
    asked += [span for span in models.values() if span.step == 1]
    if asked:
        said = _event(conn, e.turn_id == of.turn.id, MessageAccepted)
        text = excerpts.cut(hide(_whole(conn, said.text))) if said else ""
        for span in asked:
            _put(found, span, "gen_ai.input.messages", excerpts.messages("user", text))
    query = sa.select(e.effect_id, e.payload).where(
        e.turn_id == of.turn.id, e.type == ModelReplied.TYPE, e.effect_id.in_(list(models))
    )
    for effect_id, made in conn.execute(query.order_by(e.seq)):
        reply = codec.event(ModelReplied.TYPE, made)
        assert isinstance(reply, ModelReplied), "it was asked for by its type"
        said = excerpts.messages("assistant", _text(conn, reply.text), finish=reply.stop)
        _put(found, models[effect_id], "gen_ai.output.messages", said)


def _calls(
    conn: sa.Connection, spans: Sequence[Span], kinds: frozenset[str],
    found: dict[str, dict[str, str]],
) -> None:  # fmt: skip
    calls = [span for span in spans if span.kind == "tool"]
    query = sa.select(f.id, f.arguments, f.result).where(
        f.id.in_([span.effect_id for span in calls])
    )
    rows = {row[0]: row for row in conn.execute(query)}
    for span in calls:
        row = rows.get(span.effect_id)
        if row is None:
            continue
        if "arguments" in kinds:
            _put(found, span, "gen_ai.tool.call.arguments", _made(conn, row[1]))
        if "results" in kinds and span.state == "succeeded":
            _put(found, span, "gen_ai.tool.call.result", _made(conn, row[2]))


def _event(conn: sa.Connection, which: Any, kind: type[Event]) -> Any:
    made = conn.execute(sa.select(e.payload).where(which, e.type == kind.TYPE).limit(1)).scalar()
    return None if made is None else codec.event(kind.TYPE, made)


def _made(conn: sa.Connection, made: str | None) -> str:
    found = codec.content(made) if made and made != "null" else None
    return _text(conn, found) if found is not None else ""


def _text(conn: sa.Connection, found: Content) -> str:
    """The beginning of a content; what is a provider's own is shown to nobody."""
    if not found.stored:
        return excerpts.cut_bytes(contents.data(found))
    data = blobs.part(conn, found.hash, 0, excerpts.MOST_BYTES + 4)
    return excerpts.cut_bytes(data or b"")


def _whole(conn: sa.Connection, found: Content) -> str:
    data = blobs.read(conn, found.hash) if found.stored else contents.data(found)
    return (data or b"").decode("utf-8", "replace")


def _put(found: dict[str, dict[str, str]], span: Span, name: str, text: str) -> None:
    if text:
        found.setdefault(span.id, {})[name] = text


# The doctor asks a store that another process has open --------------------------------------------


def in_words(conn: sa.Connection, now: int) -> tuple[bool, str]:
    """Whether it is well, and a sentence."""
    if raw.one(conn, collector.READ) is None:
        return True, "spans were never exported from this store"
    found = state(conn, now)
    counts: Mapping[str, int] = {
        "sent": found.sent, "refused": found.refused, "given up": found.dropped,
    }  # fmt: skip
    words = ", ".join(f"{count:,} spans {what}" for what, count in counts.items() if count)
    behind = f", {found.behind:,} turns behind" if found.behind else ""
    if found.state == "off":
        return True, f"no worker has a collector now{', ' + words if words else ''} before"
    said = f"{found.endpoint}: {found.state}{', ' + words if words else ''}{behind}"
    is_well = found.state not in ("failing", "refusing")
    return is_well, said + (f"; last error: {found.error}" if found.error else "")
