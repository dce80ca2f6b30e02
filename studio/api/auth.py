"""Who is asking: an application key in `Authorization: Bearer stk_…`, and how often they may.

Nothing else counts: no cookie, no key in the URL. A key that does not fit is refused and nothing is
tried instead of it.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.requests import Request

from studio.api.errors import Problem
from studio.api.takings import Takings
from studio.core.rules.access import Person
from studio.core.rules.errors import Unknown
from studio.core.runtime import Runtime

KEY_IN_URL = re.compile(rb"stk_[A-Za-z0-9_-]{20}")
PEOPLE_REMEMBERED = 10_000


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What one key may ask for: so many requests a second, so many at once, so many streams.

    `takings_each` are OTLP requests of one key that are in hand at once, `takings` those of all
    keys whose body is there: each may be large.
    """

    a_second: float = 500.0
    at_once: int = 2_000
    streams: int = 100
    takings_each: int = 8
    takings: int = 16


async def person_of(request: Request, runtime: Runtime) -> Person:
    """Who the request's key speaks for; raises Unknown."""
    header = request.headers.getlist("authorization")
    if not header:
        raise Unknown(
            "Send an application key as Authorization: Bearer stk_… An admin makes one with "
            "`studio keys make`.",
            code="key.missing",
        )
    kind, _, plain = header[0].partition(" ")
    if len(header) > 1 or kind.lower() != "bearer":
        raise Unknown("Send one Authorization header, with Bearer and a key.", code="key.invalid")
    person = await runtime.person_of_key(plain.strip()) if plain.isascii() else None
    if person is None:
        raise Unknown("This application key is not known, or was revoked.", code="key.invalid")
    return person


def refuse_key_in_url(request: Request) -> None:
    """A key in a URL ends up in logs and histories, so it is refused, not used."""
    scope = request.scope
    if KEY_IN_URL.search(scope.get("query_string", b"") + scope["path"].encode()):
        raise Problem(
            400, "key.in_url",
            "There is an application key in the URL, where logs keep it. Revoke it, and send the "
            "new one in the Authorization header.",
        )  # fmt: skip


class Gate:
    """Counts what each key asks for. Bounded: the one heard longest ago is forgotten first."""

    def __init__(self, rates: Rates, monotonic: Callable[[], float]) -> None:
        self._rates, self._now = rates, monotonic
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._streams: Counter[str] = Counter()
        self.takings = Takings(each=rates.takings_each, most=rates.takings)

    def pass_one(self, person: Person) -> None:
        """Let one request pass, or raise 429 with the time to wait."""
        now = self._now()
        left, since = self._left.pop(person.actor, (float(self._rates.at_once), now))
        left = min(self._rates.at_once, left + (now - since) * self._rates.a_second)
        self._left[person.actor] = (max(left - 1, 0), now)
        if len(self._left) > PEOPLE_REMEMBERED:
            self._left.popitem(last=False)
        if left < 1:
            wait = max(1, round((1 - left) / self._rates.a_second + 0.5))
            raise _too_many(f"more than {self._rates.a_second:g} requests a second", wait)

    @contextmanager
    def stream(self, person: Person) -> Iterator[None]:
        """Hold one of the key's streams while it is open."""
        if self._streams[person.actor] >= self._rates.streams:
            raise _too_many(f"more than {self._rates.streams} streams at once", 5)
        self._streams[person.actor] += 1
        try:
            yield
        finally:
            self._streams[person.actor] -= 1
            if not self._streams[person.actor]:
                del self._streams[person.actor]


def _too_many(what: str, wait: int) -> Problem:
    return Problem(
        429, "rate.limited", f"This key asks for {what}. Wait and try again.",
        headers={"Retry-After": str(wait)}, details={"retry_after": wait},
    )  # fmt: skip
