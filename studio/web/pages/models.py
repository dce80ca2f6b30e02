"""Models: providers with their keys, tried with one click; which of them are used, and by whom."""

import re
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import ModelsView
from studio.core.rules.errors import Invalid, StudioError
from studio.core.rules.models import PRICES, READS
from studio.core.rules.saved import KINDS, Saved
from studio.web import errors
from studio.web.render import Frame, block, frame, page
from studio.web.visit import asked, may, onward, person, reader, runtime, text, typed

INDEX = "models/index.html"


@dataclass(frozen=True, kw_only=True)
class ListView:
    """All saved providers, and the form for one: new, or `editing` with what it says now."""

    frame: Frame
    models: ModelsView
    may_edit: bool
    editing: str = ""
    typed: dict[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = KINDS
    reads: tuple[str, ...] = READS
    prices: tuple[str, ...] = PRICES
    error: str = ""
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def has_key(self) -> bool:
        """The provider that is edited has a key."""
        return any(
            item.has_key for item in self.models.providers if item.saved.name == self.editing
        )


async def index(request: Request) -> Response:
    """GET /models; `?edit=NAME` fills the form with what is saved."""
    view = await _view(request, editing=asked(request, "edit"))
    if asked(request, "region") == "list":
        return block(request, INDEX, "list", view)
    return page(request, INDEX, view)


async def save(request: Request) -> Response:
    """POST /models: the key goes in and never comes out."""
    form = await typed(request)
    key = text(form, "key").strip()
    taken = "" if text(form, "no_key") else None
    try:
        await runtime(request).save_provider(person(request), _described(form), key or taken)
    except StudioError as refusal:
        said = {name: value for name, value in form.items() if isinstance(value, str)}
        said |= {f"reads_{word}": "true" for word in READS if text(form, f"reads_{word}")}
        view = await _view(
            request, editing=text(form, "editing"), said={**said, "key": ""}, refusal=refusal
        )
        return page(request, INDEX, view, status=errors.status(refusal))
    return onward(request, "/models")


async def remove(request: Request) -> Response:
    """POST /models/{name}/removal."""
    return await _done(request, runtime(request).remove_provider(person(request), _name(request)))


async def test(request: Request) -> Response:
    """POST /models/{name}/test: asks for it; the answer appears when a worker has it."""
    form = await typed(request)
    act = runtime(request).test_model(person(request), _name(request), text(form, "model"))
    return await _done(request, act)


async def default(request: Request) -> Response:
    """POST /models/default."""
    provider, _, model = text(await typed(request), "model").partition("/")
    act = runtime(request).choose_default_model(person(request), provider, model)
    return await _done(request, act)


async def _done(request: Request, act: Any) -> Response:
    """Carry it out; a refusal is said on the page itself."""
    try:
        await act
    except StudioError as refusal:
        view = await _view(request, refusal=refusal)
        return page(request, INDEX, view, status=errors.status(refusal))
    return onward(request, "/models")


def _name(request: Request) -> str:
    return str(request.path_params["name"])


async def _view(
    request: Request, *, editing: str = "", said: dict[str, str] | None = None,
    refusal: StudioError | None = None,
) -> ListView:  # fmt: skip
    position = await reader(request).position()
    found = await reader(request).models(person(request))
    shown = [item.saved for item in found.providers if item.saved.name == editing]
    return ListView(
        frame=await frame(request, "Models", nav="models", live=f"/live/models?after={position}"),
        models=found,
        may_edit=may(request, "admin"),
        editing=editing if shown else "",
        typed=said if said is not None else _typed(shown[0]) if shown else {},
        error=refusal.message if refusal else "",
        fields=refusal.fields if isinstance(refusal, Invalid) else {},
    )


def _typed(saved: Saved) -> dict[str, str]:
    """A saved provider as the form has it."""
    return {
        "name": saved.name, "kind": saved.kind, "base_url": saved.base_url,
        "models": "\n".join(saved.models),
        "context_window": str(saved.context_window or ""),
        **{f"reads_{word}": "true" for word in saved.reads},
        **{f"price_{kind}": f"{price:g}" for kind, price in saved.prices.items()},
    }  # fmt: skip


def _described(form: FormData) -> dict[str, Any]:
    """What the form says, as the rule reads it."""
    said: dict[str, Any] = {name: text(form, name).strip() for name in ("name", "kind", "base_url")}
    said["models"] = [name for name in re.split(r"[\s,]+", text(form, "models")) if name]
    said["reads"] = [word for word in READS if text(form, f"reads_{word}")]
    if window := text(form, "context_window").replace(",", "").strip():
        said["context_window"] = int(window) if window.isascii() and window.isdigit() else window
    prices = {kind: _price(text(form, f"price_{kind}").strip()) for kind in PRICES}
    said["prices"] = {kind: price for kind, price in prices.items() if price is not None}
    return said


def _price(words: str) -> float | str | None:
    if not words:
        return None
    return float(words) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", words) else words
