"""The studio in the browser: a request in, a page or a block out.

`routes` lists every URL; `middleware` is what each request passes first; `pages` holds one file a
noun; `render` is how HTML leaves; `live` keeps open pages true. All of it knows the core as
`Runtime` (what one may do) and `Reader` (what one may ask), and as nothing else.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from starlette.applications import Starlette

from studio import late
from studio.core.reader import Reader
from studio.core.runtime import Runtime
from studio.web import pace, render
from studio.web.auth import WebSettings
from studio.web.environment_topic import EnvironmentTopic
from studio.web.errors import HANDLERS
from studio.web.hub import Hub
from studio.web.list_topics import LISTS
from studio.web.middleware import middleware, outermost
from studio.web.outside_topics import OutsideTopic, OutsideTraceTopic
from studio.web.routes import PAGES, routes
from studio.web.server_topic import ServersTopic
from studio.web.topics import TOPICS

__all__ = ["app", "later", "outermost"]


def app(runtime: Runtime, reader: Reader, settings: WebSettings, *, demo: Any = None) -> Starlette:
    """The pages as one application. `demo` is what the page of the demo shows, or None."""
    made = Starlette(
        routes=routes, middleware=middleware(settings), exception_handlers=dict(HANDLERS)
    )
    made.router.redirect_slashes = False
    made.state.runtime = runtime
    made.state.reader = reader
    made.state.settings = settings
    made.state.demo = demo
    made.state.exports = Counter[str]()
    made.state.link_pace = pace.Pace(pace.LINK_TRIES, pace.LINK_SECONDS)
    own = {
        "servers": ServersTopic, "environment": EnvironmentTopic, "outside": OutsideTopic,
        "outside_trace": OutsideTraceTopic,
    }  # fmt: skip
    made.state.hub = Hub(runtime, reader, {**TOPICS, **LISTS, **own})
    return made


def later() -> Iterator[late.Step]:
    """What loads the pages and their templates, step by step."""
    yield from late.below(PAGES)
    yield from render.loading()
