"""What a worker's catalog last found for an agent version: its tools, and what was missing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.store.tables import listings


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The last listing. `tools`, `gaps` and `skills` as `save` was given them; `time` in ms."""

    agent: str
    version: int
    tools: tuple[dict[str, Any], ...]
    gaps: tuple[dict[str, Any], ...]
    time: int
    skills: tuple[dict[str, Any], ...] = ()


def save(
    conn: sa.Connection, agent: str, version: int, tools: Sequence[Mapping[str, Any]],
    gaps: Sequence[Mapping[str, Any]], at: int, skills: Sequence[Mapping[str, Any]] = (),
) -> None:  # fmt: skip
    """Keep this listing in place of the earlier one; a listing that is older changes nothing.

    A tool is {name, description, schema, kind, server, plugin, plugin_version, destination,
    read_only, repeatable, hash}; a gap is {source, message}; a skill is a
    `rules.skills.Brief`. Extra keys are kept.
    """
    row = {
        "agent": agent,
        "version": version,
        "tools": json.dumps(list(tools), ensure_ascii=False),
        "gaps": json.dumps(list(gaps), ensure_ascii=False),
        "skills": json.dumps(list(skills), ensure_ascii=False),
        "time": at,
    }
    conn.execute(_upsert(conn), row)


def get(conn: sa.Connection, agent: str, version: int) -> Listing | None:
    """The last listing of this agent version, if a worker ever made one."""
    query = sa.select(listings).where(listings.c.agent == agent, listings.c.version == version)
    row = conn.execute(query).one_or_none()
    if row is None:
        return None
    return Listing(
        agent=row.agent, version=row.version, tools=tuple(json.loads(row.tools)),
        gaps=tuple(json.loads(row.gaps)), time=row.time, skills=tuple(json.loads(row.skills)),
    )  # fmt: skip


def all(conn: sa.Connection) -> dict[tuple[str, int], tuple[dict[str, Any], ...]]:
    """The tools of every listing, by agent and version."""
    query = sa.select(listings.c.agent, listings.c.version, listings.c.tools)
    return {(row.agent, row.version): tuple(json.loads(row.tools)) for row in conn.execute(query)}


def _upsert(conn: sa.Connection) -> Any:
    if conn.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert
    else:
        from sqlalchemy.dialects.postgresql import insert  # type: ignore[assignment]
    statement = insert(listings)
    return statement.on_conflict_do_update(
        index_elements=["agent", "version"],
        set_={name: statement.excluded[name] for name in ("tools", "gaps", "skills", "time")},
        where=listings.c.time <= statement.excluded.time,
    )
