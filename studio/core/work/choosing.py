"""Choosing: which model of an agent's chain is asked, with what opens it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from studio.core.providers.provider import ProviderError
from studio.core.providers.shelf import Shelf
from studio.core.rules import models


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The candidate that is asked: `written` as in the manifest, `model` resolved, or `broken`."""

    provider: str
    candidates: tuple[Mapping[str, Any], ...]
    written: Mapping[str, Any]
    model: Mapping[str, Any] = field(repr=False)
    broken: ProviderError | None = None


async def choose(shelf: Shelf, own: Mapping[str, Any], candidate: int) -> Chosen:
    """The candidate of the chain of a manifest's model object, resolved."""
    candidates = models.chain(own)
    written = candidates[min(candidate, len(candidates) - 1)]
    model, broken = written, None
    try:
        model = await shelf.resolved(written)
    except ProviderError as error:  # told once the attempt is recorded
        broken = error
    return Chosen(
        provider=str(written.get("provider", "")), candidates=candidates, model=model,
        written=own if candidate == 0 else written, broken=broken,
    )  # fmt: skip
