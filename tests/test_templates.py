"""Templates: nothing in them escapes escaping, runs by itself or reaches what no page shows."""

import ast
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from jinja2 import nodes

from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.web import static
from studio.web.render import templates
from tests.core.packages import zips
from tests.core.rules.test_pictures import png
from tests.web import disk_cases, html, outside_cases
from tests.web import environments as env
from tests.web.conftest import Studio, Visitor, ada, migrated, studio
from tests.web.test_artifact_folders import packed as zipped

__all__ = ["ada", "migrated", "studio"]  # the fixtures of the pages

FOLDER = static.folder("templates")
NAMES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.html"))
ACTING = re.compile(r"\shx-(get|post|put|patch|delete|sse:connect|boost|on)\b")
FRAME = {"title", "crumbs", "main"}
ADA = Person(id="ada", role="admin", via="key")
LOADED_BEFORE = {"ui.html"}
# with a demo, while a call runs, as the answer to a form, with a provider, of a long turn
ONLY_SOMETIMES = {
    "demo/index.html",
    "sessions/_progress.html",
    "sessions/preview.html",
    "servers/preview.html",
    "plugins/plan.html",
    "models/_provider.html",
    "approvals/results.html",
    "artifacts/_made.html",
    "environments/_faults.html",
    "turns/_map.html",
    "outside/_crowd.html",
    "outside/_missing.html",
}


