"""Calls about the server itself; these need no key."""

from api_client.call import Call, get
from api_client.shapes import Health, Ready


def health() -> Call[Health]:
    """Whether the process answers."""
    return get("/v1/health")


def ready() -> Call[Ready]:
    """Whether requests can be served."""
    return get("/v1/ready")
