"""What one span from outside says of itself, and the reasons for which it is not kept.

Times are nanoseconds since 1970, UTC, as the sender's clock had them. Ids are lower-case hex: 32
characters of a trace, 16 of a span (W3C Trace Context).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MIB = 1024 * 1024
MS = 1_000_000
SECOND = 1_000_000_000
DAY = 86_400 * SECOND
EARLIEST = 946_684_800 * SECOND  # 2000-01-01: an earlier clock was never set
AHEAD = DAY  # so far a clock may go before ours
NAME_CHARACTERS = 300
SHOWN = 3  # spans that a reason names
ANSWER_CHARACTERS = 2_000

REASONS: dict[str, str] = {
    "trace_id": "the trace id is not 16 bytes, or is all zeros",
    "span_id": "the span id is not 8 bytes, or is all zeros",
    "parent_id": "the parent's id is neither empty nor 8 bytes",
    "early": "its clock stands before the year 2000",
    "late": "its clock is more than a day ahead",
    "unreadable": "it cannot be decoded",
    "trace_full": "its trace has as many spans as are kept of one",
    "trace_large": "its trace has as many bytes as are kept of one",
    "sender_full": "its sender has as many bytes here as are kept of one sender",
    "too_many": "the request has more spans than are taken at once; send fewer",
}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much is taken and kept: bytes of one request as sent and again unpacked, spans of one
    request and of one trace, bytes of one trace and of all that one sender sent, days and number of
    traces."""

    request_bytes: int = 32 * MIB
    request_spans: int = 20_000
    trace_spans: int = 50_000
    trace_bytes: int = 256 * MIB
    sender_bytes: int = 16_384 * MIB
    days: int = 30
    traces: int = 100_000


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """What is here of one sender: bytes, and its trace that has gone longest without a span (""
    when there is none), with the time (ms) of its last one."""

    kept: int
    oldest: str = ""
    changed: int | None = None

    def told(self, limits: Limits, now: int) -> str:
        """Which bound it stands at and what makes room. `now` is ms."""
        age = ""
        if self.changed is not None:
            days = (now - self.changed) * MS // DAY
            ago = f"{days:,} day{'s' if days > 1 else ''}" if days > 0 else "less than a day"
            age = f" Its oldest trace had its last span {ago} ago."
        return (
            f"Of this sender {_mib(self.kept)} are kept, and at most {_mib(limits.sender_bytes)} "
            f"(STUDIO_OUTSIDE_SENDER_MIB).{age} A trace goes {limits.days:,} days after its last "
            "span (STUDIO_OUTSIDE_DAYS). To make room now, an admin forgets traces of it, one or "
            "all, or whoever runs the studio sets another of the two."
        )


@dataclass(slots=True)
class Claim:
    """One span as it was sent, its values cut to bounds. `end` is 0 when it did not say."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: int
    end: int
    is_error: bool
    message: str
    attributes: Mapping[str, Any]
    service: str
    scope: str
    resource: Mapping[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    cut: dict[str, Any] = field(default_factory=dict)
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """A span that is not kept: the reason's code (see REASONS), and what names the span."""

    code: str
    span: str = ""
    count: int = 1


def wrong_with(claim: Claim, now: int) -> str:
    """The code of the reason for which a span is refused; "" when it is sound. `now` is ns."""
    if not _is_id(claim.trace_id, 32):
        return "trace_id"
    elif not _is_id(claim.span_id, 16):
        return "span_id"
    elif claim.parent_id and len(claim.parent_id) != 16:
        return "parent_id"
    elif claim.start < EARLIEST or 0 < claim.end < EARLIEST:
        return "early"
    elif claim.start > now + AHEAD or claim.end > now + AHEAD:
        return "late"
    return ""


def is_trace_id(text: str) -> bool:
    """It may be the id of a trace, as it is written here."""
    return re.fullmatch("[0-9a-f]{32}", text) is not None


def _is_id(text: str, length: int) -> bool:
    return len(text) == length and text.count("0") != length


def named(claim: Claim) -> str:
    """How a refused span is named: its name, and its id where it has one."""
    return f"“{plain(claim.name, 60)}”" + (f" {claim.span_id[:16]}" if claim.span_id else "")


def told(refusals: Iterable[Refusal]) -> str:
    """Counts and reasons in one text, each with a few of the spans; "" when none was refused."""
    counted, names = Counter[str](), dict[str, list[str]]()
    for one in refusals:
        counted[one.code] += one.count
        shown = names.setdefault(one.code, [])
        if one.span and len(shown) < SHOWN:
            shown.append(one.span)
    parts = []
    for code, count in counted.most_common():
        spans = names[code] + (["…"] if count > len(names[code]) > 0 else [])
        which = f" ({', '.join(spans)})" if spans else ""
        parts.append(f"{count:,} refused because {REASONS[code]}{which}")
    return "; ".join(parts)[:ANSWER_CHARACTERS]


def _mib(size: int) -> str:
    return f"{size / MIB:,.1f} MiB"


def plain(text: str, most: int = NAME_CHARACTERS) -> str:
    """A short text that every store can hold: no NUL, no half of a surrogate pair.

    Blanks alone are no text: nobody could see or press such a name.
    """
    text = "" if text.isspace() else text[:most]
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text.replace("\0", "�")
