"""What the proxy itself answers: a status, and a small JSON that tells a model what to do."""

import json

from studio.core.network import hosts

_PHRASES = {
    400: "Bad Request", 403: "Forbidden", 431: "Request Header Fields Too Large",
    502: "Bad Gateway", 504: "Gateway Timeout",
}  # fmt: skip
_CODES = {403: "egress.refused", 502: "egress.failed", 504: "egress.failed"}


class Declined(Exception):
    """The proxy does not do what was asked. `reason` is for the record, `words` for the model."""

    def __init__(self, status: int, reason: str, words: str) -> None:
        super().__init__(reason)
        self.status, self.reason, self.words = status, reason, words

    def answer(self, host: str, port: int) -> bytes:
        """The whole answer; the connection ends with it."""
        told: dict[str, str | int] = {
            "error": _CODES.get(self.status, "egress.bad_request"),
            "message": self.words,
        }
        if host:
            told |= {"host": host, "port": port}
        body = json.dumps(told).encode() + b"\n"
        head = (
            f"HTTP/1.1 {self.status} {_PHRASES[self.status]}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


def not_allowed(host: str, port: int) -> Declined:
    """The place is not on the list."""
    place = hosts.place(host, port)
    words = (
        f"This environment may not reach {place}. There is no other way out: ask the operator to"
        f" add {place} to the network allow-list of this environment, or go on without it."
    )
    return Declined(403, "It is not on the allow-list of this environment.", words)


def forbidden(why: str) -> Declined:
    """The place is on the list, and stands where nothing may reach."""
    words = f"{why} The allow-list cannot change that; tell the operator, or go on without it."
    return Declined(403, why, words)


def failed(why: str, status: int = 502) -> Declined:
    """The place may be reached and was not, or gave no answer that can be read."""
    words = f"{why} The place is allowed; check its name, or try again later."
    return Declined(status, why, words)


def unreadable(why: str) -> Declined:
    """The request cannot be read in one way alone."""
    return Declined(400, why, f"{why} Nothing was sent.")
