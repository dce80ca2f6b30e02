"""The timeline of an environment: which stretch of time is meant, and what happened in it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlencode

from starlette.requests import Request

from studio.core.projections.environment_times import EnvironmentTimes
from studio.core.projections.environments import EnvironmentView
from studio.web import environment_axis, filtering
from studio.web.environment_axis import Drawing
from studio.web.filtering import Fault, Wrong
from studio.web.visit import person, reader

MINUTE, HOUR = 60_000, 3_600_000
SPANS = {"hour": HOUR, "day": 24 * HOUR, "week": 7 * 24 * HOUR, "all": 2**50}


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The side of the page. `since` and `until` are ms, None where the URL does not say."""

    found: EnvironmentTimes
    drawing: Drawing
    since: int | None
    until: int | None
    span: str
    spans: tuple[str, ...] = tuple(SPANS)
    wrong: Wrong = field(default_factory=dict[str, Fault])

    @property
    def query(self) -> str:
        """How this very stretch is asked for."""
        kept = {
            "tab": "timeline", "from": written(self.since), "to": written(self.until),
            "span": "" if self.since is not None or self.span == "day" else self.span,
        }  # fmt: skip
        kept |= {name: fault.typed for name, fault in self.wrong.items()}
        return urlencode({name: word for name, word in kept.items() if word})

    @property
    def earlier(self) -> str:
        """The stretch before this one, as long; "" when nothing was there yet."""
        long = self.found.until - self.found.since
        return _between(self.found.since - long, self.found.since) if self._has_before else ""

    @property
    def later(self) -> str:
        """The stretch behind this one, as long; "" when this is the newest."""
        long = self.found.until - self.found.since
        return "" if self.found.is_newest else _between(self.found.until, self.found.until + long)

    @property
    def _has_before(self) -> bool:
        return self.found.since > self.found.made

    @property
    def folded(self) -> tuple[int, ...]:
        """How long each folded stretch is, in ms."""
        return tuple(one.end - one.start for one in self.drawing.axis if one.is_folded)

    @property
    def fields(self) -> tuple[str, str]:
        """What stands in the fields of the two moments, UTC: whole minutes around the stretch."""
        until = -(-self.found.until // MINUTE) * MINUTE
        return written(self.found.since)[:16], written(until)[:16]


async def read(request: Request, it: EnvironmentView) -> Timeline:
    """The stretch that the URL asks for; what is no moment asks for nothing, and it is said."""
    kept, wrong = filtering.read(request, CHECKS)
    since, until, span = _moment(kept["from"]), _moment(kept["to"]), kept["span"] or "day"
    if since is not None and until is not None and since >= until:
        words = f"“{kept['from']}” is not before “{kept['to']}”. {filtering.WITHOUT}"
        wrong["from"], since = Fault(typed=kept["from"], message=words), None
    found = await reader(request).environment_times(
        person(request), it.row.id, since=since, until=until, length=SPANS[span]
    )
    url = f"/environments/{it.row.id}"
    return Timeline(
        found=found, drawing=environment_axis.drawing(found, url), since=since, until=until,
        span=span, wrong=wrong,
    )  # fmt: skip


def written(moment: int | None) -> str:
    """`2026-11-30T17:00:00.000Z`; "" for none."""
    if moment is None:
        return ""
    return datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"


def _between(since: int, until: int) -> str:
    return urlencode({"tab": "timeline", "from": written(max(since, 0)), "to": written(until)})


def _moment(word: str) -> int | None:
    """ms; a moment without a zone is UTC."""
    try:
        found = datetime.fromisoformat(word) if len(word) < 40 else None
    except ValueError:
        return None
    if found is None:
        return None
    found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    try:
        moment = int(found.timestamp() * 1000)
    except (OverflowError, ValueError):
        return None
    return moment if 0 <= moment < 2**45 else None


def _is_moment(word: str) -> str:
    said = "is no moment between 1970 and 3084: write it as 2026-11-30T17:00 (UTC)."
    return "" if _moment(word) is not None else said


CHECKS: dict[str, filtering.Read] = {
    "from": _is_moment, "to": _is_moment, "span": filtering.one_of("stretch", tuple(SPANS)),
}  # fmt: skip
