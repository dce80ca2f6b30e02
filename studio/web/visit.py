"""The request as a page sees it: who asks, what was typed, and how to answer a change."""

import secrets

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from studio.core.reader import Reader
from studio.core.rules.access import RANK, Person, needs
from studio.core.rules.files import PARTS
from studio.core.runtime import Runtime

# A message may have 1 MiB. A form may carry that of any script (three letters a byte) and more than
# is taken, so that a message that is too long goes back to its writer, whole.
ARCHIVE_BYTES = 60 * 1024 * 1024  # a plugin unpacks to 50 MiB at most
WRITING_BYTES = 8 * 1024 * 1024


def person(request: Request) -> Person:
    """Who asks. The middleware let nobody else through."""
    asking: Person = request.state.person
    return asking


def may(request: Request, role: str) -> bool:
    """Whether the person's role reaches `role`: what they may not do is not offered."""
    return RANK[person(request).role] >= RANK[role]


def reader(request: Request) -> Reader:
    """Every question."""
    found: Reader = request.app.state.reader
    return found


def runtime(request: Request) -> Runtime:
    """Every verb."""
    found: Runtime = request.app.state.runtime
    return found


def is_swap(request: Request) -> bool:
    """A part of an open page asks, not a person with a link."""
    return request.headers.get("HX-Request") == "true"


async def typed(request: Request) -> FormData:
    """The form as it was sent, with its files; the middleware has bounded its size.

    A form that may carry files is kept on disk, so only those who may send them are read. Denied.
    """
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        needs(person(request), "operator", "send a file")
    return await request.form(max_files=PARTS, max_fields=2_000, max_part_size=WRITING_BYTES)


def text(form: FormData, name: str) -> str:
    """One field of a form; a browser's line ends are plain ones here."""
    value = form.get(name)
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def pairs(form: FormData) -> list[tuple[str, str]]:
    """Every (name, text) of a form, in order."""
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]


def asked(request: Request, name: str) -> str:
    """One field of the URL's query."""
    return request.query_params.get(name, "").strip()


def onward(request: Request, url: str) -> Response:
    """After a change: go to `url`, the same for a browser and for a part of a page."""
    if is_swap(request):
        return Response(headers={"HX-Redirect": url})
    return RedirectResponse(url, 303)


def new_key() -> str:
    """A key for a form, so that the same form sent twice is one change."""
    return secrets.token_urlsafe(18)
