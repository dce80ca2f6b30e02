"""Secrets, for admins: list without values, set, remove, seal anew under another key."""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api.endpoint import Ask, Endpoint


async def index(ask: Ask[b.NoQuery, b.NoBody]) -> a.Secrets:
    """Every secret."""
    return a.Secrets(items=a.take_all(a.Secret, await ask.reader.secrets(ask.person)))


async def put(ask: Ask[b.NoQuery, b.NewSecret]) -> a.SecretSet:
    """Give a secret a value."""
    name = ask.part("name")
    version = await ask.runtime.set_secret(ask.person, name, ask.body.value)
    return a.SecretSet(name=name, version=version)


async def remove(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Remove a secret."""
    await ask.runtime.remove_secret(ask.person, ask.part("name"))


async def rotate(ask: Ask[b.NoQuery, b.NoBody]) -> a.SecretsRotated:
    """Seal every secret under a new key."""
    return a.SecretsRotated(count=await ask.runtime.rotate_secrets(ask.person))


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_secrets", method="GET", path="/secrets", call=index, gives=a.Secrets,
        errors=(503,), says="List secrets, without their values.",
    ),
    Endpoint(
        name="set_secret", method="PUT", path="/secrets/{name}", call=put, gives=a.SecretSet,
        body=b.NewSecret, errors=(503,), says="Give a secret a value; it is never given back.",
    ),
    Endpoint(
        name="remove_secret", method="DELETE", path="/secrets/{name}", call=remove, gives=None,
        status=204, says="Remove a secret.",
    ),
    Endpoint(
        name="rotate_secrets", method="POST", path="/secrets/rotation", call=rotate,
        gives=a.SecretsRotated, errors=(503,),
        says="Make a new key and seal every secret under it.",
    ),
)  # fmt: skip
