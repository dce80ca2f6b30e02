"""Saved providers: where models are, which of them are offered, what is known of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from studio.core.rules import models, sources
from studio.core.rules.errors import Invalid
from studio.core.rules.reading import Faults, Reader, top

OWNER = "models"  # of the keys of saved providers
KINDS = ("anthropic", "openai", "google", "chat")
MOST_MODELS = 100
RESERVED = (*models.PROVIDERS, "default")
FIELDS = ("name", "kind", "base_url", "models", "reads", "context_window", "prices")


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A provider saved in the studio. What is None or empty is known by the model's name, or not.

    `reads`, `context_window` (tokens) and `prices` (US dollars for a million tokens) hold for each
    of its `models`, the first of which is taken when none is named.
    """

    name: str
    kind: str
    base_url: str = ""
    models: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    context_window: int | None = None
    prices: Mapping[str, float] = field(default_factory=dict)

    @property
    def data(self) -> dict[str, Any]:
        """The whole as JSON."""
        return {**asdict(self), "models": list(self.models), "reads": list(self.reads)}


def parse(value: Any) -> Saved:
    """The provider that a person describes, or Invalid with a sentence for each field."""
    faults = Faults()
    reader = top(value, "", faults)
    if reader is None:
        raise Invalid("A provider is an object.", fields=faults.fields, code="provider.invalid")
    reader.known(*FIELDS)
    name = reader.text("name", most=63, needed=True) or ""
    if name in RESERVED:
        reader.fault("name", f"is a word that means something else: {', '.join(RESERVED)}.")
    elif name and not models.NAME.fullmatch(name):
        reader.fault("name", "must begin with a small letter and hold only a-z, 0-9 and -.")
    kind = reader.one_of("kind", KINDS, needed=True) or ""
    url = reader.text("base_url", most=2_000, least=0) or ""
    if kind == "chat" and not url:
        reader.fault("base_url", "is needed.")
    if url and (fault := sources.url_fault(url)):
        reader.fault("base_url", fault)
    found = Saved(
        name=name, kind=kind, base_url=url, models=_models(reader), reads=_reads(reader),
        context_window=reader.whole("context_window", 256, 100_000_000), prices=_prices(reader),
    )  # fmt: skip
    faults.check("The provider", code="provider.invalid")
    return found


def of_data(data: Mapping[str, Any]) -> Saved:
    """The provider of `Saved.data`."""
    return Saved(**{**data, "models": tuple(data["models"]), "reads": tuple(data["reads"])})


def full(saved: Saved, model: Mapping[str, Any]) -> dict[str, Any]:
    """A model object that names this provider, made whole; what it says itself wins. No key."""
    known = {
        "base_url": saved.base_url, "reads": list(saved.reads), "prices": dict(saved.prices),
        "context_window": saved.context_window, "name": saved.models[0] if saved.models else "",
    }  # fmt: skip
    own = {name: value for name, value in model.items() if value is not None}
    return {**{name: item for name, item in known.items() if item}, **own, "provider": saved.kind}


def named(model: Any) -> set[str]:
    """The providers that a model object names, its fallbacks included."""
    if not isinstance(model, Mapping):
        return set()
    chain = model.get("fallbacks")
    inner = [named(one) for one in chain] if isinstance(chain, list | tuple) else []
    own = {str(model["provider"])} if model.get("provider") else set()
    return own.union(*inner)


def _models(reader: Reader) -> tuple[str, ...]:
    names = reader.words("models", most=MOST_MODELS)
    if len(set(names)) < len(names):
        reader.fault("models", "names a model twice.")
    if not names and "models" not in reader.faults.fields:
        reader.fault("models", "is needed: the name of one model at least, as the provider has it.")
    return names


def _reads(reader: Reader) -> tuple[str, ...]:
    words = reader.words("reads", most=len(models.READS))
    if not set(words) <= set(models.READS):
        reader.fault("reads", f"may name: {', '.join(models.READS)}.")
    return tuple(word for word in models.READS if word in words)


def _prices(reader: Reader) -> dict[str, float]:
    prices = reader.object("prices")
    if prices is None:
        return {}
    prices.known(*models.PRICES)
    found = {kind: prices.number(kind, 0, 100_000) for kind in models.PRICES}
    return {kind: price for kind, price in found.items() if price is not None}
