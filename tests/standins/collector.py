"""A stand-in collector of OTLP/HTTP: it decodes what comes and answers as it was told to.

Each answer it is given serves one request: a status (with headers), `cut` before anything is said,
`half` of an answer, `hang`, or `partial` success. Without one it takes everything.
"""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.standins.raw_http import Asked, Talk, served

MEDIA = "application/x-protobuf"


@dataclass(frozen=True, kw_only=True)
class Told:
    """How one request is answered."""

    kind: str = "ok"
    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


def refuses(status: int, body: bytes = b"", **headers: str) -> Told:
    return Told(kind="status", status=status, body=body, headers=tuple(headers.items()))


def partial(refused: int, words: str) -> Told:
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = refused
    answer.partial_success.error_message = words
    return Told(body=answer.SerializeToString())


@dataclass
class Collector:
    """What came: requests with their headers, and the spans that were taken, in order."""

    url: str = ""
    answers: list[Told] = field(default_factory=list)
    always: Told = field(default_factory=Told)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)  # those that were taken
    sizes: list[int] = field(default_factory=list)  # spans of every request
    changed: threading.Event = field(default_factory=threading.Event)

    @property
    def spans(self) -> list[Any]:
        """Every span that was taken, those that came twice too."""
        return [
            span
            for request in list(self.requests)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def names(self) -> set[str]:
        return {span.name for span in self.spans}

    async def handle(self, asked: Asked, talk: Talk) -> None:
        told = self.answers.pop(0) if self.answers else self.always
        request = ExportTraceServiceRequest.FromString(asked.body)
        self.sizes.append(sum(len(s.spans) for r in request.resource_spans for s in r.scope_spans))
        self.asked.append((asked.path, dict(asked.headers)))
        try:
            await self._answer(told, request, talk)
        finally:
            self.changed.set()

    async def _answer(self, told: Told, request: Any, talk: Talk) -> None:
        if told.kind == "cut":
            talk.cut()
        elif told.kind == "half":
            await talk.head(content_type=MEDIA, content_length="1000")
            await talk.send(b"\n")
            talk.cut()
        elif told.kind == "hang":
            await asyncio.sleep(3600)
        elif told.kind == "status":
            await talk.answer(told.body, told.status, **dict(told.headers))
        else:
            self.requests.append(request)
            await talk.answer(told.body, content_type=MEDIA)


@contextlib.contextmanager
def collector() -> Iterator[Collector]:
    """A stand-in in a thread of this process."""
    found = Collector()
    with served(found.handle) as port:
        found.url = f"http://127.0.0.1:{port}"
        yield found
