"""Keys of programs: made by an admin, shown once, revoked at any time."""

from dataclasses import dataclass, field
from typing import cast

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import KeyRow
from studio.core.rules.access import Role
from studio.core.rules.errors import Invalid, StudioError
from studio.web import errors
from studio.web.render import Frame, frame, page
from studio.web.visit import onward, person, reader, runtime, text, typed

ROLES = ("sender", "viewer", "operator", "admin")


@dataclass(frozen=True, kw_only=True)
class KeysView:
    """All keys. `made` is a new key, which is never shown again."""

    frame: Frame
    keys: tuple[KeyRow, ...]
    roles: tuple[str, ...] = ROLES
    made: str = ""
    name: str = ""
    role: str = "operator"
    error: str = ""
    fields: dict[str, str] = field(default_factory=dict)


async def index(request: Request) -> Response:
    """GET /keys."""
    return page(request, "keys/index.html", await _view(request))


async def make(request: Request) -> Response:
    """POST /keys: answered by the page itself, for the key is nowhere to be read again."""
    form = await typed(request)
    name, role = text(form, "name"), cast(Role, text(form, "role"))
    try:
        _key_id, plain = await runtime(request).make_key(person(request), name, role)
    except Invalid as refusal:
        view = await _view(request, name=name, role=role, refusal=refusal)
        return page(request, "keys/index.html", view, status=errors.status(refusal))
    return page(request, "keys/index.html", await _view(request, made=plain, name=name))


async def revoke(request: Request) -> Response:
    """POST /keys/{key_id}/revocation."""
    await runtime(request).revoke_key(person(request), request.path_params["key_id"])
    return onward(request, "/keys")


async def _view(
    request: Request, *, made: str = "", name: str = "", role: str = "operator",
    refusal: StudioError | None = None,
) -> KeysView:  # fmt: skip
    return KeysView(
        frame=await frame(request, "Keys", nav="keys"),
        keys=tuple(await reader(request).keys(person(request))),
        made=made,
        name=name,
        role=role,
        error=refusal.message if refusal else "",
        fields=refusal.fields if isinstance(refusal, Invalid) else {},
    )
