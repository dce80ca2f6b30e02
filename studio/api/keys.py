"""Application keys, for admins: list, make, revoke."""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api.endpoint import Answer, Ask, Endpoint, Link


async def index(ask: Ask[b.NoQuery, b.NoBody]) -> a.Keys:
    """Every key."""
    return a.Keys(items=a.take_all(a.Key, await ask.reader.keys(ask.person)))


async def make(ask: Ask[b.NoQuery, b.NewKey]) -> Answer:
    """Make a key; it is in this answer and nowhere else."""
    key_id, plain = await ask.runtime.make_key(ask.person, ask.body.name, ask.body.role)
    made = a.MadeKey(id=key_id, key=plain, name=ask.body.name.strip(), role=ask.body.role)
    return Answer(value=made, headers={"Location": f"/v1/keys/{key_id}"})


async def revoke(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Revoke a key; again is no error."""
    await ask.runtime.revoke_key(ask.person, ask.part("id"))


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_keys", method="GET", path="/keys", call=index, gives=a.Keys,
        says="List application keys.",
    ),
    Endpoint(
        name="make_key", method="POST", path="/keys", call=make, gives=a.MadeKey, status=201,
        body=b.NewKey, errors=(409,), says="Make an application key; it is shown once.",
        links=(Link(to="revoke_key", part="id", value="$response.body#/id"),),
    ),
    Endpoint(
        name="revoke_key", method="DELETE", path="/keys/{id}", call=revoke, gives=None,
        status=204, says="Revoke an application key.",
    ),
)  # fmt: skip
