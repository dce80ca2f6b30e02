"""What a message would send to the model, read before it is sent; nothing is recorded."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import SessionView
from studio.core.rules.context import Said
from studio.core.rules.errors import Invalid, StudioError
from studio.core.runtime import Preview
from studio.web import attachments, errors
from studio.web.render import Frame, block, frame, page
from studio.web.visit import is_swap, new_key, person, reader, runtime, text, typed

SHOW = "sessions/preview.html"
MESSAGES = 40


@dataclass(frozen=True, kw_only=True)
class PreviewView:
    """The request, or why there is none; `left_out` counts the messages in front of `shown`."""

    frame: Frame
    session: SessionView
    text: str
    key: str
    preview: Preview | None = None
    shown: tuple[Said, ...] = ()
    left_out: int = 0
    refusal: str = ""
    wrong: str = ""
    uploads: tuple[str, ...] = ()


async def show(request: Request) -> Response:
    """POST /sessions/{session_id}/preview. A page of its own, or a part of the session's."""
    form = await typed(request)
    message = text(form, "text")
    session = await reader(request).session(person(request), request.path_params["session_id"])
    files = await attachments.attached(request, form)
    found: Preview | None = None
    refusal: StudioError | None = None
    try:
        found = await _preview(request, session, message, files)
    except StudioError as error:
        refusal = error
    said = found.messages if found else ()
    fields = refusal.fields if isinstance(refusal, Invalid) else {}
    view = PreviewView(
        frame=await frame(request, f"Preview of {session.row.title}", nav="sessions"),
        session=session,
        text=message,
        key=new_key(),
        preview=found,
        shown=said[-MESSAGES:],
        left_out=max(len(said) - MESSAGES, 0),
        refusal=refusal.message if refusal else "",
        wrong=fields.get("text", ""),
        uploads=tuple(files.ids),
    )
    status = errors.status(refusal) if refusal else 200
    if is_swap(request):
        return block(request, SHOW, "request", view, status=status)
    return page(request, SHOW, view, status=status)


async def _preview(
    request: Request, session: SessionView, message: str, files: attachments.Attached
) -> Preview:
    if files.refusal is not None:
        raise files.refusal
    return await runtime(request).preview_message(
        person(request), session.row.id, message, files=files.parts
    )
