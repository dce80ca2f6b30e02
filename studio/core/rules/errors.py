"""The error tree, named by what the caller must understand.

    StudioError
      NotFound      it does not exist, or you may not know that it does      404
      Invalid       what you sent does not make sense; a message per field   422
      TooLarge      it is over a limit that is written down                  413
      Refused       the rules say no, and which one                          409
        Changed     somebody changed it since you looked                     412
      Denied        you may not                                              403
      Unknown       nobody has said who you are                              401
      Gone          it was there and is over                                 410
      Unavailable   the outside world, or our own disk, failed us            503

Errors know nothing of HTTP; the status column lives in `web.errors` and `api.errors`. `code` is
stable and for programs; the message is for the person: what, why, what next.
"""

from collections.abc import Mapping
from typing import Any


class StudioError(Exception):
    """Base of every error a caller may be shown.

    `code` is a stable dotted word, `details` is JSON that a program can act on.
    """

    code = "error"

    def __init__(
        self, message: str, *, code: str | None = None, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.details: dict[str, Any] = dict(details or {})


class NotFound(StudioError):
    """It does not exist, or you may not know that it does."""

    code = "not_found"


class Invalid(StudioError):
    """What was sent does not make sense. `fields` maps a dotted path to a sentence."""

    code = "invalid"

    def __init__(
        self,
        message: str,
        *,
        fields: Mapping[str, str] | None = None,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self.fields = dict(fields or {})
        super().__init__(
            message,
            code=code,
            details={**(details or {}), **({"fields": self.fields} if self.fields else {})},
        )


class TooLarge(StudioError):
    """It is over a limit that is written down."""

    code = "too_large"


class Refused(StudioError):
    """The rules say no, and `code` says which one."""

    code = "refused"


class Changed(Refused):
    """Somebody changed it since the version that you looked at (If-Match, RFC 9110, 13.1.1)."""

    code = "changed"


class Denied(StudioError):
    """You may not."""

    code = "denied"


class Unknown(StudioError):
    """Nobody has said who you are."""

    code = "unknown"


class Gone(StudioError):
    """It was there and is over."""

    code = "gone"


class Unavailable(StudioError):
    """The outside world, or our own disk, failed us; trying again later may work."""

    code = "unavailable"
