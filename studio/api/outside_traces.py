"""Traces from outside: list them, read one, have its spans as OTLP's JSON, forget one or a
sender's."""

from typing import Any

from starlette.responses import Response, StreamingResponse

from studio.api import answers as a
from studio.api import bodies as b
from studio.api.endpoint import Ask, Endpoint
from studio.api.errors import HEADERS
from studio.api.moments import moment
from studio.api.otlp import writing
from studio.core.reader import AskedOutside, OutsideSpan
from studio.core.rules.errors import Invalid


async def index(ask: Ask[b.OutsideTracesQuery, b.NoBody]) -> a.OutsideTraces:
    """A page of traces from outside."""
    query = ask.query
    asked = AskedOutside(service=query.service, agent=query.agent, state=query.state)
    page = await ask.reader.outside_traces(
        ask.person, asked, limit=query.limit, cursor=query.cursor
    )
    return a.OutsideTraces(items=a.take_all(a.OutsideTrace, page.items), next=page.next)


async def show(ask: Ask[b.NoQuery, b.NoBody]) -> a.OutsideTrace:
    """One trace from outside, without its spans."""
    return a.take(a.OutsideTrace, await ask.reader.outside_head(ask.person, ask.part("id")))


async def spans(ask: Ask[b.NoQuery, b.NoBody]) -> Response:
    """Its spans in full, streamed."""
    windows = ask.reader.outside_spans(ask.person, ask.part("id"))
    first: list[OutsideSpan] = await anext(windows, [])
    return StreamingResponse(
        writing.document(first, windows), media_type="application/json", headers=HEADERS
    )


async def forget(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Take one away."""
    await ask.runtime.forget_outside_trace(ask.person, ask.part("id"))


async def forget_sender(ask: Ask[b.OutsideSenderQuery, b.NoBody]) -> a.OutsideForgotten:
    """Take those of a sender away."""
    faults = dict[str, str]()
    before = moment(ask.query.before, "before", faults)
    if faults:
        raise Invalid("A time cannot be read.", code="outside_sender.time", fields=faults)
    done = await ask.runtime.forget_outside_sender(ask.person, ask.query.sent_by, before=before)
    return a.take(a.OutsideForgotten, done)


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_outside_traces", method="GET", path="/outside-traces", call=index,
        gives=a.OutsideTraces, query=b.OutsideTracesQuery,
        says="List traces of agents that run elsewhere, as their senders claim them.",
    ),
    Endpoint(
        name="show_outside_trace", method="GET", path="/outside-traces/{id}", call=show,
        gives=a.OutsideTrace, errors=(410,), says="Read a trace from outside, without its spans.",
    ),
    Endpoint(
        name="show_outside_spans", method="GET", path="/outside-traces/{id}/spans", call=spans,
        gives=a.Trace, errors=(410,),
        says="Read every span of a trace from outside in full, as OTLP's JSON, streamed.",
    ),
    Endpoint(
        name="forget_outside_trace", method="DELETE", path="/outside-traces/{id}", call=forget,
        gives=None, status=204, least="admin", errors=(410,),
        says="Take a trace from outside away with all its spans, for good; for admins.",
    ),
    Endpoint(
        name="forget_outside_sender", method="DELETE", path="/outside-traces",
        call=forget_sender, gives=a.OutsideForgotten, query=b.OutsideSenderQuery, least="admin",
        says="Take traces of one sender away, those whose last span came before a moment, for "
             "good; for admins. Asked again it goes on where it was cut off.",
    ),
)  # fmt: skip
