"""What one press of an environment's page does: other labels, another owner, its start."""

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.rules.errors import StudioError
from studio.web import labels
from studio.web.pages.environments import show
from studio.web.visit import onward, person, reader, runtime, text, typed


async def label(request: Request) -> Response:
    """POST /environments/{environment}/labels: these in place of all there are."""
    form, who = await typed(request), person(request)
    it = (await reader(request).environment(who, request.path_params["environment"])).row
    given = text(form, "labels")
    try:
        await runtime(request).label_environment(who, it.id, labels.read(given))
    except StudioError as refusal:
        return await show.refuse(request, refusal, what="labels", typed=given)
    return onward(request, _back(it.id, "labels", labels.written(it.labels)))


async def give(request: Request) -> Response:
    """POST /environments/{environment}/owner: one person's alone, or (empty) everybody's."""
    form, who = await typed(request), person(request)
    it = (await reader(request).environment(who, request.path_params["environment"])).row
    owner = text(form, "owner").strip()
    try:
        await runtime(request).give_environment(who, it.id, owner)
    except StudioError as refusal:
        return await show.refuse(request, refusal, what="owner", typed=owner)
    return onward(request, _back(it.id, "owner", it.owner))


async def start(request: Request) -> Response:
    """POST /environments/{environment}/start: its setup is looked at while it runs."""
    who, word = person(request), request.path_params["environment"]
    try:
        await runtime(request).start_environment(who, word)
    except StudioError as refusal:
        return await show.refuse(request, refusal, what="start", tab="setup")
    return onward(request, f"/environments/{word}?tab=setup")


def _back(id: str, what: str, was: str) -> str:
    """The environment's page, which offers to put back what was; not what no URL can hold."""
    if len(was) > show.LONGEST_UNDO:
        return f"/environments/{id}"
    return f"/environments/{id}?{urlencode({'saved': what, 'was': was})}"
