"""Calls about the export of spans."""

from api_client.call import Call, get, part
from api_client.shapes import Backfill, BackfillAsked, CollectorState


def show() -> Call[CollectorState]:
    """How the export to the collector stands."""
    return get("/v1/collector")


def backfill(*, since: str = "", until: str = "", session: str = "") -> Call[BackfillAsked]:
    """Have turns that ended then (ISO 8601) sent once more, of one session or of all."""
    body = {"since": since, "until": until, "session": session}
    return Call(method="POST", path="/v1/collector/backfills", body=body)


def show_backfill(id: str) -> Call[Backfill]:
    """How far a backfill is."""
    return get(f"/v1/collector/backfills/{part(id)}")
