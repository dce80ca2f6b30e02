"""Calls about saved providers of models, for admins but for the list. A key only ever goes in."""

from typing import Any

from api_client.call import ABSENT, Absent, Call, get, given, part
from api_client.shapes import Models, Probe


def index() -> Call[Models]:
    """Every saved provider, and the default model."""
    return get("/v1/models")


def save(
    name: str, *, kind: str, models: list[str], base_url: str = "", key: str | Absent = ABSENT,
    **known: Any,
) -> Call[None]:  # fmt: skip
    """Save a provider. `known` may be reads, context_window, prices; without a key it keeps its."""
    body = given(kind=kind, models=models, base_url=base_url, key=key, **known)
    return Call(method="PUT", path=f"/v1/models/{part(name)}", body=body)


def remove(name: str) -> Call[None]:
    """Remove a provider with its key."""
    return Call(method="DELETE", path=f"/v1/models/{part(name)}")


def ask(name: str, model: str = "") -> Call[Probe]:
    """Have a worker ask a model something short; `probe` tells what came of it."""
    return Call(method="POST", path=f"/v1/models/{part(name)}/tests", body={"model": model})


def default(provider: str, model: str = "") -> Call[None]:
    """Choose the model of agents that name none; "" for none."""
    body = {"provider": provider, "model": model}
    return Call(method="PUT", path="/v1/default-model", body=body)


def probe(probe_id: str) -> Call[Probe]:
    """How a look at something outside stands."""
    return get(f"/v1/probes/{part(probe_id)}")
