"""Calls about usage."""

from typing import Literal

from api_client.call import Call, get
from api_client.shapes import Usage


def show(
    by: Literal["day", "agent", "model", "plugin", "session"] = "agent", *, since: str = "",
    until: str = "", days: int | None = None, limit: int | None = None,
) -> Call[Usage]:  # fmt: skip
    """What was used in some days (UTC, texts such as 2026-11-29), the last 30 unless told."""
    return get("/v1/usage", by=by, since=since or None, until=until or None, days=days,
               limit=limit)  # fmt: skip
