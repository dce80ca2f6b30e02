"""Sign in by a single-use link, sign out, and the cookie between the two.

Opening the link changes nothing, for mail scanners open links too: it shows a page whose one
button signs in. The cookie holds a signed random secret; only its hash is kept on the server, and
ending it there ends it everywhere.
"""

from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from studio.core.rules.errors import StudioError
from studio.web import errors
from studio.web.render import Frame, frame, page

DAY_SECONDS = 86_400
TITLE = "Sign in"
NEXT, NEXT_SECONDS = "studio-next", 15 * 60


class WebSettings(Protocol):
    """What the pages need to know of the settings."""

    @property
    def url(self) -> str:
        """The address that people and programs use to reach us."""
        ...

    @property
    def secure(self) -> bool:
        """People reach us by HTTPS."""
        ...

    @property
    def sign_in_days(self) -> int:
        """How long a sign-in is good, and so its cookie."""
        ...

    def allows_host(self, header: str) -> bool:
        """Whether a Host header names this studio."""
        ...


@dataclass(frozen=True, kw_only=True)
class SignInView:
    """The page that asks for a link, or for the one click that uses it."""

    frame: Frame
    token: str = ""
    next: str = "/"
    error: str = ""
    signed_in_as: str = ""


async def ask(request: Request) -> Response:
    """GET /sign-in: how to get in, for one who has no link."""
    person, target = request.state.person, own_path(request.query_params.get("next", ""))
    view = SignInView(
        frame=await frame(request, TITLE),
        next=target,
        signed_in_as=person.id if person else "",
    )
    answer = page(request, "sign_in.html", view)
    if target != "/":  # the link comes from elsewhere and does not know where one was going
        answer.set_cookie(
            NEXT, quote(target), max_age=NEXT_SECONDS, path="/sign-in", httponly=True,
            samesite="lax", secure=request.app.state.settings.secure,
        )  # fmt: skip
    return answer


async def confirm(request: Request) -> Response:
    """GET /sign-in/{token}: one button; the link is not used yet."""
    target = request.query_params.get("next") or unquote(request.cookies.get(NEXT, ""))
    view = SignInView(
        frame=await frame(request, TITLE),
        token=request.path_params["token"],
        next=own_path(target),
    )
    return page(request, "sign_in.html", view)


async def sign_in(request: Request) -> Response:
    """POST /sign-in/{token}: use the link up and set the cookie."""
    form = await request.form()
    runtime = request.app.state.runtime
    target = own_path(str(form.get("next", "")))
    try:
        secret, _person = await runtime.sign_in(request.path_params["token"])
    except StudioError as refusal:
        view = SignInView(frame=await frame(request, TITLE), next=target, error=refusal.message)
        return page(request, "sign_in.html", view, status=errors.status(refusal))
    answer = RedirectResponse(target, 303)
    settings: WebSettings = request.app.state.settings
    answer.set_cookie(
        _name(secure=settings.secure), runtime.tokens.cookie(secret), httponly=True,
        max_age=settings.sign_in_days * DAY_SECONDS, secure=settings.secure, samesite="lax",
        path="/",
    )  # fmt: skip
    return answer


async def sign_out(request: Request) -> Response:
    """POST /sign-out: end the sign-in on the server and forget everything in the browser."""
    await request.app.state.runtime.sign_out(request.state.secret)
    secure: bool = request.app.state.settings.secure
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(
        _name(secure=secure), httponly=True, secure=secure, samesite="lax", path="/"
    )
    answer.headers["Clear-Site-Data"] = '"cache", "cookies", "storage"'
    return answer


def secret_of(request: Request) -> str | None:
    """The secret in the request's cookie, when the cookie is one of ours."""
    state = request.app.state
    value = request.cookies.get(_name(secure=state.settings.secure))
    secret: str | None = state.runtime.tokens.read_cookie(value) if value else None
    return secret


def own_path(target: str) -> str:
    """`target` when it is a path of this site, else `/`: never a way to somewhere else."""
    parts = urlsplit(target)
    is_path = target.startswith("/") and not target.startswith(("//", "/\\"))
    plain = all(" " < letter <= "~" and letter != "\\" for letter in target)
    if is_path and plain and not parts.scheme and not parts.netloc:
        return target
    return "/"


def _name(*, secure: bool) -> str:
    return "__Host-studio" if secure else "studio"
