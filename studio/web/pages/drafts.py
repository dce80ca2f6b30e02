"""Manifests written in the browser, of agents and of environments: one flow for both.

A draft is planned, then saved. What is saved is what was planned: a text that changed since is
planned again first. Whatever is refused keeps what was typed.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from studio.core import manifests
from studio.core.manifests import Document, Format
from studio.core.rules.access import needs
from studio.core.rules.errors import Invalid, Refused, StudioError
from studio.web import errors
from studio.web.faults import Fault, faults_of
from studio.web.pages import agent_fields
from studio.web.pages.agent_fields import Fields
from studio.web.render import Frame, frame, page
from studio.web.visit import onward, person, text, typed


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What a form holds. `of` is whose, "" for a new one; `expect` the version looked at.

    In the mode `fields` what was typed into `fields` is written into the text.
    """

    of: str
    expect: int
    text: str
    format: Format = "yaml"
    mode: str = "text"
    fields: Fields = field(default_factory=Fields)


class Plan(Protocol):
    """What saving a manifest would do."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What others saved since a draft was begun."""

    old: int
    new: int
    by: str
    time: int | None
    difference: Any


@dataclass(frozen=True, kw_only=True)
class EditView:
    """A draft with what is known of it. `difference` is how it differs from the newest version."""

    frame: Frame
    draft: Draft
    error: str = ""
    faults: tuple[Fault, ...] = ()
    plan: Plan | None = None
    difference: Any = None
    moved: Moved | None = None
    notes: tuple[str, ...] = ()
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class Noun:
    """What is a noun's own: its words and place, the verb that saves, and how two differ.

    `save` is given (request, manifest, expect=…, dry_run=…); `difference` tells a manifest from
    the newest of its name; `moved` one version from a newer. `read` and `write` are
    set where a draft is written in more than one way.
    """

    name: str
    article: str
    code: str
    changed: str
    home: str
    nav: str
    template: str
    save: Callable[..., Awaitable[Plan]]
    difference: Callable[[Request, Any], Awaitable[Any]]
    moved: Callable[[Request, str, int, int], Awaitable[Moved | None]]
    read: Callable[[Draft, Document], tuple[Draft, Document]] | None = None
    write: Callable[[Draft, Document, str], Draft | None] | None = None

    @property
    def what(self) -> str:
        """What one needs the right for."""
        return f"write {self.article} {self.name}"


async def change(request: Request, noun: Noun) -> Response:
    """Plan the draft, write it otherwise, or go on from a newer version."""
    needs(person(request), "admin", noun.what)
    form = await typed(request)
    draft, step = _typed(form), text(form, "step")
    try:
        draft, document = _read(draft, noun)
        if (other := _written(draft, document, step, noun)) is not None:
            return await show(request, noun, other, notes=document.notes)
        if step == "onto":
            draft = replace(draft, expect=whole(text(form, "onto")) or draft.expect)
        return await plan(request, noun, draft, document)
    except StudioError as refusal:
        return await _again(request, noun, draft, refusal)


async def save(request: Request, noun: Noun) -> Response:
    """Save what was planned; a text that is not what was planned is planned first."""
    needs(person(request), "admin", f"save {noun.article} {noun.name}")
    form = await typed(request)
    draft = _typed(form)
    try:
        draft, document = _read(draft, noun)
        planned = await noun.save(request, document.value, expect=draft.expect, dry_run=True)
        if planned.digest != text(form, "planned"):
            said = "The text is not the one that was planned. This is the plan of what it says now."
            return await plan(request, noun, draft, document, said=said)
        await noun.save(request, document.value, expect=draft.expect, dry_run=False)
    except StudioError as refusal:
        return await _again(request, noun, draft, refusal)
    return onward(request, f"{noun.home}/{planned.name}")


async def plan(
    request: Request, noun: Noun, draft: Draft, document: Document, *, said: str = ""
) -> Response:
    """The draft with what saving it would do."""
    planned = await noun.save(request, document.value, expect=draft.expect, dry_run=True)
    difference = await noun.difference(request, document.value)
    return await show(
        request, noun, draft, plan=planned, difference=difference, said=said, notes=document.notes
    )  # fmt: skip


async def show(
    request: Request, noun: Noun, draft: Draft, *, status: int = 200, **more: Any
) -> Response:
    """The page with the draft."""
    title = f"Change {draft.of}" if draft.of else f"New {noun.name}"
    view = EditView(frame=await frame(request, title, nav=noun.nav), draft=draft, **more)
    return page(request, noun.template, view, status=status)


async def _again(request: Request, noun: Noun, draft: Draft, refusal: StudioError) -> Response:
    """The same draft with what is wrong about it; everything that was typed is kept."""
    moved = None
    if isinstance(refusal, Refused) and refusal.code == noun.changed and draft.expect:
        now, name = int(refusal.details["version"]), str(refusal.details["name"])
        moved = await noun.moved(request, name, draft.expect, now) if now else None
    return await show(
        request, noun, draft, error=refusal.message, moved=moved, status=errors.status(refusal),
        faults=faults_of(draft.text, draft.format, refusal),
    )  # fmt: skip


def _typed(form: FormData) -> Draft:
    return Draft(
        of=text(form, "of"), expect=whole(text(form, "expect")) or 0, text=text(form, "text"),
        format=format_of(text(form, "format")),
        mode="fields" if text(form, "mode") == "fields" else "text",
        fields=agent_fields.typed(form),
    )  # fmt: skip


def _read(draft: Draft, noun: Noun) -> tuple[Draft, Document]:
    """The draft in the format that it is written in, and what it says."""
    format = manifests.guess(draft.text)
    draft, document = replace(draft, format=format), manifests.read(draft.text, format=format)
    if noun.read is not None:
        draft, document = noun.read(draft, document)
    if draft.of and isinstance(document.value, dict) and document.value.get("name") != draft.of:
        raise Invalid(
            f"This page changes one {noun.name}.", code=noun.code,
            fields={"name": f"must stay {draft.of}. For another {noun.name} begin a new one."},
        )  # fmt: skip
    return draft, document


def _written(draft: Draft, document: Document, step: str, noun: Noun) -> Draft | None:
    """The draft written otherwise, if that is what the step asks for."""
    if step in ("yaml", "json"):
        format = format_of(step)
        if format == draft.format:
            return draft
        return replace(draft, text=manifests.write(document.value, format), format=format)
    return noun.write(draft, document, step) if noun.write is not None else None


def format_of(word: str) -> Format:
    """The format of this name; YAML when there is none."""
    return "json" if word == "json" else "yaml"


def whole(value: str) -> int | None:
    """A number as it stands in a form or an address, or None."""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
