"""Calls about traces of agents that run elsewhere."""

from api_client.call import Call, Listing, get, part, texts
from api_client.shapes import OutsideForgotten, OutsideTrace, Trace


def index(
    *, service: str = "", agent: str = "", state: str = "", limit: int | None = None
) -> Listing[OutsideTrace]:
    """Traces from outside, the one whose first span came last first."""
    filters = {"service": service or None, "agent": agent or None, "state": state or None}
    return Listing(first=get("/v1/outside-traces", **filters, limit=limit))


def show(trace_id: str) -> Call[OutsideTrace]:
    """One trace from outside, without its spans."""
    return get(_path(trace_id))


def spans(trace_id: str) -> Call[Trace]:
    """Its spans in full, in OTLP's JSON."""
    return get(f"{_path(trace_id)}/spans")


def forget(trace_id: str) -> Call[None]:
    """Take one away with all its spans, for good; for admins."""
    return Call(method="DELETE", path=_path(trace_id))


def forget_sender(sent_by: str, *, before: str = "") -> Call[OutsideForgotten]:
    """Take the traces of a sender away, for good: those whose last span came before a moment in
    ISO 8601, or all that are here; for admins."""
    query = texts({"sent_by": sent_by, "before": before or None})
    return Call(method="DELETE", path="/v1/outside-traces", query=query)


def _path(trace_id: str) -> str:
    return f"/v1/outside-traces/{part(trace_id)}"
