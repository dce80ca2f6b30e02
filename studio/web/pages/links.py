"""Following a link to an artifact: no sign-in, nothing but the bytes, never opened in the page.

Whoever has the link may be anybody, and what it leads to was made by agents: the answer is an
attachment that may run nothing, and a refusal is a plain sentence.
"""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from studio.core.rules import media, ranges
from studio.core.rules.errors import StudioError
from studio.web import errors, trees
from studio.web.pace import Pace
from studio.web.visit import reader, runtime

# Nothing of these is more than looked at by whatever opens them.
SAFE = media.INLINE_IMAGES | {media.PLAIN}
STRICT = {
    "Content-Security-Policy": trees.LOCKED,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Encoding": "identity",
}


async def follow(request: Request) -> Response:
    """GET /links/{token}: 404 or 410 when it leads nowhere, 429 after many wrong ones.

    A right one is always answered: many people may stand behind one address.
    """
    try:
        linked = await runtime(request).follow_link(
            request.path_params["token"], is_used=request.method == "GET"
        )
        if linked.media == media.FOLDER:
            form, pieces = await reader(request).linked_archive(linked)
            name, size, kind = f"{linked.name}.{form}", None, trees.OCTETS
        else:
            name, size = linked.name, linked.size
            pieces = reader(request).file(linked, 0, linked.size)
            kind = linked.media if linked.media in SAFE else trees.OCTETS
    except StudioError as refusal:
        if wait := _paced(request):
            words = "Too many links that lead nowhere came from your address. Wait a while.\n"
            return PlainTextResponse(words, 429, {**STRICT, "Retry-After": str(wait)})
        return PlainTextResponse(f"{refusal.message}\n", errors.status(refusal), STRICT)
    told = {**STRICT, "Content-Disposition": ranges.disposition(name)}
    if size is not None:
        told["Content-Length"] = str(size)
    return StreamingResponse(pieces, media_type=kind, headers=told)


def _paced(request: Request) -> int:
    """Note a wrong link; how many seconds its sender has to wait, 0 for none."""
    pace: Pace = request.app.state.link_pace
    address = request.client.host if request.client is not None else ""
    wait = pace.wait(address)
    pace.note(address)
    return wait
