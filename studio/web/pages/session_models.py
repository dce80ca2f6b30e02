"""A session's own model, chosen between turns."""

from starlette.requests import Request
from starlette.responses import Response

from studio.core.rules.errors import StudioError
from studio.web.composer import model_of
from studio.web.pages import sessions
from studio.web.visit import person, runtime, text, typed


async def choose(request: Request) -> Response:
    """POST /sessions/{session_id}/model: the turns to come get another model."""
    form, session_id = await typed(request), request.path_params["session_id"]
    chosen, refusal, said = model_of(text(form, "model")), None, "The next turn asks that model."
    try:
        await runtime(request).choose_model(person(request), session_id, chosen)
    except StudioError as error:
        refusal, said = error, ""
    return await sessions.back(request, typed=text(form, "text"), refusal=refusal, said=said)
