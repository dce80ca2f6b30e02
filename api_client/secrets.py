"""Calls about secrets, for admins. A value only ever goes in."""

from api_client.call import Call, get, part
from api_client.shapes import Secrets, SecretSet, SecretsRotated


def index() -> Call[Secrets]:
    """Every secret, without its value."""
    return get("/v1/secrets")


def put(name: str, value: str) -> Call[SecretSet]:
    """Give a secret a value."""
    return Call(method="PUT", path=f"/v1/secrets/{part(name)}", body={"value": value})


def remove(name: str) -> Call[None]:
    """Remove a secret."""
    return Call(method="DELETE", path=f"/v1/secrets/{part(name)}")


def rotate() -> Call[SecretsRotated]:
    """Seal every secret under a new key."""
    return Call(method="POST", path="/v1/secrets/rotation")
