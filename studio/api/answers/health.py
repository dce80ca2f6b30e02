"""Whether the studio is up, and the one shape of every fault."""

from dataclasses import dataclass

from studio.api.shapes import JSON


@dataclass(frozen=True, kw_only=True)
class Health:
    """The process answers."""

    status: str


@dataclass(frozen=True, kw_only=True)
class Ready:
    """Whether requests can be served now."""

    ready: bool


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What went wrong. `code` is stable; `message` is for a person; `details` is for a program."""

    code: str
    message: str
    details: dict[str, JSON]


@dataclass(frozen=True, kw_only=True)
class Error:
    """The body of every answer that is not a success."""

    error: Fault
