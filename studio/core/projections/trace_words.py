"""Which effects of a turn have a word in what they were given, what came of them or why they ended.

Contents stand whole beside their effect up to 32 KiB; of larger ones the beginning and the end do,
and only those are looked through.
"""

import json
from collections.abc import Sequence

import sqlalchemy as sa

from studio.core.projections import sessions
from studio.core.rules.access import Person
from studio.core.store import tables

MOST = 50_000  # effects that are found for a word
VALUE = '"value":'  # the members of a Content in the order of its JSON
AROUND = (  # what stands around the value, and around the head and tail of a large one
    ',"stored":false,"head":"","tail":"","room":null}', 'null,"stored":true,"head":"', '","tail":"',
    '","room":null}',
)  # fmt: skip

f = tables.effects.c


def found(
    conn: sa.Connection, person: Person, session_id: str, turn_id: str, words: Sequence[str]
) -> list[frozenset[str]]:
    """For each word the ids of the effects of the turn that have it; one statement a word."""
    sessions.head(conn, person, session_id)
    mine = sa.select(f.id).where(f.turn_id == turn_id, f.session_id == session_id)
    return [
        frozenset(
            row.id for row in conn.execute(mine.where(_has(conn, word.lower())).limit(MOST))
        )
        for word in words
    ]  # fmt: skip


def _has(conn: sa.Connection, word: str) -> sa.ColumnElement[bool]:
    written = json.dumps(word, ensure_ascii=False)[1:-1]  # as it stands in JSON
    looked = [_value(conn, f.arguments), _value(conn, sa.func.coalesce(f.result, ""))]
    return sa.or_(
        *(sa.func.lower(text).contains(written, autoescape=True) for text in looked),
        sa.func.lower(f.message).contains(word, autoescape=True),
    )


def _value(conn: sa.Connection, content: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """The JSON of a Content without its hash, size and kind, and what follows the value."""
    at = sa.func.instr if conn.dialect.name == "sqlite" else sa.func.strpos
    text = sa.func.substr(content, at(content, VALUE) + len(VALUE))
    for part in AROUND:
        text = sa.func.replace(text, part, "\n")
    return text
