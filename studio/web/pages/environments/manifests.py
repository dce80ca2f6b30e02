"""Environment manifests: the list, one version of one, all versions, any two compared."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from studio.core.projections.environment_manifests import (
    ManifestDiff,
    ManifestRow,
    ManifestVersions,
    ManifestView,
)
from studio.core.rules.errors import StudioError
from studio.web import errors
from studio.web.pages.environments.differing import FieldChange, changes
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, may, onward, person, reader, runtime

NAV = "environments"


@dataclass(frozen=True, kw_only=True)
class ListView:
    """All manifests."""

    frame: Frame
    manifests: tuple[ManifestRow, ...]
    may_edit: bool


@dataclass(frozen=True, kw_only=True)
class ShowView:
    """One version of a manifest."""

    frame: Frame
    manifest: ManifestView
    may_act: bool
    may_edit: bool
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class VersionsView:
    """Versions of a manifest, the newest first."""

    frame: Frame
    name: str
    page: ManifestVersions
    may_edit: bool


@dataclass(frozen=True, kw_only=True)
class DiffView:
    """Two versions, in lines and field by field."""

    frame: Frame
    diff: ManifestDiff
    fields: tuple[FieldChange, ...]
    may_act: bool


async def index(request: Request) -> Response:
    """GET /environments/manifests."""
    view = ListView(
        frame=await frame(request, "Environment manifests", nav=NAV),
        manifests=tuple(await reader(request).environment_manifests(person(request))),
        may_edit=may(request, "admin"),
    )
    return page(request, "environments/manifests.html", view)


async def show(request: Request) -> Response:
    """GET /environments/manifests/{name}; `?version=` is an earlier one."""
    return await _show(request)


async def versions(request: Request) -> Response:
    """GET /environments/manifests/{name}/versions."""
    name = request.path_params["name"]
    found = await reader(request).environment_manifest_versions(
        person(request), name, before=number(request, "before")
    )
    view = VersionsView(
        frame=await frame(request, f"Versions of {name}", nav=NAV), name=name, page=found,
        may_edit=may(request, "admin"),
    )  # fmt: skip
    return page(request, "environments/manifest_versions.html", view)


async def diff(request: Request) -> Response:
    """GET /environments/manifests/{name}/diff: without two versions the newest two."""
    name, who = request.path_params["name"], person(request)
    new = number(request, "new") or (await reader(request).environment_manifest(who, name)).latest
    old = number(request, "old") or max(1, new - 1)
    found = await reader(request).environment_manifest_diff(who, name, old, new)
    view = DiffView(
        frame=await frame(request, f"{name}: v{old} and v{new}", nav=NAV), diff=found,
        fields=changes(found.before, found.after), may_act=may(request, "operator"),
    )  # fmt: skip
    return page(request, "environments/manifest_diff.html", view)


async def remove(request: Request) -> Response:
    """POST /environments/manifests/{name}/removal."""
    name = request.path_params["name"]
    try:
        await runtime(request).remove_environment_manifest(person(request), name)
    except StudioError as refusal:
        return await _show(request, refusal)
    return onward(request, "/environments/manifests")


def number(request: Request, name: str) -> int | None:
    """A version in the URL's query; None when it is none."""
    value = asked(request, name)
    is_number = value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0
    return int(value) if is_number else None


async def _show(request: Request, refusal: StudioError | None = None) -> Response:
    name = request.path_params["name"]
    found = await reader(request).environment_manifest(
        person(request), name, number(request, "version")
    )
    view = ShowView(
        frame=await frame(request, name, nav=NAV), manifest=found,
        may_act=may(request, "operator"), may_edit=may(request, "admin"),
        error=refusal.message if refusal else "",
    )  # fmt: skip
    status = errors.status(refusal) if refusal else 200
    return page(request, "environments/manifest.html", view, status=status)
