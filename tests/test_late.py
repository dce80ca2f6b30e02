"""What is loaded late: all of it can be, none of it before the first page, and faults are told."""

import asyncio
import importlib
import inspect
import logging
import pkgutil
import subprocess
import sys
from types import ModuleType
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import api_client
import studio
from studio import late
from studio.web.routes import routes

NOT_AT_FIRST = (
    "studio.api.", "studio.web.pages.", "studio.core.worker", "studio.core.tools.",
    "studio.core.telemetry.", "alembic", "anthropic", "httpx", "mcp", "openai", "opentelemetry",
    "sqlalchemy.dialects.postgresql", "cryptography",
)  # fmt: skip
FIRST = """
import sys
from studio import app, web
from studio.web import render
render.templates().get_template("sign_in.html")
print(*sys.modules)
"""


@pytest.mark.parametrize("package", [studio, api_client])
def test_every_module_can_be_loaded(package: ModuleType) -> None:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if ".demo.plugin" not in found.name and not found.name.endswith("__main__"):
            importlib.import_module(found.name)


@pytest.mark.parametrize("route", routes, ids=lambda route: f"{route.path} {sorted(route.methods)}")
def test_every_url_leads_to_a_page_that_is_there(route: Route) -> None:
    page = getattr(importlib.import_module(route.endpoint.__module__), route.endpoint.__name__)

    assert inspect.iscoroutinefunction(page)


def test_the_first_page_is_answered_without_what_it_does_not_need() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)

    assert [name for name in done.stdout.split() if f"{name}.".startswith(NOT_AT_FIRST)] == []


async def test_an_application_is_made_once_with_the_first_requests() -> None:
    made: list[ModuleType] = []

    def make(module: Any) -> Starlette:
        made.append(module)
        return Starlette(routes=[Route("/", lambda _: PlainTextResponse("here"))])

    app = Starlette(routes=[Mount("/v1", app=late.Application("string", make))])
    assert made == []
    to_it = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://studio")
    async with to_it as http:
        answers = await asyncio.gather(*(http.get("/v1/") for _ in range(3)))

    assert [answer.text for answer in answers] == ["here"] * 3
    assert [module.__name__ for module in made] == ["string"]


async def test_what_cannot_be_loaded_is_told_and_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    taken: list[str] = []
    after = asyncio.Event()
    usual = sys.getswitchinterval()
    steps = [*late.modules(["studio.nowhere"]), lambda: taken.append("next")]
    loading = asyncio.create_task(late.load(steps, after))
    await asyncio.sleep(0)
    assert taken == []

    after.set()
    await loading

    assert taken == ["next"]
    assert "cannot be loaded" in caplog.text
    assert "studio.nowhere" in caplog.text
    assert sys.getswitchinterval() == usual


async def test_the_first_answer_is_noticed_a_failed_one_too() -> None:
    first = asyncio.Event()

    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        await late.Answered(fails, first)({}, None, None)  # type: ignore[arg-type]

    assert first.is_set()
