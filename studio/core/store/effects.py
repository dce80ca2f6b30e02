"""What the runtime must know of a wait and its call before it decides. Reads only."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.rules import policy
from studio.core.rules.access import Person
from studio.core.rules.environments import tools as of_disk
from studio.core.store import codec, environments, listings, tables


@dataclass(frozen=True, kw_only=True)
class WaitRow:
    """A wait with what deciding it needs. Times in ms, UTC; `arguments` are those that may run."""

    id: str
    session_id: str
    effect_id: str
    kind: Literal["approval", "question", "timer", "uncertain"]
    state: str
    choice: str | None
    closed_by: str | None
    closed: int | None
    schema: Any
    owner: str
    private: bool
    arguments: e.Content


@dataclass(frozen=True, kw_only=True)
class ToolOf:
    """The tool of a call as it was when the call was proposed; `schema` is None when unknown.

    `labels` are those that the environment of its session has now, as k=v.
    """

    tool: str
    origin: e.Origin
    tool_hash: str
    destination: str
    agent: str
    agent_version: int
    schema: Mapping[str, Any] | None
    read_only: bool
    labels: tuple[str, ...] = ()


def wait(conn: sa.Connection, wait_id: str) -> WaitRow | None:
    """The wait, or None."""
    waits, effects = tables.waits.c, tables.effects.c
    row = conn.execute(
        sa.select(
            waits.id, waits.session_id, waits.effect_id, waits.kind, waits.state, waits.choice,
            waits.closed_by, waits.closed, waits.schema, waits.owner, waits.private,
            effects.arguments,
        )
        .join(tables.effects, effects.id == waits.effect_id)
        .where(waits.id == wait_id)
    ).one_or_none()  # fmt: skip
    if row is None:
        return None
    return WaitRow(
        id=row.id, session_id=row.session_id, effect_id=row.effect_id, kind=row.kind,
        state=row.state, choice=row.choice, closed_by=row.closed_by, closed=row.closed,
        schema=json.loads(row.schema) if row.schema else None, owner=row.owner,
        private=bool(row.private), arguments=codec.content(row.arguments),
    )  # fmt: skip


def tool_of(conn: sa.Connection, effect_id: str) -> ToolOf:
    """The tool of a call, from the fact that proposed it and the last listing of its agent."""
    events, sessions = tables.events.c, tables.sessions.c
    row = conn.execute(
        sa.select(events.payload, sessions.agent, sessions.agent_version, sessions.environment_id)
        .join(tables.sessions, sessions.id == events.session_id)
        .where(events.effect_id == effect_id, events.type == e.CallProposed.TYPE)
    ).one()
    proposed = codec.event(e.CallProposed.TYPE, row.payload)
    assert isinstance(proposed, e.CallProposed), "asked for by its type"
    labels = environments.labels(conn, {row.environment_id}).get(row.environment_id, ())
    if proposed.origin.kind == "sandbox":
        return ToolOf(
            tool=proposed.tool, origin=proposed.origin, tool_hash=proposed.tool_hash,
            destination=proposed.destination, agent=row.agent, agent_version=row.agent_version,
            schema=of_disk.SCHEMAS.get(proposed.tool), labels=labels,
            read_only=proposed.tool in of_disk.READ_ONLY,
        )  # fmt: skip
    listing = listings.get(conn, row.agent, row.agent_version)
    tools = listing.tools if listing is not None else ()
    found = next((tool for tool in tools if tool["hash"] == proposed.tool_hash), None)
    return ToolOf(
        tool=proposed.tool, origin=proposed.origin, tool_hash=proposed.tool_hash,
        destination=proposed.destination, agent=row.agent, agent_version=row.agent_version,
        schema=found["schema"] if found else None,
        read_only=bool(found["read_only"]) if found else False, labels=labels,
    )  # fmt: skip


def recorded(conn: sa.Connection, person: Person, limit: int) -> list[policy.RecordedCall]:
    """The newest calls that this person may see, for a dry run of a policy."""
    effects, sessions = tables.effects.c, tables.sessions.c
    rows = conn.execute(
        sa.select(tables.effects, sessions.agent, sessions.environment_id)
        .join(tables.sessions, sessions.id == effects.session_id)
        .where(effects.kind != "model", _seen_by(person))
        .order_by(effects.proposed_at.desc(), effects.id.desc())
        .limit(limit)
    ).all()
    labels = environments.labels(conn, {row.environment_id for row in rows})
    return [_recorded(row, labels.get(row.environment_id, ())) for row in rows]


def _seen_by(person: Person) -> sa.ColumnElement[bool]:
    sessions = tables.sessions.c
    if person.role == "admin":
        return sa.true()
    return sa.or_(sessions.private == 0, sessions.owner == person.id)


def _recorded(row: Any, labels: tuple[str, ...]) -> policy.RecordedCall:
    proposed = codec.content(row.proposed)
    subject = policy.Subject(
        tool=row.tool, server=row.server, plugin=row.plugin, kind=row.kind, agent=row.agent,
        labels=labels, read_only=json.loads(row.ruling).get("read_only", False),
        arguments=None if proposed.stored else proposed.value,
    )  # fmt: skip
    return policy.RecordedCall(
        effect_id=row.id,
        session_id=row.session_id,
        time=row.proposed_at,
        subject=subject,
        plugin_version=row.plugin_version,
    )
