"""What each error looks like to a program: a status, a stable code, a sentence, details.

    {"error": {"code": "decision.decided", "message": "…", "details": {…}}}

`Problem` is for what only HTTP knows (no such method, not acceptable, too many requests).
"""

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from studio.api.shapes import time_text
from studio.core.rules import errors as e

log = logging.getLogger("studio.api")

STATUS: dict[type[e.StudioError], int] = {
    e.NotFound: 404,
    e.Invalid: 422,
    e.TooLarge: 413,
    e.Refused: 409,
    e.Changed: 412,
    e.Denied: 403,
    e.Unknown: 401,
    e.Gone: 410,
    e.Unavailable: 503,
}
BAD_REQUEST = frozenset({"cursor_invalid", "cursor_mismatch"})
RETRY_SECONDS = 2
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


class Problem(e.StudioError):
    """A fault that only HTTP knows, with its status and headers."""

    def __init__(
        self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message, code=code, details=details)
        self.status = status
        self.headers = dict(headers or {})


def status_of(error: e.StudioError) -> int:
    """The HTTP status that says whose fault it was."""
    if isinstance(error, Problem):
        return error.status
    if error.code in BAD_REQUEST:
        return 400
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def answer(error: e.StudioError) -> Response:
    """The error as a JSON response."""
    status = status_of(error)
    headers = dict(error.headers) if isinstance(error, Problem) else {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="studio"'
    if status == 503:
        headers.setdefault("Retry-After", str(RETRY_SECONDS))
    body = {"code": error.code, "message": error.message, "details": _details(error.details)}
    return json_response({"error": body}, status=status, headers=headers)


def _details(details: Mapping[str, Any]) -> dict[str, Any]:
    """Times inside are written as everywhere else."""
    at = details.get("at")
    return {**details, **({"at": time_text(at)} if isinstance(at, int) else {})}


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] = {}) -> Response:
    """JSON as UTF-8; half a surrogate pair, which UTF-8 cannot say, is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    return Response(
        data, status, media_type="application/json", headers={**HEADERS, **dict(headers)}
    )


async def of_studio(_: Request, error: Exception) -> Response:
    """Handler of every error the core and this package raise."""
    return answer(error if isinstance(error, e.StudioError) else broken())


async def of_http(request: Request, error: Exception) -> Response:
    """Handler of what the router raises: no such path, no such method."""
    if not isinstance(error, HTTPException):
        return answer(broken())
    elif error.status_code == 404:
        return answer(
            Problem(404, "not_found", "There is nothing at this path. See /v1/openapi.json.")
        )
    elif error.status_code == 405:
        return answer(not_allowed(request.method, (error.headers or {}).get("Allow", "")))
    else:
        return answer(
            Problem(error.status_code, "http", f"The request is refused: {error.detail}.")
        )


async def of_fault(request: Request, error: Exception) -> Response:
    """Handler of our own mistakes: nothing of them is shown, all of it is logged."""
    log.error("Request %s failed.", request.scope.get("request_id", ""), exc_info=error)
    return answer(broken())


def broken() -> Problem:
    """The answer to what we did not foresee."""
    return Problem(
        500, "internal", "The studio made a mistake; it is in its log under this Request-Id."
    )


def not_allowed(method: str, allow: str) -> Problem:
    """The path is there, the method is not."""
    shown = method if method.isalpha() and len(method) < 20 else "This method"
    return Problem(
        405, "method_not_allowed", f"{shown} does not work here; {allow} does.",
        headers={"Allow": allow},
    )  # fmt: skip
