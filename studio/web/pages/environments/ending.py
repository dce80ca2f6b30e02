"""Stop, reset, delete: each on a page of its own that says what is lost before it is done."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from studio.core.projections.environments import EnvironmentView
from studio.core.rules.access import Role, needs
from studio.core.rules.errors import StudioError
from studio.web import errors
from studio.web.render import Frame, frame, page
from studio.web.visit import onward, person, reader, runtime

ROLES: dict[str, Role] = {"stop": "operator", "reset": "operator", "deletion": "admin"}
WORDS = {"stop": "Stop", "reset": "Reset", "deletion": "Delete"}


@dataclass(frozen=True, kw_only=True)
class EndingView:
    """What is to be confirmed. `session_id`: whose turn stands in the way, if it may be named."""

    frame: Frame
    it: EnvironmentView
    act: str
    verb: str
    error: str = ""
    session_id: str = ""


async def ask_stop(request: Request) -> Response:
    """GET /environments/{environment}/stop."""
    return await _ask(request, "stop")


async def ask_reset(request: Request) -> Response:
    """GET /environments/{environment}/reset."""
    return await _ask(request, "reset")


async def ask_deletion(request: Request) -> Response:
    """GET /environments/{environment}/deletion."""
    return await _ask(request, "deletion")


async def stop(request: Request) -> Response:
    """POST /environments/{environment}/stop."""
    return await _do(request, "stop")


async def reset(request: Request) -> Response:
    """POST /environments/{environment}/reset."""
    return await _do(request, "reset")


async def delete(request: Request) -> Response:
    """POST /environments/{environment}/deletion."""
    return await _do(request, "deletion")


async def _ask(request: Request, act: str, refusal: StudioError | None = None) -> Response:
    needs(person(request), ROLES[act], f"{WORDS[act].lower()} an environment")
    it = await reader(request).environment(person(request), request.path_params["environment"])
    view = EndingView(
        frame=await frame(request, f"{WORDS[act]} {it.row.name}?", nav="environments"), it=it,
        act=act, verb=WORDS[act], error=refusal.message if refusal else "",
        session_id=str(refusal.details.get("session_id", "")) if refusal else "",
    )  # fmt: skip
    status = errors.status(refusal) if refusal else 200
    return page(request, "environments/ending.html", view, status=status)


async def _do(request: Request, act: str) -> Response:
    """Ask for it; the page of the environment tells what becomes of what a worker does."""
    who, verbs = person(request), runtime(request)
    it = (await reader(request).environment(who, request.path_params["environment"])).row
    try:
        if act == "stop":
            await verbs.stop_environment(who, it.id)
        elif act == "reset":
            await verbs.reset_environment(who, it.id)
        else:
            await verbs.delete_environment(who, it.id)
    except StudioError as refusal:
        return await _ask(request, act, refusal)
    return onward(request, f"/environments/{it.id}")
