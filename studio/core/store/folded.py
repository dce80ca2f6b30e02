"""Folded sessions kept in memory, so that a step does not fold its session anew.

What is here is durable: a session enters after its commit, never before. The oldest leave when
there are too many or they weigh too much. Any thread may ask.
"""

import threading
from collections import OrderedDict

import sqlalchemy as sa

from studio.core.rules.session import WINDOW_BYTES, Session, apply
from studio.core.store import codec, raw
from studio.core.store.facts import OF_SESSION

PAGE = 500
CHECKPOINT = "SELECT state FROM checkpoints WHERE session_id = ? AND fold = ?"
SESSIONS = 1_024
BYTES = 48 * 1024 * 1024
HEAVIEST = 2 * WINDOW_BYTES


class Folded:
    """Session by id, with what it weighs at most."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Session, int]] = OrderedDict()
        self._weight = 0

    def get(self, session_id: str) -> Session | None:
        """The newest state seen, which may be behind the journal's head."""
        with self._lock:
            found = self._kept.get(session_id)
            if found is None:
                return None
            self._kept.move_to_end(session_id)
            return found[0]

    def put(self, session: Session, grown: int) -> None:
        """Keep a state; `grown` is how many bytes of facts it took since the one before."""
        with self._lock:
            old, weight = self._kept.get(session.id, (None, 512))
            if old is not None and old.seq > session.seq:
                return
            heavier = min(weight + grown, HEAVIEST)
            self._weight += heavier - (weight if old is not None else 0)
            self._kept[session.id] = (session, heavier)
            self._kept.move_to_end(session.id)
            while len(self._kept) > SESSIONS or self._weight > BYTES:
                _, (_, gone) = self._kept.popitem(last=False)
                self._weight -= gone


def catch_up(
    conn: sa.Connection, session_id: str, head: int, known: Session | None
) -> tuple[Session, int]:
    """The session at its head, and the bytes of facts read for it.

    Goes on from what is known, else from the checkpoint, else from the first fact.
    """
    session = known or _from_checkpoint(conn, session_id)
    grown = 0
    while session.seq < head:
        for row in raw.every(conn, OF_SESSION, (session_id, session.seq, PAGE)):
            session = apply(session, codec.fact(row))
            grown += len(row[-1])
    return session, grown


def _from_checkpoint(conn: sa.Connection, session_id: str) -> Session:
    row = raw.one(conn, CHECKPOINT, (session_id, codec.FOLD))
    return codec.from_checkpoint(row[0]) if row is not None else Session(id=session_id)
