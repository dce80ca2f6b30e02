"""Which effects of a turn have a word in what they were given, what came of them or why they ended.

Contents stand whole beside their effect up to 32 KiB, and the store looks through them. Larger ones
lie apart by their hash: they are read and looked through whole, those that came last first, up to a
bound of the turn. What was found is kept for a while; of bytes that have a hash it never changes.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import sqlalchemy as sa

from studio.core.projections import calls, sessions, traces
from studio.core.rules import contents, pieces
from studio.core.rules.access import Person
from studio.core.rules.events import Content
from studio.core.store import blobs, tables

MOST = 50_000  # effects that are found for a word
MOST_BYTES = 64_000_000  # of large contents that are looked through in a turn
MOST_KEPT = 100_000  # effects found, and answers about large contents; about 20 MB
TOGETHER = 100  # effects whose contents are read at once
WINDOW = 1_000_000  # bytes that are looked through in one go
VALUE = '"value":'  # the members of a Content in the order of its JSON
APART = '"value":null,"stored":true,'
START = 256  # characters of that JSON in which the value begins
AROUND = (  # what stands around the value, and around the head and tail of a large one
    ',"stored":false,"head":"","tail":"","room":null}', 'null,"stored":true,"head":"', '","tail":"',
    '","room":null}',
)  # fmt: skip
ENDS = frozenset('",}')  # the first and the last characters of these

f = tables.effects.c
Column = sa.ColumnElement[str] | sa.ColumnElement[str | None]
Answers = dict[tuple[str, str], bool]  # whether the content of a hash has a word, as it is written


@dataclass(frozen=True, kw_only=True)
class Large:
    """A content of an effect that lies apart."""

    effect_id: str
    hash: str
    size: int
    is_json: bool

    def writes(self, word: str) -> str:
        """A word as it stands in these bytes."""
        return _written(word) if self.is_json else word


@dataclass(frozen=True, kw_only=True)
class Apart:
    """The large contents of a turn: those that a search looks through, and how many it does not."""

    looked: tuple[Large, ...] = ()
    left: int = 0
    left_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What the store said at one moment: `seq` is the turn's newest fact.

    `whole` are the effects of words that were looked for before; `begun` those of the other words,
    without what their large contents have.
    """

    seq: int
    apart: Apart
    whole: dict[str, frozenset[str]] = field(default_factory=dict)
    begun: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TraceWords:
    """For each word the effects that have it. `left` counts the large contents that were not looked
    through whole, as that would have been more than `most` bytes of a turn.
    """

    effects: tuple[frozenset[str], ...] = ()
    left: int = 0
    left_bytes: int = 0
    most: int = MOST_BYTES


