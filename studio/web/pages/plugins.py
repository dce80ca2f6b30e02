"""Plugins: the list, one with what it brings and came to, and putting one here, planned first."""

import re
from dataclasses import dataclass, field

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from studio.core.reader import CallRow, FileView, Page, PluginRow, PluginView, UsageRow
from studio.core.rules.access import needs
from studio.core.rules.errors import Invalid, StudioError
from studio.core.rules.skills import body
from studio.core.runtime import PluginPlan
from studio.web import errors
from studio.web.render import Frame, frame, page
from studio.web.visit import (
    asked,
    may,
    onward,
    person,
    reader,
    runtime,
    text,
    typed,
)

KINDS = {
    "authority": "What it reaches", "version": "Version", "about": "About it",
    "server": "Servers", "tool": "Tools", "skill": "Skills", "file": "Files",
}  # fmt: skip
STATES = ("succeeded", "failed", "denied", "held", "uncertain")
RECENT = 10


@dataclass(frozen=True, kw_only=True)
class ListView:
    """Every plugin, and the form to put one here. `fields` say what is wrong with what came."""

    frame: Frame
    plugins: tuple[PluginRow, ...]
    costs: dict[str, UsageRow]
    may_edit: bool
    error: str = ""
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PlanView:
    """What putting a plugin here would change. `kinds` are (title, words) in order."""

    frame: Frame
    plan: PluginPlan
    draft: str
    kinds: tuple[tuple[str, tuple[str, ...]], ...]
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class ShowView:
    """One plugin."""

    frame: Frame
    plugin: PluginView
    calls: Page[CallRow]
    cost: UsageRow | None
    may_edit: bool
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class CallsView:
    """A page of the calls of a plugin."""

    frame: Frame
    plugin: PluginView
    calls: Page[CallRow]
    state: str
    cursor: str
    states: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FilePage:
    """A file of a skill. `body` is set when it is the skill's own text, without front matter."""

    frame: Frame
    plugin: str
    skill: str
    file: FileView
    body: str


async def index(request: Request) -> Response:
    """GET /plugins: the list, or the plan of what was sent (`draft`)."""
    if draft := asked(request, "draft"):
        return await _plan(request, draft)
    return await _list(request)


async def send(request: Request) -> Response:
    """POST /plugins: take an archive and show what it would change."""
    needs(person(request), "admin", "install a plugin")
    try:
        draft, _ = await runtime(request).draft_plugin(person(request), await _archive(request))
    except StudioError as refusal:
        return await _list(request, refusal)
    return RedirectResponse(f"/plugins?draft={draft}", 303)


async def confirm(request: Request) -> Response:
    """POST /plugins/confirmation: put there what was shown."""
    form = await typed(request)
    draft, expect = text(form, "draft"), text(form, "expect")
    shown = int(expect) if re.fullmatch(r"[0-9]{1,9}", expect) else -1
    try:
        plan = await runtime(request).confirm_plugin(person(request), draft, expect=shown)
    except StudioError as refusal:
        if refusal.code == "plugin.changed":
            return await _plan(request, draft, refusal)
        return await _list(request, refusal)
    return onward(request, f"/plugins/{plan.plugin.name}")


async def show(request: Request) -> Response:
    """GET /plugins/{name}."""
    return await _show(request)


async def remove(request: Request) -> Response:
    """POST /plugins/{name}/removal."""
    name = request.path_params["name"]
    try:
        await runtime(request).remove_plugin(person(request), name)
    except StudioError as refusal:
        return await _show(request, refusal)
    return onward(request, "/plugins")


async def calls(request: Request) -> Response:
    """GET /plugins/{name}/calls."""
    name, state = request.path_params["name"], asked(request, "state")
    cursor, state = asked(request, "cursor"), state if state in STATES else ""
    view = CallsView(
        frame=await frame(request, f"Calls of {name}", nav="plugins"),
        plugin=await reader(request).plugin(person(request), name),
        calls=await reader(request).plugin_calls(
            person(request), name, state=state, cursor=cursor or None
        ),
        state=state, cursor=cursor, states=STATES,
    )  # fmt: skip
    return page(request, "plugins/calls.html", view)


async def skill_file(request: Request) -> Response:
    """GET /plugins/{name}/skills/{skill}: its text, or a file of it (`path`)."""
    name, skill = request.path_params["name"], request.path_params["skill"]
    path = asked(request, "path") or "SKILL.md"
    found = await reader(request).plugin_file(person(request), name, skill, path)
    shown = body(found.text) if path == "SKILL.md" and found.text is not None else ""
    view = FilePage(
        frame=await frame(request, f"{skill}: {path}", nav="plugins"), plugin=name, skill=skill,
        file=found, body=shown,
    )  # fmt: skip
    return page(request, "plugins/file.html", view)


async def _costs(request: Request) -> dict[str, UsageRow]:
    """What plugins' calls had of the cost of their replies, over the last 30 days, by name."""
    found = await reader(request).usage(person(request), reader(request).span(), "plugin")
    return {row.key: row for row in found.rows if row.key}


async def _archive(request: Request) -> bytes:
    async with request.form(max_files=1, max_fields=10) as form:
        upload = form.get("archive")
        data = await upload.read() if isinstance(upload, UploadFile) else b""
    if not data:
        words = "Choose a zip archive with plugin.json at its top."
        raise Invalid(words, code="archive.missing", fields={"archive": words})
    return data


async def _list(request: Request, refusal: StudioError | None = None) -> Response:
    view = ListView(
        frame=await frame(request, "Plugins", nav="plugins"),
        plugins=tuple(await reader(request).plugins(person(request))),
        costs=await _costs(request),
        may_edit=may(request, "admin"),
        error=refusal.message if refusal else "",
        fields=refusal.fields if isinstance(refusal, Invalid) else {},
    )
    status = errors.status(refusal) if refusal else 200
    return page(request, "plugins/index.html", view, status=status)


async def _plan(request: Request, draft: str, refusal: StudioError | None = None) -> Response:
    try:
        plan = await runtime(request).plan_draft(person(request), draft)
    except StudioError as gone:
        return await _list(request, gone)
    words = {kind: tuple(c.words for c in plan.changes if c.kind == kind) for kind in KINDS}
    view = PlanView(
        frame=await frame(request, f"Install {plan.plugin.name}", nav="plugins"), plan=plan,
        draft=draft, kinds=tuple((KINDS[k], told) for k, told in words.items() if told),
        error=refusal.message if refusal else "",
    )  # fmt: skip
    status = errors.status(refusal) if refusal else 200
    return page(request, "plugins/plan.html", view, status=status)


async def _show(request: Request, refusal: StudioError | None = None) -> Response:
    name = request.path_params["name"]
    view = ShowView(
        frame=await frame(request, name, nav="plugins"),
        plugin=await reader(request).plugin(person(request), name),
        calls=await reader(request).plugin_calls(person(request), name, limit=RECENT),
        cost=(await _costs(request)).get(name),
        may_edit=may(request, "admin"),
        error=refusal.message if refusal else "",
    )
    status = errors.status(refusal) if refusal else 200
    return page(request, "plugins/show.html", view, status=status)
