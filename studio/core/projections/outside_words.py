"""Which spans of a trace from outside have a word in what they say: attributes, events, links.

What their resource says is the same for every span of a service, and is not looked through.
"""

import json
from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from studio.core.rules.outside import cutting
from studio.core.store import outside, tables

MOST_CHARACTERS = 64 * 1024 * 1024  # that are looked through, of all spans together
WINDOW = 20  # spans, which may be large, that are read at once

p = tables.outside_payloads.c


def found(conn: sa.Connection, trace_id: str, words: Sequence[str]) -> list[frozenset[str]]:
    """For each word (in any letters) the ids of the spans that have it."""
    # as a word stands in JSON
    looked = [json.dumps(word.lower(), ensure_ascii=False)[1:-1] for word in words]
    sets, left = [set[str]() for _ in looked], MOST_CHARACTERS
    for span_id, text in _texts(conn, trace_id):
        for word, of in zip(looked, sets, strict=True):
            if word in text:
                of.add(span_id)
        left -= len(text)
        if left <= 0:
            break
    return [frozenset(of) for of in sets]


def _texts(conn: sa.Connection, trace_id: str) -> Iterator[tuple[str, str]]:
    """What each span says, in small letters, by id; a window of them is in memory."""
    query, after = sa.select(p.span_id, p.data).where(p.trace_id == trace_id), ""
    while True:
        window = query.where(p.span_id > after).order_by(p.span_id).limit(WINDOW)
        rows = conn.execute(window).all()
        for row in rows:
            said = outside.unpack(bytes(row.data))
            said.pop("resource", None)
            yield row.span_id, cutting.written(said).decode().lower()
        if len(rows) < WINDOW:
            return
        after = rows[-1].span_id
