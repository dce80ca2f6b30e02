"""The simple fields of an agent's manifest: taken out of it, typed, and put back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData

from studio.core.rules.agent import LIMITS
from studio.web.visit import text

TEXTS = ("name", "description", "instructions")
SHOWN = {
    "steps": "Steps", "calls": "Calls", "active_seconds": "Active seconds",
    "total_seconds": "Seconds in all",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Fields:
    """What the fields hold, as text. `limits` has a text for each limit, "" when it is not set."""

    name: str = ""
    description: str = ""
    instructions: str = ""
    provider: str = ""
    model: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)

    @property
    def limit_rows(self) -> list[tuple[str, str, str]]:
        """(name, words, text) of each limit."""
        return [(name, words, self.limits.get(name, "")) for name, words in SHOWN.items()]


def of(manifest: Any) -> Fields:
    """The fields of a manifest, whatever is wrong with it."""
    value = manifest if isinstance(manifest, Mapping) else {}
    model = value.get("model")
    model = model if isinstance(model, Mapping) else {}
    limits = value.get("limits")
    limits = limits if isinstance(limits, Mapping) else {}
    return Fields(
        **{name: _text(value.get(name)) for name in TEXTS},
        provider=_text(model.get("provider")), model=_text(model.get("name")),
        limits={name: _text(_number(limits.get(name))) for name in LIMITS},
    )  # fmt: skip


def typed(form: FormData) -> Fields:
    """What was typed into them."""
    return Fields(
        **{name: text(form, f"f-{name}") for name in TEXTS}, model=text(form, "f-model").strip(),
        provider=text(form, "f-provider"),
        limits={name: text(form, f"f-{name}").strip() for name in LIMITS},
    )  # fmt: skip


def put(manifest: Any, fields: Fields) -> Any:
    """The manifest with these fields; what they do not know stays as it is."""
    if not isinstance(manifest, Mapping):
        return manifest
    value, now = dict(manifest), of(manifest)
    for name in TEXTS:
        if getattr(fields, name) != getattr(now, name):
            _set(value, name, getattr(fields, name))
    if fields.model != now.model and isinstance(value.get("model"), Mapping):
        model = dict(value["model"])
        _set(model, "name", fields.model)
        value["model"] = model
    changed = {name: new for name, new in fields.limits.items() if new != now.limits[name]}
    if changed:
        limits = dict(value["limits"]) if isinstance(value.get("limits"), Mapping) else {}
        for name, new in changed.items():
            limits[name] = _limit(limits.get(name), new)
        value["limits"] = {name: limit for name, limit in limits.items() if limit is not None}
        if not value["limits"]:
            del value["limits"]
    return value


def _set(value: dict[str, Any], name: str, new: str) -> None:
    if new:
        value[name] = new
    else:
        value.pop(name, None)


def _limit(before: Any, new: str) -> Any:
    """A limit with another number; whether it is hard stays as it was."""
    if not new:
        return None
    number: Any = int(new) if new.isascii() and new.isdigit() and len(new) < 16 else new
    return {**before, "value": number} if isinstance(before, Mapping) else number


def _number(limit: Any) -> Any:
    return limit.get("value") if isinstance(limit, Mapping) else limit


def _text(value: Any) -> str:
    return "" if value is None else str(value)
