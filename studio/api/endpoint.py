"""An endpoint is a value: where it is, what it takes and gives, and the function between.

`carry` takes a request through it: who asks, what is accepted, query, body, call, answer. The same
value is what `openapi` describes, so the document cannot say anything else than what happens.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from studio.api import auth, shapes, wire
from studio.api.bodies import NoBody, NoQuery
from studio.api.errors import Problem, json_response
from studio.core.reader import Reader
from studio.core.rules import access, trace_context
from studio.core.rules.access import Person, Role
from studio.core.rules.errors import Invalid, NotFound, StudioError
from studio.core.rules.events import Caller
from studio.core.runtime import Runtime

Q = TypeVar("Q")
B = TypeVar("B")
JSON_KIND = "application/json"
STREAM_KIND = "text/event-stream"
PATH_PART = r"^[A-Za-z0-9_-]{1,200}$"


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What endpoints stand on; handed in by `app`."""

    runtime: Runtime
    reader: Reader
    gate: auth.Gate


@dataclass(frozen=True, kw_only=True)
class Ask(Generic[Q, B]):
    """One request, understood: who, what about, and with what."""

    person: Person
    parts: Parts
    request: Request
    query: Q
    body: B
    key: str | None

    @property
    def runtime(self) -> Runtime:
        """What may be done."""
        return self.parts.runtime

    @property
    def reader(self) -> Reader:
        """What may be asked."""
        return self.parts.reader

    @property
    def caller(self) -> Caller | None:
        """Where in a trace of the program's own this request stands, when it says so soundly."""
        headers = self.request.headers
        return trace_context.caller(headers.getlist("traceparent"), headers.getlist("tracestate"))

    def part(self, name: str) -> str:
        """A part of the path; one that cannot be a name of anything is not found."""
        text = str(self.request.path_params[name])
        if not re.search(PATH_PART, text) or text.endswith("\n"):
            raise NotFound("There is nothing by that name.")
        return text


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What goes back beside the plain value: another status, headers."""

    value: Any
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Link:
    """Where an answer leads: an endpoint by name, and what of the answer goes into its path."""

    to: str
    part: str
    value: str


@dataclass(frozen=True, kw_only=True)
class Endpoint(Generic[Q, B]):
    """One method of one path.

    `body` is None when none is read; `body_required` is false when an empty one will do, and
    `free_body` hands over any JSON object, `raw` the bytes of a body of that kind. `keyed`
    endpoints remember an Idempotency-Key, `traced` ones are told of the caller's trace; `match`
    says what If-Match must carry, and `match_required` makes its absence a 428. `tagged` answers
    carry an ETag. `least` is the role without which nothing is answered, `needs` one and what it is
    for, asked for before a large body is read; the verb asks again. One that `takes_file` reads the
    body itself (`kinds` are what it may be), one that `gives_file` answers with bytes. `refuse`
    writes refusals where a protocol says how. `gives` is the shape of the answer, None for none;
    `links` say what follows.
    """

    name: str
    method: str
    path: str
    says: str
    call: Callable[[Ask[Q, B]], Awaitable[Any]]
    gives: type | None
    status: int = 200
    query: type[Any] = NoQuery
    body: type[Any] | None = None
    body_required: bool = True
    free_body: bool = False
    raw: str = ""
    keyed: bool = False
    traced: bool = False
    match: str = ""
    match_required: bool = False
    tagged: bool = False
    streams: bool = False
    least: Role = "viewer"
    needs: tuple[Role, str] | None = None
    takes_file: bool = False
    gives_file: bool = False
    kinds: tuple[str, ...] = ()
    refuse: Callable[[Request, StudioError], Response] | None = None
    errors: tuple[int, ...] = ()
    links: tuple[Link, ...] = ()


async def carry(endpoint: Endpoint[Any, Any], parts: Parts, request: Request) -> Response:
    """Take one request through its endpoint."""
    auth.refuse_key_in_url(request)
    person = await auth.person_of(request, parts.runtime)
    parts.gate.pass_one(person)
    access.needs(person, endpoint.least, "ask this")
    if not endpoint.gives_file:
        _check_accepts(request, endpoint)
    if endpoint.needs:
        access.needs(person, *endpoint.needs)
    ask: Ask[Any, Any] = Ask(
        person=person,
        parts=parts,
        request=request,
        query=_query(request, endpoint.query),
        body=await _body(request, endpoint),
        key=wire.idempotency_key(request) if endpoint.keyed else None,
    )
    return _response(endpoint, await endpoint.call(ask))


def wants_stream(request: Request) -> bool:
    """The Accept header names the event stream, and not after JSON."""
    weights = _weights(request)
    stream = weights.get(STREAM_KIND, 0.0)
    return stream > 0 and stream >= weights.get(JSON_KIND, 0.0)


def _query(request: Request, shape: type[Any]) -> Any:
    pairs = request.query_params.multi_items()
    texts = dict(pairs)
    if len(texts) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise Invalid("A part of the query is given twice.", fields={twice[:60]: "is given twice"})
    return shapes.parse_texts(shape, texts)


async def _body(request: Request, endpoint: Endpoint[Any, Any]) -> Any:
    if endpoint.body is None:
        return NoBody()
    if endpoint.raw:
        return await wire.raw_body(request, endpoint.raw)
    value = await wire.json_body(request, required=endpoint.body_required)
    if endpoint.free_body:
        return value
    return shapes.parse(endpoint.body, value)


def _response(endpoint: Endpoint[Any, Any], given: Any) -> Response:
    if isinstance(given, Response):
        return given
    answer = given if isinstance(given, Answer) else Answer(value=given)
    status = answer.status or endpoint.status
    if endpoint.gives is None:
        return Response(status_code=status, headers=dict(answer.headers))
    return json_response(shapes.render(answer.value), status=status, headers=answer.headers)


def _check_accepts(request: Request, endpoint: Endpoint[Any, Any]) -> None:
    weights = _weights(request)
    kinds = [JSON_KIND, *([STREAM_KIND] if endpoint.streams else [])]
    ranges = {f"{kind.partition('/')[0]}/*" for kind in kinds} | {"*/*", *kinds}
    if weights and not any(weights.get(one, 0.0) > 0 for one in ranges):
        words = f"This answers as {' or '.join(kinds)}, and Accept does not ask for that."
        raise Problem(406, "not_acceptable", words)


def _weights(request: Request) -> dict[str, float]:
    """The kinds in Accept with their weights; no header accepts everything."""
    found: dict[str, float] = {}
    for item in ",".join(request.headers.getlist("accept")).split(","):
        kind, *options = (part.strip().lower() for part in item.split(";"))
        if kind:
            weight = next((o[2:] for o in options if o.startswith("q=")), "1")
            found[kind] = _weight(weight)
    return found


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
