"""What can go wrong, by what the caller must understand; `code` says it more exactly.

    StudioError
      NotReached      no answer came: the server is down, or the network is
      OperationFailed what was asked of a disk was tried, and nothing changed
      NotDone         it is not over yet, and you would wait no longer
      ApiError        an answer came, and it was no
        Unknown  401   Denied 403   NotFound 404   Refused 409   Gone 410   TooLarge 413
        Invalid  400 422            TooMany  429   Unavailable 502 503 504

Under `Refused`: TurnRunning, DecisionChanged, Decided, IdempotencyMismatch, and Changed 412. Under
`Gone`: Expired.
"""

from collections.abc import Mapping
from typing import Any


class StudioError(Exception):
    """Base of everything this package raises."""


class NotReached(StudioError):
    """No answer came. A verb without an idempotency key may have been done all the same."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class OperationFailed(StudioError):
    """What was asked of a disk failed, and nothing changed; `code` and `message` say why."""

    def __init__(self, message: str, *, code: str, operation: str) -> None:
        super().__init__(message)
        self.message, self.code, self.operation = message, code, operation


class NotDone(StudioError):
    """An operation is not over within the time that was given; it goes on all the same."""

    def __init__(self, operation: str, seconds: float) -> None:
        self.message = f"The operation {operation} is not over after {seconds:g} s; it goes on."
        super().__init__(self.message)
        self.operation = operation


class ApiError(StudioError):
    """The server said no: `status`, a stable `code`, a `message` for a person, `details`."""

    def __init__(
        self, message: str, *, status: int, code: str, details: Mapping[str, Any] | None = None,
        request_id: str = "", retry_after: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.message, self.status, self.code = message, status, code
        self.details = dict(details or {})
        self.request_id, self.retry_after = request_id, retry_after

    @property
    def fields(self) -> dict[str, str]:
        """A sentence for every faulty field, by its dotted path."""
        fields = self.details.get("fields")
        return fields if isinstance(fields, dict) else {}


class Unknown(ApiError):
    """The key is missing, unknown or revoked."""


class Denied(ApiError):
    """The key's role does not reach this."""


class NotFound(ApiError):
    """It does not exist, or this key may not know that it does."""


class Refused(ApiError):
    """The rules say no, and `code` says which one."""


class Changed(Refused):
    """Somebody changed it since the version that you looked at; read it again."""


class TurnRunning(Refused):
    """A turn is in hand; `details["offers"]` says what one may do about it."""


class DecisionChanged(Refused):
    """What was shown is not what would run; read the approval again."""


class Decided(Refused):
    """Somebody was first; `by`, `choice` and `at` say who, what and when."""

    @property
    def by(self) -> str:
        """Who decided."""
        return str(self.details.get("by", ""))

    @property
    def choice(self) -> str:
        """What they decided."""
        return str(self.details.get("choice", ""))

    @property
    def at(self) -> str:
        """When, as RFC 3339 text."""
        return str(self.details.get("at", ""))


class IdempotencyMismatch(Refused):
    """The key was used before, for another request."""


class Gone(ApiError):
    """It was there and is over."""


class Expired(Gone):
    """The deadline passed before the decision came."""


class TooLarge(ApiError):
    """It is over a limit that is written down."""


class Invalid(ApiError):
    """What was sent does not make sense; `fields` says what of it."""


class TooMany(ApiError):
    """Too many requests; `retry_after` says how many seconds to wait."""


class Unavailable(ApiError):
    """The server cannot answer now."""


BY_STATUS: dict[int, type[ApiError]] = {
    400: Invalid, 401: Unknown, 403: Denied, 404: NotFound, 409: Refused, 410: Gone,
    412: Changed, 413: TooLarge, 422: Invalid, 429: TooMany, 502: Unavailable, 503: Unavailable,
    504: Unavailable,
}  # fmt: skip
BY_CODE: dict[str, type[ApiError]] = {
    "turn.running": TurnRunning,
    "decision.changed": DecisionChanged,
    "decision.decided": Decided,
    "decision.expired": Expired,
    "idempotency.mismatch": IdempotencyMismatch,
}


def of_answer(status: int, headers: Mapping[str, str], body: Any) -> ApiError:
    """The error of an answer that is not a success."""
    fault = body.get("error") if isinstance(body, dict) else None
    known = fault if isinstance(fault, dict) else {}
    code = str(known.get("code", f"http.{status}"))
    kind = BY_CODE.get(code) or BY_STATUS.get(status, ApiError)
    details = known.get("details")
    return kind(
        str(known.get("message", f"The server answered {status}, and not as the studio does.")),
        status=status, code=code, details=details if isinstance(details, dict) else {},
        request_id=headers.get("request-id", ""), retry_after=seconds(headers.get("retry-after")),
    )  # fmt: skip


def seconds(text: str | None) -> float | None:
    """Retry-After in seconds; a date there is taken as unsaid."""
    return float(text) if text and text.isascii() and text.isdecimal() and len(text) < 7 else None
