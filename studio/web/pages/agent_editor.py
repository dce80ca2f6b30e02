"""Agents written in the browser: as text or in fields, one at a time, planned, then saved."""

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from studio.core import manifests
from studio.core.manifests import Document
from studio.core.reader import AgentDiff
from studio.core.rules.access import needs
from studio.core.runtime import Plan
from studio.web.pages import agent_fields, drafts
from studio.web.pages.drafts import Draft, Moved, Noun
from studio.web.visit import asked, person, reader, runtime

STARTER = """\
name: my-agent
description: What it is for, in one line.
instructions: |
  Who you are and what you do.
model:
  provider: scripted
"""


async def new(request: Request) -> Response:
    """GET /agents/new."""
    needs(person(request), "admin", AGENT.what)
    format = drafts.format_of(asked(request, "format"))
    value = manifests.read(STARTER).value
    starter = STARTER if format == "yaml" else manifests.write(value, format)
    return await drafts.show(request, AGENT, Draft(of="", expect=0, text=starter, format=format))


async def edit(request: Request) -> Response:
    """GET /agents/{name}/edit: the newest version as a draft, or an older one to go back to."""
    needs(person(request), "admin", AGENT.what)
    name, version = request.path_params["name"], drafts.whole(asked(request, "version"))
    agent = await reader(request).agent(person(request), name, version)
    format = drafts.format_of(asked(request, "format"))
    draft = Draft(
        of=name, expect=agent.latest, text=manifests.write(agent.manifest, format), format=format
    )
    said = ""
    if agent.version != agent.latest:
        said = f"This is version {agent.version}. Saved, it becomes version {agent.latest + 1}."
    return await drafts.show(request, AGENT, draft, said=said)


async def change(request: Request) -> Response:
    """POST /agents/draft."""
    return await drafts.change(request, AGENT)


async def save(request: Request) -> Response:
    """POST /agents."""
    return await drafts.save(request, AGENT)


async def _save(request: Request, manifest: Any, *, expect: int, dry_run: bool) -> Plan:
    return await runtime(request).save_agent(
        person(request), manifest, dry_run=dry_run, expect=expect
    )


async def _difference(request: Request, manifest: Any) -> AgentDiff:
    return await reader(request).agent_draft(person(request), manifest)


async def _moved(request: Request, name: str, old: int, new: int) -> Moved:
    found = await reader(request).agent_diff(person(request), name, old, new)
    return Moved(old=old, new=new, by=found.new.by, time=found.new.time, difference=found)


def _read(draft: Draft, document: Document) -> tuple[Draft, Document]:
    """With what was typed into fields written into the text."""
    if draft.mode == "fields":
        value = agent_fields.put(document.value, draft.fields)
        if value != document.value:
            draft = replace(draft, text=manifests.write(value, draft.format))
            document = manifests.read(draft.text, format=draft.format)
    return draft, document


def _written(draft: Draft, document: Document, step: str) -> Draft | None:
    if step in ("text", "fields"):
        return replace(draft, mode=step, fields=agent_fields.of(document.value))
    return None


AGENT = Noun(
    name="agent", article="an", code="agent.invalid", changed="agent.changed", home="/agents",
    nav="agents", template="agents/edit.html", save=_save, difference=_difference, moved=_moved,
    read=_read, write=_written,
)  # fmt: skip
