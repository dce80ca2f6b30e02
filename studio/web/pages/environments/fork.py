"""A fork: a new environment from this one, planned as a checklist before it is made."""

import hashlib
from dataclasses import dataclass, field

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from studio.core.projections.disk_versions import DiskVersionRow, SlotRow
from studio.core.projections.environment_manifests import ManifestRow
from studio.core.projections.environments import EnvironmentView
from studio.core.rules.access import needs
from studio.core.rules.errors import Invalid, StudioError
from studio.core.runtime import ForkPlan
from studio.web import errors, labels
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, onward, person, reader, runtime, text, typed

WHAT = "fork an environment"
VERSIONS = 100


@dataclass(frozen=True, kw_only=True)
class Typed:
    """What a form holds. `manifest` "" keeps the definition, `version` "" takes the newest disk."""

    name: str = ""
    manifest: str = ""
    version: str = ""
    secrets: tuple[str, ...] = ()
    labels: str = ""
    owner: str = ""


@dataclass(frozen=True, kw_only=True)
class ForkView:
    """The form, and the plan once there is one; `planned` stands for both in the form."""

    frame: Frame
    it: EnvironmentView
    typed: Typed
    manifests: tuple[ManifestRow, ...]
    versions: tuple[DiskVersionRow, ...]
    slots: tuple[SlotRow, ...]
    plan: ForkPlan | None = None
    planned: str = ""
    said: str = ""
    error: str = ""
    session_id: str = ""
    fields: dict[str, str] = field(default_factory=dict)


async def new(request: Request) -> Response:
    """GET /environments/{environment}/fork; `?version=` is of its disk, 0 for an empty one."""
    needs(person(request), "operator", WHAT)
    it = await _source(request)
    version, taken = asked(request, "version"), labels.written(it.row.labels)
    return await _form(request, it, Typed(version=version, labels=taken))


async def make(request: Request) -> Response:
    """POST /environments/{environment}/fork: plan it, or make what was planned."""
    needs(person(request), "operator", WHAT)
    form, it = await typed(request), await _source(request)
    given = _typed(form)
    wider, makes = bool(text(form, "wider")), text(form, "step") == "make"
    try:
        plan = await _fork(request, it, given, dry_run=True)
        planned = _sign(given, plan)
        is_said = wider or not plan.widened
        if makes and text(form, "planned") == planned and is_said:
            made = await _fork(request, it, given, wider=wider, dry_run=False)
            return onward(request, f"/environments/{made.id}?saved=made")
    except StudioError as refusal:
        return await _form(request, it, given, refusal=refusal)
    said = ""
    if makes and text(form, "planned") == planned:
        said = "Tick that the secrets may reach more than before, or do not copy them."
    elif makes:
        said = "This is not what was planned. Here is the plan of what it says and is now."
    return await _form(request, it, given, plan=plan, planned=planned, said=said)


async def _source(request: Request) -> EnvironmentView:
    return await reader(request).environment(person(request), request.path_params["environment"])


async def _fork(
    request: Request, it: EnvironmentView, given: Typed, *, wider: bool = False, dry_run: bool
) -> ForkPlan:
    return await runtime(request).fork_environment(
        person(request), it.row.id, given.name.strip(), manifest=given.manifest or None,
        version=_version(given.version), secrets=given.secrets, labels=labels.read(given.labels),
        owner=given.owner.strip() or None, wider=wider, dry_run=dry_run,
    )  # fmt: skip


def _typed(form: FormData) -> Typed:
    chosen = [value for value in form.getlist("secrets") if isinstance(value, str)]
    return Typed(
        name=text(form, "name"), manifest=text(form, "manifest"), version=text(form, "version"),
        secrets=tuple(dict.fromkeys(chosen)), labels=text(form, "labels"),
        owner=text(form, "owner"),
    )  # fmt: skip


def _version(word: str) -> int | None:
    if not word:
        return None
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        words = "must be the number of a version."
        raise Invalid(f"The version {words}", fields={"version": words}, code="disk.version")
    return int(word)


def _sign(given: Typed, plan: ForkPlan) -> str:
    """One word for what was typed and what would come of it: another one is another plan."""
    return hashlib.sha256(f"{given!r} {plan!r}".encode()).hexdigest()[:32]


async def _form(
    request: Request, it: EnvironmentView, given: Typed, *, refusal: StudioError | None = None,
    plan: ForkPlan | None = None, planned: str = "", said: str = "",
) -> Response:  # fmt: skip
    who, id = person(request), it.row.id
    fields = dict(refusal.fields) if isinstance(refusal, Invalid) else {}
    if fault := labels.fault(fields):
        fields["labels"] = fault
    kept = await reader(request).disk_versions(who, id, limit=VERSIONS)
    view = ForkView(
        frame=await frame(request, f"Fork {it.row.name}", nav="environments"), it=it, typed=given,
        manifests=tuple(await reader(request).environment_manifests(who)), versions=kept.items,
        slots=tuple(await reader(request).environment_secrets(who, id)), plan=plan,
        planned=planned, said=said, fields=fields, error=refusal.message if refusal else "",
        session_id=str(refusal.details.get("session_id", "")) if refusal else "",
    )  # fmt: skip
    status = errors.status(refusal) if refusal else 200
    return page(request, "environments/fork.html", view, status=status)
