"""The only ways HTML leaves: `page()` whole, `block()` a part of a page, `inert()` what is pushed.

A template sees `view`, the filters of `format`, the macros `ui` and `static()`, and nothing else.
`view` is a frozen dataclass declared beside the page. A block and what is pushed are rendered by
the template that the page itself uses, so a reload shows the same bytes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from studio import __version__
from studio.web import format as formats
from studio.web import static, words
from studio.web.compiled import Compiled
from studio.web.format import sound
from studio.web.icons import drawing
from studio.web.markdown import markdown
from studio.web.reading import revealed

COUNTS = "/live/pending"


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What surrounds every page: where we are, who is looking, what is pending, what is live.

    `theme` is "light", "dark", or empty where the reader's system says which.
    """

    title: str
    nonce: str
    theme: str = ""
    nav: str = ""
    pending: int = 0
    person_name: str = ""
    person_role: str = ""
    live_url: str | None = None
    banner: str = ""
    has_demo: bool = False
    version: str = __version__

    @property
    def moves(self) -> bool:
        """The page itself is kept true, and not only what stands around it."""
        return self.live_url not in (None, COUNTS)


async def frame(request: Request, title: str, *, nav: str = "", live: str | None = None) -> Frame:
    """The frame for this request. `live` is the page's one stream, else that of the counts."""
    person = request.state.person
    if person is None:
        return bare(request, title)
    reader = request.app.state.reader
    pending = await reader.pending(person)
    return Frame(
        title=title,
        nonce=request.state.nonce,
        theme=_theme(request),
        nav=nav,
        pending=pending.total,
        person_name=person.id,
        person_role=person.role,
        live_url=live or COUNTS,
        banner=await reader.trouble(person.role),
        has_demo=request.app.state.demo is not None,
    )


def bare(request: Request, title: str) -> Frame:
    """The frame for somebody unknown, or where nothing may be asked."""
    return Frame(title=title, nonce=request.state.nonce, theme=_theme(request))


def _theme(request: Request) -> str:
    """What the reader's script keeps in a cookie, which other ports of this host see too."""
    found = request.cookies.get("studio-theme", "")
    return found if found in ("light", "dark") else ""


def page(
    request: Request, template: str, view: Any, *, status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:  # fmt: skip
    """A whole page."""
    text = templates().get_template(template).render(view=view, nonce=request.state.nonce)
    return HTMLResponse(sound(text), status, dict(headers or {}))


def block(
    request: Request, template: str, name: str, view: Any, *, status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:  # fmt: skip
    """One block of a page, asked of the template that defines it."""
    found = templates().get_template(template)
    context = found.new_context({"view": view, "nonce": request.state.nonce})
    text = "".join(found.blocks[name](context))
    return HTMLResponse(sound(text), status, dict(headers or {}))


def inert(template: str, **values: Any) -> str:
    """HTML to be pushed to open pages: it has no nonce, so nothing in it can act."""
    return sound(templates().get_template(template).render(**values))


@lru_cache(maxsize=1)
def templates() -> Environment:
    """The one environment: everything escaped, a name that is not there is an error."""
    environment = Environment(
        loader=FileSystemLoader(static.folder("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=Compiled(),
    )
    environment.filters.update(formats.FILTERS | words.FILTERS)
    environment.filters["markdown"] = markdown
    environment.filters["revealed"] = revealed
    environment.globals["static"] = static.href
    environment.globals["font"] = static.FONT
    environment.globals["drawing"] = drawing
    environment.globals["ui"] = environment.get_template("ui.html").module
    return environment


def loading() -> Iterator[Callable[[], object]]:
    """What loads all the templates, one by one."""
    yield templates
    for name in templates().list_templates(extensions=["html"]):
        yield partial(templates().get_template, name)
