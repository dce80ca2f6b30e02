"""Environment manifests written in the browser: a draft as text, planned, then saved.

What is saved is what was planned: a text that changed since is planned again first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from studio.core import manifests
from studio.core.manifests import Document, Format
from studio.core.rules.access import needs
from studio.core.rules.environments import network
from studio.core.rules.errors import Invalid, NotFound, Refused, StudioError
from studio.core.runtime import ManifestPlan
from studio.web import errors
from studio.web.faults import Fault, faults_of
from studio.web.pages.environments.differing import FieldChange, changes
from studio.web.pages.environments.manifests import NAV, number
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, onward, person, reader, runtime, text, typed

EDIT = "environments/manifest_edit.html"
WHAT = "write an environment manifest"
STARTER = """\
name: my-environment
description: What it is for, in one line.
kind: sandbox
setup:
  - run: python3 -m venv .venv
network:
  allow:
    - host: pypi.org
limits:
  memory_mib: 512
"""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What a form holds. `manifest` is which, "" for a new one; `expect` the version looked at."""

    manifest: str
    expect: int
    text: str
    format: Format = "yaml"


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What others saved since this draft was begun."""

    old: int
    new: int
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, kw_only=True)
class EditView:
    """A draft with what is known of it. `fields` are how it differs from the newest version."""

    frame: Frame
    draft: Draft
    error: str = ""
    faults: tuple[Fault, ...] = ()
    plan: ManifestPlan | None = None
    fields: tuple[FieldChange, ...] = ()
    moved: Moved | None = None
    notes: tuple[str, ...] = ()
    said: str = ""


async def new(request: Request) -> Response:
    """GET /environments/manifests/new."""
    needs(person(request), "admin", WHAT)
    return await _show(request, Draft(manifest="", expect=0, text=STARTER))


async def edit(request: Request) -> Response:
    """GET /environments/manifests/{name}/edit: the newest version, or an earlier to go back to.

    `?allow=host:port` begins with one more place on the allow-list, and its plan.
    """
    needs(person(request), "admin", WHAT)
    name, place = request.path_params["name"], asked(request, "allow")
    found = await reader(request).environment_manifest(
        person(request), name, number(request, "version")
    )
    said, value = "", found.manifest
    if found.version != found.latest:
        said = f"This is version {found.version}. Saved, it becomes version {found.latest + 1}."
    if place:
        value = allowing(value, place)
        said = f"{place} is added to the allow-list below. Nothing is saved yet."
    draft = Draft(
        manifest=name, expect=found.latest, text=manifests.write(value, "yaml")
    )  # fmt: skip
    if place:
        return await _plan(request, draft, manifests.read(draft.text, format="yaml"), said=said)
    return await _show(request, draft, said=said)


async def change(request: Request) -> Response:
    """POST /environments/manifests/draft: plan the draft, write it otherwise, go on from newer."""
    needs(person(request), "admin", WHAT)
    form = await typed(request)
    draft, step = _draft(form), text(form, "step")
    try:
        draft, document = _read(draft)
        if step in ("yaml", "json"):
            return await _show(request, _rewritten(draft, document, step))
        if step == "onto":
            draft = replace(draft, expect=_whole(text(form, "onto")) or draft.expect)
        return await _plan(request, draft, document)
    except StudioError as refusal:
        return await _again(request, draft, refusal)


async def save(request: Request) -> Response:
    """POST /environments/manifests."""
    needs(person(request), "admin", "save an environment manifest")
    form = await typed(request)
    draft, verbs, who = _draft(form), runtime(request), person(request)
    try:
        draft, document = _read(draft)
        plan = await verbs.save_environment_manifest(
            who, document.value, dry_run=True, expect=draft.expect
        )
        if plan.digest != text(form, "planned"):
            said = "The text is not the one that was planned. This is the plan of what it says now."
            return await _plan(request, draft, document, said=said)
        await verbs.save_environment_manifest(who, document.value, expect=draft.expect)
    except StudioError as refusal:
        return await _again(request, draft, refusal)
    return onward(request, f"/environments/manifests/{plan.name}")


def allowing(manifest: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The manifest with `host:port` on its allow-list too; Invalid when that is no such place."""
    host, _, word = place.rpartition(":")
    port = _whole(word)
    if port is None or not 0 < port < 65_536 or network.host_fault(host):
        raise Invalid(
            "What is to be allowed must be a host and a port, such as pypi.org:443.",
            fields={"allow": "must be host:port."}, code="manifest.invalid",
        )  # fmt: skip
    allow = [dict(one) for one in manifest.get("network", {}).get("allow", ())]
    for entry in allow:
        if entry["host"].lower() == host:
            ports = entry.get("ports", list(network.PORTS))
            entry["ports"] = sorted({*ports, port})
            break
    else:
        allow.append({"host": host} | ({} if [port] == [*network.PORTS] else {"ports": [port]}))
    return {**manifest, "network": {**manifest.get("network", {}), "allow": allow}}


def _draft(form: FormData) -> Draft:
    return Draft(
        manifest=text(form, "manifest"), expect=_whole(text(form, "expect")) or 0,
        text=text(form, "text"), format="json" if text(form, "format") == "json" else "yaml",
    )  # fmt: skip


def _read(draft: Draft) -> tuple[Draft, Document]:
    """The draft, in the format that it is written in, and what it says."""
    format = manifests.guess(draft.text)
    document = manifests.read(draft.text, format=format)
    value = document.value
    if draft.manifest and isinstance(value, dict) and value.get("name") != draft.manifest:
        raise Invalid(
            "This page changes one manifest.", code="manifest.invalid",
            fields={"name": f"must stay {draft.manifest}. For another begin a new one."},
        )  # fmt: skip
    return replace(draft, format=format), document


def _rewritten(draft: Draft, document: Document, format: str) -> Draft:
    chosen: Format = "json" if format == "json" else "yaml"
    if chosen == draft.format:
        return draft
    return replace(draft, text=manifests.write(document.value, chosen), format=chosen)


async def _plan(request: Request, draft: Draft, document: Document, *, said: str = "") -> Response:
    plan = await runtime(request).save_environment_manifest(
        person(request), document.value, dry_run=True, expect=draft.expect
    )
    before = await _newest(request, plan.name)
    fields = changes(before, document.value) if before is not None else ()
    return await _show(
        request, draft, plan=plan, fields=fields, said=said, notes=document.notes
    )  # fmt: skip


async def _newest(request: Request, name: str) -> Mapping[str, Any] | None:
    try:
        return (await reader(request).environment_manifest(person(request), name)).manifest
    except NotFound:
        return None


async def _again(request: Request, draft: Draft, refusal: StudioError) -> Response:
    """The same draft with what is wrong about it; everything that was typed is kept."""
    moved = None
    if isinstance(refusal, Refused) and refusal.code == "manifest_changed" and draft.expect:
        now, name = int(refusal.details["version"]), str(refusal.details["name"])
        if now:
            found = await reader(request).environment_manifest_diff(
                person(request), name, draft.expect, now
            )
            fields = changes(found.before, found.after)
            moved = Moved(old=draft.expect, new=now, fields=fields)
    return await _show(
        request, draft, error=refusal.message, moved=moved, status=errors.status(refusal),
        faults=faults_of(draft.text, draft.format, refusal),
    )  # fmt: skip


async def _show(request: Request, draft: Draft, *, status: int = 200, **more: Any) -> Response:
    title = f"Change {draft.manifest}" if draft.manifest else "New environment manifest"
    view = EditView(frame=await frame(request, title, nav=NAV), draft=draft, **more)
    return page(request, EDIT, view, status=status)


def _whole(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
