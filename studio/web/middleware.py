"""What every request passes before a page sees it, outermost first.

Headers that keep a browser strict, the names we answer to, the size of a body, where a change may
come from, and who is asking.
"""

import re
import secrets
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.core.rules.errors import Denied, TooLarge, Unknown
from studio.core.runtime import ARCHIVE_BYTES
from studio.web import auth, errors, visit
from studio.web.auth import WebSettings
from studio.web.visit import WRITING_BYTES

OPEN = ("/sign-in", "/static", "/favicon.ico", "/links")  # what is answered without a sign-in
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
BODY_BYTES = 1024 * 1024
FILES_BYTES = 256 * BODY_BYTES  # of a form with files; each of them has its own, lower limit
WITH_FILES = re.compile(r"/uploads|/sessions(/[^/]+/(messages|preview))?")
DRAIN_BYTES = 8 * BODY_BYTES
WRITING = re.compile(r"/sessions(/[^/]+/(messages|preview|stop))?")  # where a person writes

PLUGINS = "/plugins"  # where a plugin is sent as a zip archive
IMPORTS = re.compile(r"/environments/[^/]+/disk/import")

PERMISSIONS = ", ".join(
    f"{name}=()"
    for name in "accelerometer camera display-capture geolocation gyroscope magnetometer "
    "microphone midi payment usb screen-wake-lock xr-spatial-tracking".split()
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # with `no-referrer` a form's own POST would carry `Origin: null` and be refused
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": PERMISSIONS,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Permitted-Cross-Domain-Policies": "none",
}


def middleware(settings: WebSettings) -> list[Middleware]:
    """The whole stack, outermost first."""
    return [
        Middleware(StrictHeaders, https=settings.secure),
        # what a page keeps secret is made anew for each answer, so its size tells nothing
        Middleware(GZipMiddleware, minimum_size=1_024, compresslevel=5),
        Middleware(KnownHosts, settings=settings),
        Middleware(BoundedBodies),
        Middleware(OwnOrigin, https=settings.secure),
        Middleware(SignedIn),
    ]


def outermost(settings: WebSettings) -> list[Middleware]:
    """What also stands before an endpoint that is no page of ours: strict headers, known hosts."""
    return [
        Middleware(StrictHeaders, https=settings.secure),
        Middleware(KnownHosts, settings=settings),
    ]


