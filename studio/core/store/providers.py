"""Providers saved in the studio, and the model of agents that name none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules import models, saved
from studio.core.rules.saved import Saved
from studio.core.store import raw

COLUMNS = "name, data, key_version, by, time"
ONE = f"SELECT {COLUMNS} FROM providers WHERE name = ?"  # noqa: S608
ALL = f"SELECT {COLUMNS} FROM providers ORDER BY name"  # noqa: S608
DEFAULT = "SELECT provider, model, by, time FROM default_models WHERE id = 1"


@dataclass(frozen=True, kw_only=True)
class ProviderRow:
    """A saved provider: who saved it when (ms), and the version of its key, None when keyless."""

    saved: Saved
    key_version: int | None
    by: str
    time: int


def get(conn: sa.Connection, name: str) -> ProviderRow | None:
    """One saved provider."""
    row = raw.one(conn, ONE, (name,))
    return None if row is None else _row(row)


def list_all(conn: sa.Connection) -> tuple[ProviderRow, ...]:
    """All of them, by name."""
    return tuple(_row(row) for row in raw.every(conn, ALL))


def default(conn: sa.Connection) -> dict[str, str] | None:
    """The model of agents that name none, as {provider, name}."""
    row = raw.one(conn, DEFAULT)
    return None if row is None or not row[0] else {"provider": row[0], "name": row[1]}


def full(conn: sa.Connection, model: Mapping[str, Any]) -> dict[str, Any]:
    """A model object with what its saved provider says, without a key; else as it is."""
    name = str(model.get("provider", ""))
    found = get(conn, name) if name not in models.PROVIDERS else None
    return dict(model) if found is None else saved.full(found.saved, model)


def _row(row: Any) -> ProviderRow:
    _, data, key_version, by, time = row
    found = saved.of_data(json.loads(data))
    return ProviderRow(saved=found, key_version=key_version, by=by, time=time)
