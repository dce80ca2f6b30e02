"""Agents written in the browser: a draft as text or in fields, planned, then saved.

One of the two is edited at a time and the other follows from it, so both say the same. What is
saved is what was planned: a text that changed since is planned again first.
"""

from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from studio.core import manifests
from studio.core.manifests import Document, Format
from studio.core.reader import AgentDiff
from studio.core.rules.access import needs
from studio.core.rules.errors import Invalid, Refused, StudioError
from studio.core.runtime import Plan
from studio.web import errors
from studio.web.faults import Fault, faults_of
from studio.web.pages import agent_fields
from studio.web.pages.agent_fields import Fields
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, onward, person, reader, runtime, text, typed

EDIT = "agents/edit.html"
WHAT = "write an agent"
STARTER = """\
name: my-agent
description: What it is for, in one line.
instructions: |
  Who you are and what you do.
model:
  provider: scripted
"""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What a form holds. `agent` is whose, "" for a new one; `expect` the version looked at."""

    agent: str
    expect: int
    text: str
    format: Format = "yaml"
    mode: str = "text"
    fields: Fields = field(default_factory=Fields)


@dataclass(frozen=True, kw_only=True)
class EditView:
    """A draft with what is known of it. `moved` is what others saved meanwhile, `latest` theirs."""

    frame: Frame
    draft: Draft
    latest: int
    error: str = ""
    faults: tuple[Fault, ...] = ()
    plan: Plan | None = None
    diff: AgentDiff | None = None
    moved: AgentDiff | None = None
    notes: tuple[str, ...] = ()
    said: str = ""


async def new(request: Request) -> Response:
    """GET /agents/new."""
    needs(person(request), "admin", WHAT)
    format: Format = "json" if asked(request, "format") == "json" else "yaml"
    value = manifests.read(STARTER).value
    starter = STARTER if format == "yaml" else manifests.write(value, format)
    return await _show(request, Draft(agent="", expect=0, text=starter, format=format))


async def edit(request: Request) -> Response:
    """GET /agents/{name}/edit: the newest version as a draft, or an older one to go back to."""
    needs(person(request), "admin", WHAT)
    name, version = request.path_params["name"], _whole(asked(request, "version"))
    agent = await reader(request).agent(person(request), name, version)
    format: Format = "json" if asked(request, "format") == "json" else "yaml"
    draft = Draft(
        agent=name, expect=agent.latest, text=manifests.write(agent.manifest, format), format=format
    )
    said = ""
    if agent.version != agent.latest:
        said = f"This is version {agent.version}. Saved, it becomes version {agent.latest + 1}."
    return await _show(request, draft, said=said)


async def change(request: Request) -> Response:
    """POST /agents/draft: plan the draft, write it otherwise, or go on from a newer version."""
    needs(person(request), "admin", WHAT)
    form = await typed(request)
    draft = _draft(form)
    try:
        draft, document = _read(draft)
        step = text(form, "step")
        if step in ("text", "fields"):
            fields = agent_fields.of(document.value)
            draft = _with(draft, mode=step, fields=fields)
            return await _show(request, draft, document=document)
        if step in ("yaml", "json"):
            return await _show(request, _rewritten(draft, document, step))
        if step == "onto":
            draft = _with(draft, expect=_whole(text(form, "onto")) or draft.expect)
        return await _plan(request, draft, document)
    except StudioError as refusal:
        return await _again(request, draft, refusal)


async def save(request: Request) -> Response:
    """POST /agents."""
    needs(person(request), "admin", "save an agent")
    form = await typed(request)
    draft = _draft(form)
    try:
        draft, document = _read(draft)
        verbs, who = runtime(request), person(request)
        plan = await verbs.save_agent(who, document.value, dry_run=True, expect=draft.expect)
        if plan.digest != text(form, "planned"):
            said = "The text is not the one that was planned. This is the plan of what it says now."
            return await _plan(request, draft, document, said=said)
        await verbs.save_agent(who, document.value, expect=draft.expect)
    except StudioError as refusal:
        return await _again(request, draft, refusal)
    return onward(request, f"/agents/{plan.name}")


def _draft(form: FormData) -> Draft:
    return Draft(
        agent=text(form, "agent"), expect=_whole(text(form, "expect")) or 0,
        text=text(form, "text"), format="json" if text(form, "format") == "json" else "yaml",
        mode="fields" if text(form, "mode") == "fields" else "text",
        fields=agent_fields.typed(form),
    )  # fmt: skip


def _read(draft: Draft) -> tuple[Draft, Document]:
    """The draft as one text, what was typed into fields written into it, and what it says."""
    format = manifests.guess(draft.text)
    document = manifests.read(draft.text, format=format)
    draft = _with(draft, format=format)
    if draft.mode == "fields":
        value = agent_fields.put(document.value, draft.fields)
        if value != document.value:
            draft = _with(draft, text=manifests.write(value, format))
            document = manifests.read(draft.text, format=format)
    if draft.agent and isinstance(document.value, dict):
        name = document.value.get("name")
        if name != draft.agent:
            raise Invalid(
                "This page changes one agent.", code="agent.invalid",
                fields={"name": f"must stay {draft.agent}. For another agent begin a new one."},
            )  # fmt: skip
    return draft, document


def _rewritten(draft: Draft, document: Document, format: str) -> Draft:
    chosen: Format = "json" if format == "json" else "yaml"
    if chosen == draft.format:
        return draft
    return _with(draft, text=manifests.write(document.value, chosen), format=chosen)


async def _plan(request: Request, draft: Draft, document: Document, *, said: str = "") -> Response:
    plan = await runtime(request).save_agent(
        person(request), document.value, dry_run=True, expect=draft.expect
    )
    diff = await reader(request).agent_draft(person(request), document.value)
    return await _show(request, draft, plan=plan, diff=diff, document=document, said=said)


async def _again(request: Request, draft: Draft, refusal: StudioError) -> Response:
    """The same draft with what is wrong about it; everything that was typed is kept."""
    moved = None
    if isinstance(refusal, Refused) and refusal.code == "agent.changed" and draft.expect:
        now = int(refusal.details["version"])
        who, name = person(request), str(refusal.details["name"])
        moved = await reader(request).agent_diff(who, name, draft.expect, now)
    return await _show(
        request, draft, error=refusal.message, faults=faults_of(draft.text, draft.format, refusal),
        moved=moved, status=errors.status(refusal),
    )  # fmt: skip


async def _show(
    request: Request, draft: Draft, *, status: int = 200, document: Document | None = None,
    **more: Any,
) -> Response:  # fmt: skip
    latest = 0
    if draft.agent:
        latest = (await reader(request).agent(person(request), draft.agent)).latest
    title = f"Change {draft.agent}" if draft.agent else "New agent"
    view = EditView(
        frame=await frame(request, title, nav="agents"), draft=draft, latest=latest,
        notes=document.notes if document is not None else (), **more,
    )  # fmt: skip
    return page(request, EDIT, view, status=status)


def _with(draft: Draft, **more: Any) -> Draft:
    return Draft(**{**draft.__dict__, **more})


def _whole(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