def content_security_policy(nonce: str) -> str:
    """Nothing from elsewhere, scripts by nonce, no eval, no inline style, no frame, no plug-in."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self'; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
        "base-uri 'none'; require-trusted-types-for 'script'; trusted-types htmx"
    )


class StrictHeaders:
    """Give each request its nonce and each answer the headers that keep a browser strict."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self.app, self.https = app, https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["nonce"] = nonce = secrets.token_urlsafe(18)
        state["person"] = state["secret"] = None

        has_begun = False

        async def strict(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                self._add(MutableHeaders(scope=message), nonce)
            await send(message)

        try:
            await self.app(scope, receive, strict)
        except Exception as error:
            if has_begun:
                raise
            # here and not in the outermost handler, whose answers would go out without our headers
            answer = await errors.crashed(Request(scope, receive), error)
            await answer(scope, receive, strict)

    def _add(self, headers: MutableHeaders, nonce: str) -> None:
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        headers.setdefault("Content-Security-Policy", content_security_policy(nonce))
        if self.https:
            headers.setdefault("Strict-Transport-Security", "max-age=31536000")
        headers.setdefault("Cache-Control", "no-store")


class KnownHosts:
    """Answer only to our own names, named once: 421 for another, 400 for none or two."""

    def __init__(self, app: ASGIApp, *, settings: WebSettings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        named = Headers(scope=scope).getlist("host")
        if len(named) != 1 or not named[0].strip():
            answer: Response | None = _plain("This request must name its host once.", 400)
        elif not self.settings.allows_host(named[0].strip()):
            answer = _plain(
                "This studio does not answer to that name. Open it by the address it was started "
                "with, or add the name to STUDIO_HOSTS.",
                421,
            )
        else:
            answer = None
        await (answer or self.app)(scope, receive, send)


class BoundedBodies:
    """Refuse a body over the limit while it is still arriving.

    Where a person writes the limit is wider than what is taken, and the page itself refuses: it
    gives the text back.
    """

    def __init__(self, app: ASGIApp, *, limit: int = BODY_BYTES) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        limit = WRITING_BYTES if WRITING.fullmatch(scope["path"]) else self.limit
        limit = FILES_BYTES if _may_carry_files(scope) else limit
        if scope["path"] == PLUGINS and scope["method"] == "POST":
            limit = visit.ARCHIVE_BYTES
        if IMPORTS.fullmatch(scope["path"]):
            limit = ARCHIVE_BYTES + BODY_BYTES
        taken = 0

        async def bounded() -> Message:
            nonlocal taken
            if declared.isdigit() and int(declared) > limit:
                await self._drain(receive)
                raise _too_large(limit)
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                await self._drain(receive)
                raise _too_large(limit)
            return message

        await self.app(scope, bounded, send)

    async def _drain(self, receive: Receive) -> None:
        """Read on a while, so that a browser hears the answer instead of a broken connection."""
        taken = 0
        while taken < DRAIN_BYTES:
            message = await receive()
            taken += len(message.get("body", b""))
            if message["type"] != "http.request" or not message.get("more_body"):
                return


def _may_carry_files(scope: Scope) -> bool:
    """A form with files, sent to where one may be sent."""
    kind = Headers(scope=scope).get("content-type", "")
    return kind.startswith("multipart/form-data") and bool(WITH_FILES.fullmatch(scope["path"]))


class OwnOrigin:
    """A change is taken only from our own pages.

    `Sec-Fetch-Site`, `Origin` and `Referer` must all agree, as far as they are sent, and one of
    them must be sent. The method is looked at, never the route, so that no route is forgotten.
    """

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self.app, self.https = app, https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in SAFE:
            await self.app(scope, receive, send)
            return
        if self.is_own(Headers(scope=scope), scope["scheme"]):
            await self.app(scope, receive, send)
        else:
            refusal = Denied(
                "This change did not come from one of the studio's own pages, so it was not made. "
                "Open the page itself and try again there.",
                code="denied.origin",
            )
            answer = await errors.respond(Request(scope, receive), refusal)
            await answer(scope, receive, send)

    def is_own(self, headers: Headers, scheme: str) -> bool:
        """Whether every sign of where the request came from names this origin, and one is there."""
        own = f"{'https' if self.https else scheme}://{headers.get('host', '').lower()}"
        signs = []
        if site := headers.get("sec-fetch-site"):
            signs.append(site == "same-origin")
        if origin := headers.get("origin"):
            signs.append(origin.lower() == own)
        if referer := headers.get("referer"):
            parts = urlsplit(referer)
            signs.append(f"{parts.scheme}://{parts.netloc}".lower() == own)
        return bool(signs) and all(signs)


class SignedIn:
    """Know who is asking; nobody else gets past, but to sign in and to see whether we are well."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        secret = auth.secret_of(request)
        if secret:
            request.state.person = await request.app.state.runtime.person_of(secret)
            request.state.secret = secret if request.state.person else None
        if request.state.person or _is_open(scope["path"]):
            await self.app(scope, receive, send)
        else:
            answer = await _ask_to_sign_in(request)
            await answer(scope, receive, send)


async def _ask_to_sign_in(request: Request) -> Response:
    """A page that is asked for by a link leads to the sign-in page; all else says 401."""
    by_link = request.method in SAFE and request.headers.get("HX-Request") != "true"
    if by_link and "text/event-stream" not in request.headers.get("accept", ""):
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/sign-in?next={quote(request.url.path + query)}", 303)
    return await errors.respond(
        request,
        Unknown(
            "You are signed out, so nothing was done. Sign in in another tab, then come back to "
            "this page: what you typed is still here.",
            code="unknown.signed_out",
        ),
    )


def _is_open(path: str) -> bool:
    return any(path == prefix or path.startswith(prefix + "/") for prefix in OPEN)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"This is more than {limit // 1024:,} KiB, the most that one request may carry. "
        "Nothing was changed. Go back: what you typed is there. Send less, or in parts.",
        code="request.too_large",
        details={"limit": limit},
    )


def _plain(words: str, status: int) -> Response:
    return PlainTextResponse(words + "\n", status)