class Kept:
    """What searches found, each for as long as its version holds; what was used longest ago goes
    first.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most, self.held, self._lock = most, 0, Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[int, Any, int]] = OrderedDict()

    def get(self, key: tuple[str, str], version: int = 0) -> Any:
        """What was found, or None."""
        with self._lock:
            found = self._kept.get(key)
            if found is None or found[0] != version:
                return None
            self._kept.move_to_end(key)
            return found[1]

    def put(
        self, key: tuple[str, str], found: Any, *, version: int = 0, weight: int = 1
    ) -> None:  # fmt: skip
        """Keep it, and let others go for it."""
        with self._lock:
            _, _, before = self._kept.pop(key, (0, None, 0))
            self._kept[key] = (version, found, weight)
            self.held += weight - before
            while self.held > self._most:
                _, (_, _, gone) = self._kept.popitem(last=False)
                self.held -= gone


# What stands beside the effects -------------------------------------------------------------------


def beside(
    conn: sa.Connection, person: Person, session_id: str, turn_id: str, words: Sequence[str],
    kept: Kept,
) -> Beside:  # fmt: skip
    """What is known and what the store says of these words; one statement a word that is new."""
    sessions.head(conn, person, session_id)
    seq = traces.newest(conn, session_id, turn_id)
    apart = kept.get((turn_id, ""), seq)
    if apart is None:
        apart = _apart(conn, session_id, turn_id)
        kept.put((turn_id, ""), apart, version=seq, weight=1 + len(apart.looked))
    whole, begun = dict[str, frozenset[str]](), dict[str, frozenset[str]]()
    for word in words:
        found = kept.get((turn_id, word), seq)
        if found is not None:
            whole[word] = found
        else:
            begun[word] = _effects(conn, session_id, turn_id, word)
    return Beside(seq=seq, apart=apart, whole=whole, begun=begun)


def _mine(session_id: str, turn_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    return f.turn_id == turn_id, f.session_id == session_id


def _effects(conn: sa.Connection, session_id: str, turn_id: str, word: str) -> frozenset[str]:
    mine = sa.select(f.id).where(*_mine(session_id, turn_id)).limit(MOST)
    if all(letter.isascii() or letter.upper() == letter for letter in word):
        return frozenset(row.id for row in conn.execute(mine.where(_has(conn, word))))
    # a store makes small letters of ASCII alone, or as its server is set up
    ids = [row.id for row in conn.execute(mine.where(_may_have(conn, word)))]
    some = (ids[at : at + TOGETHER] for at in range(0, len(ids), TOGETHER))
    return frozenset(id for window in some for id in _having(conn, window, word))


def _has(conn: sa.Connection, word: str) -> sa.ColumnElement[bool]:
    written, lower = _written(word), sa.func.lower
    texts = [_value(conn, content, written) for content in (f.arguments, f.result)]
    return sa.or_(
        *(_at(conn, lower(text), written) > 0 for text in texts),
        _at(conn, lower(f.message), word) > 0,
    )


def _may_have(conn: sa.Connection, word: str) -> sa.ColumnElement[bool]:
    """Whether a row has the longest part of a word that is ASCII, beside anything that is not."""
    part = max(re.findall(r"[\x00-\x7f]+", word), key=len, default="")
    looked = ((f.arguments, _written(part)), (f.result, _written(part)), (f.message, part))
    return sa.or_(
        *(
            sa.and_(_at(conn, sa.func.lower(text), some) > 0, _bytes(conn, text) > _length(text))
            if some else _bytes(conn, text) > _length(text)
            for text, some in looked
        )
    )  # fmt: skip


def _bytes(conn: sa.Connection, text: Column) -> sa.ColumnElement[int]:
    if conn.dialect.name == "sqlite":
        return _length(sa.cast(text, sa.LargeBinary))
    return sa.func.octet_length(text)


def _length(text: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    return sa.func.length(text)


def _having(conn: sa.Connection, ids: Sequence[str], word: str) -> Iterator[str]:
    written = _written(word)
    texts = [_value(conn, content, written) for content in (f.arguments, f.result)]
    for row in conn.execute(sa.select(f.id, *texts, f.message).where(f.id.in_(ids))):
        effect_id, *values, message = row
        if word in message.lower() or any(written in (text or "").lower() for text in values):
            yield effect_id


def _written(word: str) -> str:
    """A word as it stands in JSON."""
    return json.dumps(word, ensure_ascii=False)[1:-1]


def _value(conn: sa.Connection, content: Column, word: str) -> sa.ColumnElement[str]:
    """The JSON of a Content from its value on, without what stands around that.

    What this word can neither stand in nor reach into is left there, as to take it out costs most.
    """
    text = sa.func.substr(content, _at(conn, content, VALUE) + len(VALUE))
    for part in AROUND:
        if word in part or not ENDS.isdisjoint(word):
            text = sa.func.replace(text, part, "\n")
    return text


def _at(conn: sa.Connection, text: Column, part: str) -> sa.ColumnElement[int]:
    """Where a part begins in a text, from 1; 0 where it is not there."""
    find = sa.func.instr if conn.dialect.name == "sqlite" else sa.func.strpos
    return find(text, part)


# What lies apart ----------------------------------------------------------------------------------


def _apart(conn: sa.Connection, session_id: str, turn_id: str) -> Apart:
    """The turn's large contents, those that came last first, each hash counted once."""
    lies_apart = {
        column: _at(conn, sa.func.substr(column, 1, START), APART) > 0
        for column in (f.result, f.arguments)
    }
    lies_apart[f.arguments] &= f.size > contents.STUB_BYTES  # fewer bytes stand in its head whole
    parts = [sa.case((is_apart, column)) for column, is_apart in lies_apart.items()]
    query = (
        sa.select(f.id, *parts)
        .where(*_mine(session_id, turn_id), sa.or_(*lies_apart.values()))
        .order_by(sa.func.coalesce(f.ended_at, f.proposed_at).desc(), f.seq.desc(), f.id)
    )
    looked, sizes, left, room = list[Large](), set[str](), dict[str, int](), MOST_BYTES
    for effect_id, *made in conn.execute(query.limit(MOST)):
        for content in filter(None, map(calls.content, made)):
            if not content.stored or content.media == contents.OPAQUE:
                continue
            if content.hash not in sizes and content.size > room:
                left[content.hash] = content.size
                continue
            room -= 0 if content.hash in sizes else content.size
            sizes.add(content.hash)
            looked.append(_large(effect_id, content))
    return Apart(looked=tuple(looked), left=len(left), left_bytes=sum(left.values()))


def _large(effect_id: str, content: Content) -> Large:
    return Large(
        effect_id=effect_id, hash=content.hash, size=content.size,
        is_json=content.media == "application/json",
    )  # fmt: skip


def windows(known: Beside) -> Iterator[list[Large]]:
    """The contents that are still to be looked through, about a megabyte at a time."""
    window, held, seen = list[Large](), 0, set[tuple[str, bool]]()
    for one in known.apart.looked if known.begun else ():
        needed = any(one.effect_id not in found for found in known.begun.values())
        if not needed or (one.hash, one.is_json) in seen:
            continue
        seen.add((one.hash, one.is_json))
        if window and held + one.size > WINDOW:
            yield window
            window, held = [], 0
        window.append(one)
        held += one.size
    if window:
        yield window


def look(
    conn: sa.Connection, window: Sequence[Large], words: Collection[str], kept: Kept
) -> Answers:  # fmt: skip
    """Which of these contents have which words; what is known is not read again."""
    answers: Answers = {}
    for one in window:
        written = {one.writes(word) for word in words}
        known = {word: kept.get((one.hash, word)) for word in written}
        new = {word for word, has in known.items() if has is None}
        if new:
            data = blobs.part(conn, one.hash, 0, one.size) or b""
            has = pieces.having(data, new)
            known |= {word: word in has for word in new}
            for word in new:
                kept.put((one.hash, word), known[word])
        answers |= {(one.hash, word): has for word, has in known.items()}
    return answers


def joined(
    known: Beside, answers: Answers, turn_id: str, words: Sequence[str], kept: Kept
) -> TraceWords:  # fmt: skip
    """What was found of each word, kept for the next one who asks."""
    whole = dict(known.whole)
    for word, begun in known.begun.items():
        more = (
            one.effect_id for one in known.apart.looked if answers.get((one.hash, one.writes(word)))
        )
        whole[word] = begun.union(more)
        kept.put((turn_id, word), whole[word], version=known.seq, weight=1 + len(whole[word]))
    return TraceWords(
        effects=tuple(whole[word] for word in words), left=known.apart.left,
        left_bytes=known.apart.left_bytes, most=MOST_BYTES,
    )  # fmt: skip
