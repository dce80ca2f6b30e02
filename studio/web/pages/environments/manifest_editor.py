"""Environment manifests written in the browser: as text, planned, then saved."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from studio.core import manifests
from studio.core.rules.access import needs
from studio.core.rules.environments import network
from studio.core.rules.errors import Invalid, NotFound
from studio.core.runtime import ManifestPlan
from studio.web.pages import drafts
from studio.web.pages.drafts import Draft, Moved, Noun
from studio.web.pages.environments.differing import FieldChange, changes
from studio.web.pages.environments.manifests import NAV, number
from studio.web.visit import asked, person, reader, runtime

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


async def new(request: Request) -> Response:
    """GET /environments/manifests/new."""
    needs(person(request), "admin", MANIFEST.what)
    return await drafts.show(request, MANIFEST, Draft(of="", expect=0, text=STARTER))


async def edit(request: Request) -> Response:
    """GET /environments/manifests/{name}/edit: the newest version, or an earlier to go back to.

    `?allow=host:port` begins with one more place on the allow-list, and its plan.
    """
    needs(person(request), "admin", MANIFEST.what)
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
    draft = Draft(of=name, expect=found.latest, text=manifests.write(value, "yaml"))
    if place:
        document = manifests.read(draft.text, format="yaml")
        return await drafts.plan(request, MANIFEST, draft, document, said=said)
    return await drafts.show(request, MANIFEST, draft, said=said)


async def change(request: Request) -> Response:
    """POST /environments/manifests/draft."""
    return await drafts.change(request, MANIFEST)


async def save(request: Request) -> Response:
    """POST /environments/manifests."""
    return await drafts.save(request, MANIFEST)


def allowing(manifest: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The manifest with `host:port` on its allow-list too; Invalid when that is no such place."""
    host, _, word = place.rpartition(":")
    port = drafts.whole(word)
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


async def _save(request: Request, manifest: Any, *, expect: int, dry_run: bool) -> ManifestPlan:
    return await runtime(request).save_environment_manifest(
        person(request), manifest, dry_run=dry_run, expect=expect
    )


async def _difference(request: Request, manifest: Any) -> tuple[FieldChange, ...]:
    try:
        found = await reader(request).environment_manifest(person(request), str(manifest["name"]))
    except NotFound:
        return ()
    return changes(found.manifest, manifest)


async def _moved(request: Request, name: str, old: int, new: int) -> Moved:
    who = person(request)
    found = await reader(request).environment_manifest_diff(who, name, old, new)
    theirs = await reader(request).environment_manifest(who, name, new)
    difference = changes(found.before, found.after)
    return Moved(old=old, new=new, by=theirs.by, time=theirs.time, difference=difference)


MANIFEST = Noun(
    name="environment manifest", article="an", code="manifest.invalid",
    changed="manifest_changed", home="/environments/manifests", nav=NAV,
    template="environments/manifest_edit.html", save=_save, difference=_difference, moved=_moved,
)  # fmt: skip
