"""A new environment: from a saved manifest, or by an admin from a definition that is not saved."""

from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from studio.core import manifests
from studio.core.projections.environment_manifests import ManifestRow
from studio.core.rules.access import needs
from studio.core.rules.errors import Invalid, StudioError
from studio.web import errors, labels
from studio.web.faults import Fault, faults_of
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, may, onward, person, reader, runtime, text, typed

WHAT = "make an environment"
WRITTEN = "-"  # in the place of a manifest: the definition that is written


@dataclass(frozen=True, kw_only=True)
class Typed:
    """What a form holds. `manifest` is name@version, or "-" for the definition that is written."""

    name: str = ""
    manifest: str = ""
    definition: str = ""
    labels: str = ""
    owner: str = ""


@dataclass(frozen=True, kw_only=True)
class NewView:
    """The form, with what is wrong in it. `faults` are those of the definition, by line."""

    frame: Frame
    manifests: tuple[ManifestRow, ...]
    typed: Typed
    may_write: bool
    error: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


async def new(request: Request) -> Response:
    """GET /environments/new; `?manifest=` chooses one, also an earlier version of it."""
    needs(person(request), "operator", WHAT)
    return await _form(request, Typed(manifest=asked(request, "manifest")))


async def create(request: Request) -> Response:
    """POST /environments."""
    needs(person(request), "operator", WHAT)
    given = _typed(await typed(request))
    try:
        is_written = given.manifest == WRITTEN
        made = await runtime(request).make_environment(
            person(request), given.name.strip(),
            manifest=None if is_written else given.manifest or None,
            definition=_definition(given.definition) if is_written else None,
            labels=labels.read(given.labels), owner=given.owner.strip() or None,
        )  # fmt: skip
    except StudioError as refusal:
        return await _form(request, given, refusal)
    return onward(request, f"/environments/{made.id}" + ("?saved=made" if made.made else ""))


def _definition(text: str) -> Any:
    """What is written; nothing is a definition too, all of whose fields are left out."""
    return manifests.read(text).value if text.strip() else {}


def _typed(form: FormData) -> Typed:
    return Typed(**{name: text(form, name) for name in Typed.__dataclass_fields__})


async def _form(request: Request, given: Typed, refusal: StudioError | None = None) -> Response:
    rows = tuple(await reader(request).environment_manifests(person(request)))
    fields = dict(refusal.fields) if isinstance(refusal, Invalid) else {}
    if fault := labels.fault(fields):
        fields["labels"] = fault
    ours = {"name", "labels", "owner", "manifest"}
    of_definition = given.manifest == WRITTEN and not fields.keys() & ours
    written = given.definition
    view = NewView(
        frame=await frame(request, "New environment", nav="environments"), manifests=rows,
        typed=given, may_write=may(request, "admin"), fields=fields,
        error=refusal.message if refusal else "",
        faults=faults_of(written, manifests.guess(written), refusal)
        if refusal is not None and of_definition else (),
    )  # fmt: skip
    status = errors.status(refusal) if refusal else 200
    return page(request, "environments/new.html", view, status=status)
