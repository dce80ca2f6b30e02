"""Saved views of lists."""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api import export_bodies as xb
from studio.api.endpoint import Answer, Ask, Endpoint, Link


async def index(ask: Ask[xb.ViewsQuery, b.NoBody]) -> a.Views:
    """One's own, and those that are shared."""
    found = await ask.reader.views(ask.person, ask.query.list)
    return a.Views(items=a.take_all(a.View, found.items), left_out=found.left_out)


async def save(ask: Ask[b.NoQuery, xb.NewView]) -> Answer:
    """Keep filters under a name."""
    body = ask.body
    view_id = await ask.runtime.save_view(
        ask.person, list=body.list, name=body.name, query=body.query, shared=body.shared
    )
    view = a.take(a.View, await ask.reader.view(ask.person, view_id))
    return Answer(value=view, headers={"Location": f"/v1/views/{view_id}"})


async def change(ask: Ask[b.NoQuery, xb.NewViewChange]) -> a.View:
    """Another name, other filters, shared or not."""
    body, view_id = ask.body, ask.part("id")
    await ask.runtime.change_view(
        ask.person, view_id, name=body.name, query=body.query, shared=body.shared
    )
    return a.take(a.View, await ask.reader.view(ask.person, view_id))


async def remove(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Take a view away."""
    await ask.runtime.remove_view(ask.person, ask.part("id"))


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_views", method="GET", path="/views", call=index, gives=a.Views,
        query=xb.ViewsQuery, says="List saved views: one's own, and those that are shared.",
    ),
    Endpoint(
        name="save_view", method="POST", path="/views", call=save, gives=a.View, status=201,
        body=xb.NewView, errors=(409,), says="Keep the filters of a list under a name.",
        links=tuple(
            Link(to=name, part="id", value="$response.body#/id")
            for name in ("change_view", "remove_view")
        ),
    ),
    Endpoint(
        name="change_view", method="PUT", path="/views/{id}", call=change, gives=a.View,
        body=xb.NewViewChange, errors=(409,),
        says="Rename a view, give it other filters, share it or take it back.",
    ),
    Endpoint(
        name="remove_view", method="DELETE", path="/views/{id}", call=remove, gives=None,
        status=204, says="Delete a view.",
    ),
)  # fmt: skip
