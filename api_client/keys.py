"""Calls about application keys, for admins."""

from api_client.call import Call, get, given, part
from api_client.shapes import Keys, MadeKey


def index() -> Call[Keys]:
    """Every application key."""
    return get("/v1/keys")


def make(name: str, *, role: str = "operator") -> Call[MadeKey]:
    """Make a key; it is shown this once."""
    return Call(method="POST", path="/v1/keys", body=given(name=name, role=role))


def revoke(key_id: str) -> Call[None]:
    """Revoke a key."""
    return Call(method="DELETE", path=f"/v1/keys/{part(key_id)}")
