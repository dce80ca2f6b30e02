"""The secret slots of an environment: a value goes in and never comes out."""

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from studio.core.rules.errors import StudioError
from studio.web.pages.environments import show
from studio.web.visit import onward, person, runtime, text, typed


async def put(request: Request) -> Response:
    """POST /environments/{environment}/secrets/{name}: the form that comes back is empty."""
    form, name = await typed(request), request.path_params["name"]
    word, value = request.path_params["environment"], text(form, "value")
    try:
        await runtime(request).set_environment_secret(
            person(request), word, name, value if "\n" in value.strip() else value.strip()
        )
    except StudioError as refusal:
        return await show.refuse(request, refusal, what=f"secret {name}", tab="secrets")
    return onward(request, _back(word, "secret", name))


async def remove(request: Request) -> Response:
    """POST /environments/{environment}/secrets/{name}/removal."""
    word, name = request.path_params["environment"], request.path_params["name"]
    await runtime(request).remove_environment_secret(person(request), word, name)
    return onward(request, _back(word, "removed", name))


def _back(word: str, saved: str, name: str) -> str:
    query = urlencode({"tab": "secrets", "saved": saved, "slot": name})
    return f"/environments/{word}?{query}"
