"""Every URL a program can ask for, under `/v1`, and the application that answers them."""

import re
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from secrets import token_hex
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.api import (
    agents,
    approvals,
    artifact_folders,
    artifacts,
    collector,
    disks,
    endpoint,
    environment_manifests,
    environments,
    errors,
    exports,
    health,
    keys,
    models,
    openapi,
    outside_traces,
    plugins,
    policy,
    secrets,
    servers,
    sessions,
    usage,
    views,
)
from studio.api.auth import Gate, Rates
from studio.api.endpoint import Endpoint, Parts
from studio.api.otlp import taking
from studio.core import manifests
from studio.core.reader import Reader
from studio.core.rules.errors import StudioError
from studio.core.runtime import Runtime
from studio.settings import Settings

ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    *agents.ENDPOINTS,
    *sessions.ENDPOINTS,
    *artifacts.ENDPOINTS,
    *artifact_folders.ENDPOINTS,
    *approvals.ENDPOINTS,
    *plugins.ENDPOINTS,
    *policy.ENDPOINTS,
    *keys.ENDPOINTS,
    *usage.ENDPOINTS,
    *exports.ENDPOINTS,
    *views.ENDPOINTS,
    *secrets.ENDPOINTS,
    *servers.ENDPOINTS,
    *models.ENDPOINTS,
    *environment_manifests.ENDPOINTS,
    *environments.ENDPOINTS,
    *disks.ENDPOINTS,
    *collector.ENDPOINTS,
    *taking.ENDPOINTS,
    *outside_traces.ENDPOINTS,
)
OPEN_TO_ANY_HOST = ("/health", "/ready")  # a load balancer asks by address
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
Handle = Callable[[Request], Any]


def app(
    runtime: Runtime, reader: Reader, settings: Settings, *, rates: Rates | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> ASGIApp:  # fmt: skip
    """The application to mount at `/v1`."""
    parts = Parts(runtime=runtime, reader=reader, gate=Gate(rates or Rates(), monotonic))
    inner = Starlette(
        routes=routes(parts),
        exception_handlers={
            StudioError: errors.of_studio,
            HTTPException: errors.of_http,
            Exception: errors.of_fault,
        },
    )
    inner.router.redirect_slashes = False
    return Envelope(inner, settings)


def routes(parts: Parts) -> list[Route]:
    """One route a path; its methods share it, so that 405 can name them all.

    Paths without a part that varies come first, so that none of them is taken for a name.
    """
    paths: dict[str, dict[str, Endpoint[Any, Any]]] = {}
    for one in ENDPOINTS:
        paths.setdefault(one.path, {})[one.method] = one
    document = cache(partial(openapi.document, ENDPOINTS))  # made when first asked for

    async def describe(_: Request) -> Response:
        return errors.json_response(document())

    async def ready(_: Request) -> Response:
        return await health.ready(parts.reader)

    return [
        *(
            Route(path, _handle(methods, parts), methods=[*methods])
            for path, methods in sorted(paths.items(), key=lambda item: "{" in item[0])
        ),
        Route("/health", health.health),
        Route("/ready", ready),
        Route("/openapi.json", describe),
        _schema("agent", manifests.agent_schema()),
        _schema("plugin", manifests.plugin_schema()),
        _schema("environment", manifests.environment_schema()),
    ]


def _schema(name: str, schema: dict[str, Any]) -> Route:
    async def schema_of(_: Request) -> Response:
        return errors.json_response(schema, headers={"Content-Type": "application/schema+json"})

    return Route(f"/schemas/{name}.json", schema_of)


def _handle(methods: dict[str, Endpoint[Any, Any]], parts: Parts) -> Handle:
    async def handle(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        one = methods[method]
        try:
            return await endpoint.carry(one, parts, request)
        except StudioError as error:
            if one.refuse is None:
                raise
            return one.refuse(request, error)

    return handle


class Envelope:
    """Around every answer: its Request-Id, and a Host that is ours."""

    def __init__(self, inner: ASGIApp, settings: Settings) -> None:
        self._inner, self._settings = inner, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request = Request(scope)
        request_id = _request_id(request.headers.getlist("request-id"))
        scope["request_id"] = request_id

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message["headers"], (b"request-id", request_id.encode())]
                message = {**message, "headers": headers}
            await send(message)

        if self._is_ours(request):
            await self._inner(scope, receive, send_with_id)
        else:
            await _misdirected()(scope, receive, send_with_id)

    def _is_ours(self, request: Request) -> bool:
        hosts = request.headers.getlist("host")
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        if path in OPEN_TO_ANY_HOST:
            return True
        return len(hosts) == 1 and self._settings.allows_host(hosts[0])


def _misdirected() -> Response:
    return errors.answer(
        errors.Problem(
            421, "host.unknown",
            "The Host header does not name this studio. STUDIO_HOSTS and STUDIO_URL say which do.",
        )
    )  # fmt: skip


def _request_id(given: Sequence[str]) -> str:
    if len(given) == 1 and REQUEST_ID.fullmatch(given[0]):
        return given[0]
    return token_hex(8)
