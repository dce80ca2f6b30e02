"""The policy: read in words, changed as JSON or rule by rule, tried on recorded calls, saved."""

import json
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import PolicyView
from studio.core.rules.access import needs
from studio.core.rules.errors import Invalid, StudioError
from studio.core.rules.policy import DryRun
from studio.web import errors
from studio.web.format import pretty
from studio.web.render import Frame, frame, page
from studio.web.visit import asked, may, onward, person, reader, runtime, text, typed

EFFECTS = ("ask", "deny", "allow")
NAMES = ("tool", "server", "plugin", "kind", "agent", "reason")
EDIT = "policy/edit.html"


@dataclass(frozen=True, kw_only=True)
class ShowView:
    """One version of the policy in words."""

    frame: Frame
    policy: PolicyView
    may_edit: bool


@dataclass(frozen=True, kw_only=True)
class EditView:
    """A draft of the policy. `tried` is what it would have said of recorded calls, once tried.

    `rules` is JSON text as it was typed; `rule` the fields of the small form.
    """

    frame: Frame
    policy: PolicyView
    rules: str
    note: str
    expect: int
    rule: dict[str, str] = field(default_factory=dict)
    error: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    tried: DryRun | None = None
    warnings: tuple[str, ...] = ()
    said: str = ""


async def show(request: Request) -> Response:
    """GET /policy."""
    version = asked(request, "version")
    wanted = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else None
    view = ShowView(
        frame=await frame(request, "Policy", nav="policy"),
        policy=await reader(request).policy(person(request), wanted),
        may_edit=may(request, "admin"),
    )
    return page(request, "policy/show.html", view)


async def edit(request: Request) -> Response:
    """GET /policy/edit: the policy in force as a draft, perhaps one rule less, or one begun."""
    needs(person(request), "admin", "change the policy")
    current = await reader(request).policy(person(request))
    rules, said = list(current.json), ""
    without, rule = asked(request, "without"), await _from_call(request)
    if without.isascii() and without.isdigit() and 1 <= int(without) <= len(rules):
        del rules[int(without) - 1]
        said = f"Rule {without} is left out of this draft. Nothing is saved yet."
    return await _edit(request, pretty(rules), expect=current.version, said=said, rule=rule)


async def draft(request: Request) -> Response:
    """POST /policy/draft: add a rule to the draft, or try the draft; nothing is saved."""
    needs(person(request), "admin", "change the policy")
    form = await typed(request)
    if text(form, "step") == "add":
        return await _add(request, form)
    return await _try(request, form)


async def save(request: Request) -> Response:
    """POST /policy."""
    form = await typed(request)
    try:
        await runtime(request).save_policy(
            person(request), _parsed(text(form, "rules")), expect=_expect(form),
            note=text(form, "note"),
        )  # fmt: skip
    except StudioError as refusal:
        return await _again(request, form, refusal)
    return onward(request, "/policy")


async def _from_call(request: Request) -> dict[str, str] | None:
    """The fields of a rule for calls such as this one, to be made narrower by the person."""
    if not (effect_id := asked(request, "from")):
        return None
    call = await reader(request).call(person(request), effect_id)
    session = await reader(request).session(person(request), call.session_id)
    named = {"tool": call.tool, "server": call.server, "plugin": call.plugin}
    kept = {name: value for name, value in named.items() if value}
    return {"effect": "allow", **kept, "agent": session.row.agent}


async def _add(request: Request, form: FormData) -> Response:
    rule = {name: text(form, f"rule-{name}").strip() for name in ("effect", *NAMES, "approvers")}
    try:
        rules = _parsed(text(form, "rules"))
        if not isinstance(rules, list):
            raise Invalid("The draft must be a list of rules.", fields={"rules": "Use [ … ]."})
    except Invalid as refusal:
        return await _again(request, form, refusal, rule=rule)
    made: dict[str, Any] = {name: value for name, value in rule.items() if value}
    if made.get("approvers", "").isdigit():
        made["approvers"] = int(made["approvers"])
    said = "The rule is in the draft below. Nothing is saved yet."
    return await _edit(request, pretty([*rules, made]), form=form, said=said)


async def _try(request: Request, form: FormData) -> Response:
    try:
        tried, warnings = await runtime(request).dry_run_policy(
            person(request), _parsed(text(form, "rules"))
        )
    except StudioError as refusal:
        return await _again(request, form, refusal)
    return await _edit(request, text(form, "rules"), form=form, tried=tried, warnings=warnings)


async def _again(
    request: Request, form: FormData, refusal: StudioError, rule: dict[str, str] | None = None
) -> Response:
    """The same draft with what is wrong about it; everything that was typed is kept."""
    return await _edit(request, text(form, "rules"), form=form, refusal=refusal, rule=rule)


async def _edit(
    request: Request, rules: str, *, expect: int | None = None, form: FormData | None = None,
    refusal: StudioError | None = None, **more: Any,
) -> Response:  # fmt: skip
    current = await reader(request).policy(person(request))
    expected = _expect(form) if form is not None else expect
    view = EditView(
        frame=await frame(request, "Change the policy", nav="policy"),
        policy=current,
        rules=rules,
        note=text(form, "note") if form is not None else "",
        expect=current.version if expected is None else expected,
        error=refusal.message if refusal else "",
        fields=refusal.fields if isinstance(refusal, Invalid) else {},
        **{name: value for name, value in more.items() if value is not None},
    )
    return page(request, EDIT, view, status=errors.status(refusal) if refusal else 200)


def _parsed(rules: str) -> Any:
    try:
        return json.loads(rules)
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}, column {error.colno}: {error.msg}" if isinstance(
            error, json.JSONDecodeError
        ) else "it is nested too deeply"  # fmt: skip
        raise Invalid("The rules are not JSON.", fields={"rules": f"Look at {where}."}) from error


def _expect(form: FormData) -> int | None:
    value = text(form, "expect")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
