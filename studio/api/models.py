"""Models: providers saved in the studio, tried, removed; the default model; probes."""

from dataclasses import asdict
from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api.endpoint import Answer, Ask, Endpoint, Link
from studio.api.shapes import Absent
from studio.core.rules.errors import Invalid


async def index(ask: Ask[b.NoQuery, b.NoBody]) -> a.Models:
    """Every saved provider, and the default."""
    found = await ask.reader.models(ask.person)
    items = tuple(
        a.take(
            a.SavedProvider, view, **{**view.saved.data, "models": view.saved.models},
            test=a.take(a.Probe, view.test) if view.test else None,
        )
        for view in found.providers
    )  # fmt: skip
    default = a.DefaultModel(**found.default) if found.default else None
    return a.Models(items=items, default=default)


async def save(ask: Ask[b.NoQuery, b.NewProvider]) -> None:
    """Save a provider; its key is in no answer."""
    given = asdict(ask.body)
    key = given.pop("key")
    described = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value is not None
    }
    await ask.runtime.save_provider(
        ask.person, {"name": ask.part("name"), **described},
        None if isinstance(ask.body.key, Absent) else key,
    )  # fmt: skip


async def remove(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Remove a provider with its key."""
    await ask.runtime.remove_provider(ask.person, ask.part("name"))


async def test(ask: Ask[b.NoQuery, b.NewTest]) -> Answer:
    """Have a worker ask a model; the probe tells what came of it."""
    probe_id = await ask.runtime.test_model(ask.person, ask.part("name"), ask.body.model)
    probe = a.take(a.Probe, await ask.reader.probe(ask.person, probe_id))
    return Answer(value=probe, headers={"Location": f"/v1/probes/{probe_id}"})


async def default(ask: Ask[b.NoQuery, b.NewDefaultModel]) -> None:
    """Choose the model of agents that name none."""
    if ask.body.model and not ask.body.provider:
        raise Invalid("A model needs its provider.", fields={"provider": "is needed"})
    await ask.runtime.choose_default_model(ask.person, ask.body.provider, ask.body.model)


async def probe(ask: Ask[b.NoQuery, b.NoBody]) -> a.Probe:
    """How a look at something outside stands."""
    return a.take(a.Probe, await ask.reader.probe(ask.person, ask.part("id")))


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_models", method="GET", path="/models", call=index, gives=a.Models,
        errors=(503,), says="List saved providers with their models, and the default.",
    ),
    Endpoint(
        name="save_provider", method="PUT", path="/models/{name}", call=save, gives=None,
        status=204, body=b.NewProvider, errors=(503,),
        says="Save a provider; without a key it keeps its own, at the same address.",
    ),
    Endpoint(
        name="remove_provider", method="DELETE", path="/models/{name}", call=remove, gives=None,
        status=204, errors=(409,), says="Remove a provider that nothing needs.",
    ),
    Endpoint(
        name="test_model", method="POST", path="/models/{name}/tests", call=test, gives=a.Probe,
        status=202, body=b.NewTest, body_required=False, errors=(409,),
        says="Have a worker ask a model something short.",
        links=(Link(to="show_probe", part="id", value="$response.body#/id"),),
    ),
    Endpoint(
        name="choose_default_model", method="PUT", path="/default-model", call=default, gives=None,
        status=204, body=b.NewDefaultModel, errors=(404,),
        says="Choose the model of new sessions whose agent names none.",
    ),
    Endpoint(
        name="show_probe", method="GET", path="/probes/{id}", call=probe, gives=a.Probe,
        says="How a look at something outside stands, and what it found.",
    ),
)  # fmt: skip
