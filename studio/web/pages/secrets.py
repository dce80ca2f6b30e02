"""Secrets: set and replaced without ever being shown, removed with what names them."""

from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import SecretRow
from studio.core.rules.errors import Invalid, StudioError
from studio.web import errors
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, onward, person, reader, runtime, text, typed


@dataclass(frozen=True, kw_only=True)
class SecretsView:
    """All secrets without their values. `name` is what was typed, or is to be set."""

    frame: Frame
    secrets: tuple[SecretRow, ...]
    name: str = ""
    said: str = ""
    error: str = ""
    fields: dict[str, str] = field(default_factory=dict)


async def index(request: Request) -> Response:
    """GET /secrets; `?set=NAME` fills in the name, `?done=NAME` says that it was set."""
    done = asked(request, "done")
    view = await _view(request, name=asked(request, "set"))
    if done in {row.name for row in view.secrets}:
        view = await _view(request, said=f"{done} is set. Its value is shown nowhere.")
    return page(request, "secrets/index.html", view)


async def put(request: Request) -> Response:
    """POST /secrets: a value goes in; the form that comes back never holds it."""
    form = await typed(request)
    name = text(form, "name").strip()
    try:
        await runtime(request).set_secret(person(request), name, text(form, "value").strip())
    except StudioError as refusal:
        view = await _view(request, name=name, refusal=refusal)
        return page(request, "secrets/index.html", view, status=errors.status(refusal))
    return onward(request, f"/secrets?done={name}")


async def remove(request: Request) -> Response:
    """POST /secrets/{name}/removal."""
    await runtime(request).remove_secret(person(request), request.path_params["name"])
    return onward(request, "/secrets")


async def _view(
    request: Request, *, name: str = "", said: str = "", refusal: StudioError | None = None
) -> SecretsView:
    return SecretsView(
        frame=await frame(request, "Secrets", nav="secrets"),
        secrets=tuple(await reader(request).secrets(person(request))),
        name=name,
        said=said,
        error=refusal.message if refusal else "",
        fields=refusal.fields if isinstance(refusal, Invalid) else {},
    )
