"""What each error looks like to a person: a status, words, and what next.

A script's request gets a notice for the top of the page it is on; a browser gets a page; a stream
gets the bare status. Nothing of ours (paths, traces, SQL) is ever in the words.
"""

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from studio.core.rules import errors as e
from studio.web import render
from studio.web.visit import WRITING_BYTES

log = logging.getLogger(__name__)

TOKENS = re.compile(r"^(/links/|/sign-in/).+", re.DOTALL)  # what is behind these lets people in

STATUS: dict[type[e.StudioError], int] = {
    e.StudioError: 500,
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
TITLES = {
    400: "Not understood",
    401: "Signed out",
    403: "Not allowed",
    404: "Not found",
    405: "Not possible here",
    409: "Not done",
    410: "Over",
    412: "Not done",
    413: "Too large",
    422: "Not understood",
    500: "Something broke here",
    503: "Not available now",
}
OURS = frozenset(
    {"token", "digest", "key", "expect", "next", "whole", "decision", "how", "step", "ticked"}
)
WORDS = {
    404: "There is nothing at this address, or nothing that you may see. "
    "It may have been a link to a private session.",
    405: "This address does not take that kind of request. Nothing was changed.",
    500: "The studio made a mistake, and it is in its log. "
    "If you were changing something, look at it again before you repeat it.",
}


@dataclass(frozen=True, kw_only=True)
class ErrorView:
    """The error page and the notice.

    `fields` are (name, sentence) of what to put right, `typed` (name, text) of what was sent and
    not used.
    """

    frame: render.Frame
    status: int
    title: str
    message: str
    fields: tuple[tuple[str, str], ...] = ()
    typed: tuple[tuple[str, str], ...] = ()
    sign_in: bool = False


def status(error: e.StudioError) -> int:
    """The HTTP status of an error of the tree."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


async def respond(request: Request, error: e.StudioError) -> Response:
    """The answer for an error of the tree."""
    fields = error.fields if isinstance(error, e.Invalid) else {}
    return await _answer(request, status(error), error.message, tuple(fields.items()))


async def _handle(request: Request, error: Exception) -> Response:
    assert isinstance(error, e.StudioError), "registered for errors of the tree alone"
    return await respond(request, error)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for these alone"
    words = WORDS.get(error.status_code, "This request was not understood. Nothing was changed.")
    answer = await _answer(request, error.status_code, words)
    answer.headers.update(error.headers or {})
    return answer


async def crashed(request: Request, error: Exception) -> Response:
    """The answer when we made a mistake: it is logged, and nothing of it is shown."""
    if isinstance(error, e.StudioError):
        return await respond(request, error)
    path = TOKENS.sub(r"\1…", request.url.path)
    log.error("%s %s failed", request.method, path, exc_info=error)
    return await _answer(request, 500, WORDS[500])


HANDLERS: dict[int | type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    e.StudioError: _handle,
    HTTPException: _http,
}


async def _answer(
    request: Request, code: int, message: str, fields: tuple[tuple[str, str], ...] = ()
) -> Response:
    if "text/event-stream" in request.headers.get("accept", "") and not _is_swap(request):
        return PlainTextResponse(message + "\n", code)
    title = TITLES.get(code, "Not done")
    is_swap = _is_swap(request)
    view = ErrorView(
        frame=await _frame(request, title, code), status=code, title=title, message=message,
        fields=fields, sign_in=code == 401,
        typed=() if is_swap or code == 413 else await _typed(request, code),
    )  # fmt: skip
    if is_swap:
        return notice(request, view)
    return render.page(request, "error.html", view, status=code)


def notice(request: Request, view: ErrorView) -> Response:
    """The error as a notice at the top of the page one is on; what was typed stays where it is."""
    headers = {"HX-Retarget": "#notices", "HX-Reswap": "beforeend"}
    return render.block(request, "error.html", "notice", view, status=view.status, headers=headers)


def _is_swap(request: Request) -> bool:
    return request.headers.get("HX-Request") == "true"


async def _typed(request: Request, code: int) -> tuple[tuple[str, str], ...]:
    """What a person wrote into the form that was refused, to be copied from the page."""
    length = request.headers.get("content-length", "")
    is_small = length.isdecimal() and int(length) <= WRITING_BYTES
    if request.method != "POST" or (code in (401, 403) and not is_small):
        return ()  # who may not send it makes us read no more than a page's worth
    try:
        form = await request.form(max_files=0, max_part_size=WRITING_BYTES)
    except (HTTPException, e.StudioError, ClientDisconnect):
        return ()
    return tuple(
        (name, value)
        for name, value in form.multi_items()
        if isinstance(value, str) and value.strip() and name not in OURS
    )


async def _frame(request: Request, title: str, code: int) -> render.Frame:
    try:
        return await render.frame(request, title)
    except e.StudioError as error:
        log.warning("the frame of an error page (%s) is bare: %s", code, error)
        return render.bare(request, title)
