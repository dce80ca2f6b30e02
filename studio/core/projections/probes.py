"""Looks at something outside, as people see them: how each stands and what it found."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules.access import Person, needs
from studio.core.rules.errors import NotFound
from studio.core.store import probes
from studio.core.store.probes import Probe

STATES = {"asked": "waiting", "started": "running", "lost": "unknown"}


@dataclass(frozen=True, kw_only=True)
class ProbeView:
    """One look. `state` is waiting, running, answered, failed or unknown; times are ms."""

    id: str
    kind: str
    target: str
    subject: Any
    by: str
    state: str
    asked: int
    started: int | None
    ended: int | None
    answer: Any
    masked: int
    code: str
    message: str

    @property
    def is_over(self) -> bool:
        """Nothing more will come of it."""
        return self.ended is not None


def one(conn: sa.Connection, person: Person, probe_id: str) -> ProbeView:
    """One look, for admins, who alone ask for them."""
    needs(person, "admin", "see what was tried")
    found = probes.get(conn, probe_id)
    if found is None:
        raise NotFound("There is no such test.", code="probe.not_found")
    return _view(found)


def newest(conn: sa.Connection, person: Person, kind: str) -> dict[str, ProbeView]:
    """The newest look of this kind for each target."""
    needs(person, "admin", "see what was tried")
    return {probe.target: _view(probe) for probe in probes.newest(conn, kind)}


def moves(conn: sa.Connection, person: Person, kind: str) -> tuple[int, int, int]:
    """What is another whenever a look of this kind moved on, also an older one of its target."""
    needs(person, "admin", "see what was tried")
    return probes.moves(conn, kind)


def _view(probe: Probe) -> ProbeView:
    return ProbeView(
        id=probe.id, kind=probe.kind, target=probe.target, subject=probe.subject, by=probe.by,
        state=STATES.get(probe.state, probe.state), asked=probe.asked, started=probe.started,
        ended=probe.ended, answer=probe.answer, masked=probe.masked, code=probe.code,
        message=probe.message,
    )  # fmt: skip
