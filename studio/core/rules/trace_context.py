"""Where in somebody's trace a command came from: W3C Trace Context, read from its two headers.

A header that is not as the recommendation says counts as absent, as it asks for: a command is never
refused for it. A `tracestate` counts only beside a sound `traceparent`.
"""

import re
from collections.abc import Sequence

from studio.core.rules.events import Caller

MOST_MEMBERS = 32
MOST_STATE = 4_096  # characters; 512 must be passed on at least
_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_KEY = re.compile(
    r"[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13}|[a-z][a-z0-9_\-*/]{0,255}"
)
_VALUE = re.compile(r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]")
SAMPLED = 1


def caller(parents: Sequence[str], states: Sequence[str] = ()) -> Caller | None:
    """Who called, from every `traceparent` and `tracestate` header; None when none is sound."""
    found = _PARENT.fullmatch(parents[0].strip(" \t")) if len(parents) == 1 else None
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not trace_id.strip("0"):
        return None
    if not span_id.strip("0"):
        return None
    return Caller(
        trace_id=trace_id, span_id=span_id, sampled=bool(int(flags, 16) & SAMPLED),
        state=_state(states),
    )  # fmt: skip


def _state(headers: Sequence[str]) -> str:
    """The members in one line, or "" when one of them is wrong."""
    members = [item.strip(" \t") for item in ",".join(headers).split(",")]
    members = [item for item in members if item]
    keys = [item.partition("=")[0] for item in members]
    is_sound = len(members) <= MOST_MEMBERS and len(set(keys)) == len(keys)
    text = ",".join(members)
    return text if is_sound and len(text) <= MOST_STATE and all(map(_is_member, members)) else ""


def _is_member(item: str) -> bool:
    key, mark, value = item.partition("=")
    return bool(mark and _KEY.fullmatch(key) and _VALUE.fullmatch(value))