def source(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_marked_safe(name: str) -> None:
    assert re.findall(r"\|\s*safe|Markup|autoescape|\|\s*tojson", source(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_no_script_style_or_handler_stands_inline(name: str) -> None:
    text = source(name)

    scripts = [tag for tag in re.findall(r"<script[^>]*>", text) if "src=" not in tag]
    assert scripts + re.findall(r"<style|\sstyle=\"|\son[a-z]+=\"|javascript:", text) == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_imported(name: str) -> None:
    tree = templates().parse(source(name))

    assert list(tree.find_all((nodes.Import, nodes.FromImport))) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_element_that_asks_carries_the_nonce(name: str) -> None:
    tags = re.findall(r"<[a-z][^<>]*(?:\{\{.*?\}\}[^<>]*)*>", source(name))

    without = [tag for tag in tags if ACTING.search(tag) and "hx-nonce=" not in tag]
    assert without == []


@pytest.mark.parametrize("name", NAMES)
def test_every_form_says_how_and_where(name: str) -> None:
    forms = re.findall(r"<form\b.*?>", source(name), re.DOTALL)

    assert [form for form in forms if "action=" not in form and "dialog" not in form] == []


def test_forms_repeat_their_own_address() -> None:
    for name in NAMES:
        for form in re.findall(r"<form\b.*?>", source(name), re.DOTALL):
            if asked := re.search(r'hx-post="(.*?)"', form):
                assert f'action="{asked[1]}"' in form, name


def test_every_block_is_asked_for() -> None:
    code = "".join(path.read_text("utf-8") for path in Path("studio/web").rglob("*.py"))

    for name in NAMES:
        tree = templates().parse(source(name))
        for block in tree.find_all(nodes.Block):
            asked = block.name in FRAME or f'"{block.name}"' in code
            assert asked, f"{name}: nobody asks for the block {block.name}"


def test_every_class_of_the_style_sheets_is_given_to_something() -> None:
    sheets = "".join(path.read_text("utf-8") for path in static.folder("static").glob("css/*.css"))
    bare = re.sub(r'/\*.*?\*/|"[^"]*"', "", sheets, flags=re.DOTALL)
    selectors = " ".join(re.findall(r"([^{};]*)\{", bare))
    styled = set(re.findall(r"\.([A-Za-z_][\w-]*)", selectors))

    assert styled - given() == {"htmx-request"}  # the library's own


def given() -> set[str]:
    """Classes that templates, scripts or Python may give to something."""
    texts, looks = list[str](), list[str]()
    for name in NAMES:
        texts += re.findall(r'class="((?:[^"{]|\{\{.*?\}\}|\{%.*?%\})*)"', source(name))
        for tag in re.findall(r"\{[{%].*?[%}]\}", source(name), re.DOTALL):
            texts += re.findall(r"'([^']*)'", tag) + re.findall(r'"([^"]*)"', tag)
            looks += re.findall(r"look='([^']*)'", tag)
    for path in static.folder("static").glob("js/*.js"):
        texts += re.findall(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`", path.read_text("utf-8"))
    for path in Path("studio/web").rglob("*.py"):
        tree = ast.walk(ast.parse(path.read_text("utf-8")))
        texts += [node.value for node in tree if isinstance(node, ast.Constant)
                  and isinstance(node.value, str)]  # fmt: skip
    buttons = {f"button--{word}" for look in looks for word in look.split()}
    return {word for text in texts for word in re.findall(r"[\w-]+", text)} | buttons


async def test_every_page_that_is_linked_renders(
    studio: Studio, ada: Visitor, tmp_path: Path
) -> None:
    await everything(studio)
    desk = await with_a_disk(studio, tmp_path)
    templates().cache.clear()  # type: ignore[union-attr]
    seen, waiting = (
        set(),
        ["/", "/sign-in", "/nothing", "/sessions?q=zebra", "/approvals?q=zebra", desk],
    )

    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = await ada.get(path)
        expected = (200, 303, 404, *((422,) if "/archive?" in path else ()))  # names no zip takes
        assert answer.status_code in expected, f"{path}: {answer.status_code}"
        if "text/html" in answer.headers.get("content-type", ""):
            waiting += links(html.read(answer.text))

    used = {template.name for template in templates().cache.values()}  # type: ignore[union-attr]
    assert len(seen) > 30
    assert set(NAMES) - LOADED_BEFORE - ONLY_SOMETIMES - used == set()


def links(page: html.Element) -> list[str]:
    """The addresses of our own that a page leads to, forms that only ask included."""
    found = [item.attrs["href"] for item in page.all("a") if item.attrs.get("href", "")]
    parts = [item.attrs["hx-get"] for item in page.walk() if "hx-get" in item.attrs]
    paths = [target for target in found + parts if target.startswith("/")]
    return [target.partition("#")[0] for target in paths if not urlsplit(target).netloc]


async def everything(studio: Studio) -> None:
    """A studio in which everything has happened at least once."""
    story = studio.story
    await studio.runtime.put_plugin(ADA, zips.packed(zips.files(name="release-kit")))
    await studio.runtime.save_view(ADA, list="traces", name="Slow", query="seconds=60")
    session_id, effect_id, wait_id = await story.held("Decided")
    await story.decide(session_id, wait_id, "approve", reason="Fine")
    await story.run(session_id, effect_id)
    await story.end(session_id)
    story.feed.set_draft(session_id, "eff_1", "As far as it is written")
    await story.message(session_id, "Again")
    await story.end(session_id, code="model.failed", message="The model is away.")
    await story.held("Held")
    lost = await story.session("Lost")
    await story.message(lost)
    (gone,) = await story.reply(lost, "I charge.", {"tool": "charge_card"})
    await story.lose(lost, gone)
    curious = await story.session("Curious")
    await story.message(curious)
    (question,) = await story.reply(curious, "", {"tool": "ask_person"})
    schema = {"type": "object", "properties": {"to": {"type": "array", "items": {}}}}
    await story.hold(curious, question, kind="question", prompt="Whom?", schema=schema)
    await with_files(studio)
    await with_environments(studio)
    await outside_cases.one_trace(studio)
    await studio.runtime.make_key(ADA, "exporter", "viewer")
    manifest = (await studio.reader.agent(ADA, "helper")).manifest
    await studio.runtime.save_agent(
        ADA, {**manifest, "description": "Changed.", "instructions": "Do it otherwise."}
    )


async def with_a_disk(studio: Studio, folder: Path) -> str:
    """A disk with versions, one of which a turn made; the address of its page."""
    desk = await disk_cases.two_versions(studio, folder, "bench")
    session_id, (effect_id,) = await disk_cases.at_work(
        studio, desk, {"arguments": {"command": "make"}}
    )
    await studio.story.run(session_id, effect_id, {"exit": 2, "seconds": 1.0, "output": "no\n"})
    await studio.story.end(session_id)
    turn = e.TurnRef(session_id=session_id, turn_id=studio.story.turns[session_id])
    await desk.keep({b"new": b"1"}, "turn", turn=turn)
    return desk.url


async def with_environments(studio: Studio) -> None:
    """Two environments: one to be set up, one whose setup failed and whose disk is asked for."""
    await env.save(studio)
    await env.make(studio, manifest="python", labels={"team": "web"})
    await env.save(studio, description="Newer.")
    id = await env.make(studio, "other", manifest="python")
    told = contents.of_text("No.")
    runs = (e.SetupRun(run="make", exit=2, seconds=0.1, output=told),)
    await env.record(studio, id, env.tried(), e.SetupFinished(ok=False, runs=runs, failed=1))
    await studio.runtime.reset_environment(ADA, id)


async def with_files(studio: Studio) -> None:
    """A session with a picture, two versions of a text and two of a folder, and a link to it."""
    session_id = await studio.story.session("Files")

    async def bytes_of(data: bytes) -> AsyncIterator[bytes]:
        yield data

    async def keep(name: str, data: bytes, artifact_id: str | None = None) -> str:
        done = await studio.runtime.save_artifact(
            ADA, session_id, name=name, media="", chunks=bytes_of(data), artifact_id=artifact_id
        )
        return str(done.artifact_id)

    await keep("a.png", png(8, 8) + b"rest")
    await keep("notes.md", b"two", await keep("notes.md", b"one"))
    for text in ("one", "two"):
        archive = zipped({"css/a.css": text.encode(), "pic.png": png(8, 8)})
        folder = await studio.runtime.save_folder(
            ADA, session_id, name="site", chunks=bytes_of(archive)
        )
    await studio.runtime.make_link(ADA, folder.artifact_id)
