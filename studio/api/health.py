"""Whether the studio is up and can answer, for load balancers; public, and says nothing more."""

from starlette.requests import Request
from starlette.responses import Response

from studio.api import answers as a
from studio.api import shapes
from studio.api.errors import json_response
from studio.core.reader import Reader


async def health(_: Request) -> Response:
    """The process answers."""
    return json_response(shapes.render(a.Health(status="ok")))


async def ready(reader: Reader) -> Response:
    """The store answers too; 503 while it does not."""
    is_ready = bool((await reader.ready()).get("ready"))
    return json_response(shapes.render(a.Ready(ready=is_ready)), status=200 if is_ready else 503)
