"""Operator Studio's API from outside: `Client` and `AsyncClient`, typed, needing only httpx.

Each request is described once, as a `Call` (see `agents sessions approvals policy keys server`),
and driven by either client. What is safe to repeat is repeated when the network or the server asks
for it; every other failure is a typed error.

    with Client("http://127.0.0.1:8321", key="stk_…") as studio:
        session = studio.sessions.start("release-assistant", message="Publish 1.2")
        for event in studio.sessions.follow(session["session_id"]):
            ...
"""

from api_client.call import ABSENT, Call
from api_client.client import AsyncClient, Client
from api_client.errors import (
    ApiError,
    Changed,
    Decided,
    DecisionChanged,
    Denied,
    Expired,
    Gone,
    IdempotencyMismatch,
    Invalid,
    NotDone,
    NotFound,
    NotReached,
    OperationFailed,
    Refused,
    StudioError,
    TooLarge,
    TooMany,
    TurnRunning,
    Unavailable,
    Unknown,
)

__all__ = [
    "ABSENT",
    "ApiError",
    "AsyncClient",
    "Call",
    "Changed",
    "Client",
    "Decided",
    "DecisionChanged",
    "Denied",
    "Expired",
    "Gone",
    "IdempotencyMismatch",
    "Invalid",
    "NotDone",
    "NotFound",
    "NotReached",
    "OperationFailed",
    "Refused",
    "StudioError",
    "TooLarge",
    "TooMany",
    "TurnRunning",
    "Unavailable",
    "Unknown",
]
