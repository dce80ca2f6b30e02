"""Two turns side by side: their steps aligned, and where they first differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from studio.core.rules.spans import Span, Trace

Change = Literal["same", "arguments", "outcome", "left", "right"]
MOST = 2_000  # spans of a turn that are aligned


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What both turns did at one place, or what only one of them did.

    `change`: same, arguments (called otherwise), outcome (ended otherwise), left or right (only
    there). `is_other`: the arguments differ, whatever else does. `slower` is how many ms longer
    the right one took, `dearer` how many dollars more it cost; None where there is only one, or
    where one is unknown.
    """

    left: Span | None
    right: Span | None
    change: Change
    is_other: bool = False
    slower: int | None = None
    dearer: float | None = None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two turns aligned. `first` is the place of the first difference, None when there is none.

    `is_cut`: one of them goes on behind the first `MOST` spans, which alone were looked at.
    """

    left: Trace
    right: Trace
    pairs: tuple[Pair, ...]
    first: int | None
    is_cut: bool


def compare(left: Trace, right: Trace, hashes: Mapping[str, str]) -> Comparison:
    """Align two turns. `hashes` are of the arguments that ran, by effect id."""
    ones, twos = _steps(left), _steps(right)
    pairs = list[Pair]()
    matcher = SequenceMatcher(
        None, [_key(one) for one in ones[:MOST]], [_key(two) for two in twos[:MOST]], autojunk=False
    )
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            for one, two in zip(ones[a:b], twos[c:d], strict=True):
                pairs.append(_pair(one, two, left.now, right.now, hashes))
        else:
            pairs += [Pair(left=one, right=None, change="left") for one in ones[a:b]]
            pairs += [Pair(left=None, right=two, change="right") for two in twos[c:d]]
    first = next((at for at, pair in enumerate(pairs) if pair.change != "same"), None)
    return Comparison(
        left=left, right=right, pairs=tuple(pairs), first=first,
        is_cut=len(ones) > MOST or len(twos) > MOST,
    )  # fmt: skip


def _steps(trace: Trace) -> list[Span]:
    """What the turn did: not how long it queued, nor its pauses before another try."""
    return [s for s in trace.spans if s.kind != "agent" and s.what not in ("queue", "retry")]


def _key(span: Span) -> tuple[str, str]:
    return (span.kind, span.name)


def _pair(one: Span, two: Span, left_now: int, right_now: int, hashes: Mapping[str, str]) -> Pair:
    change: Change = "same"
    is_other = one.kind == "tool" and _hash(one, hashes) != _hash(two, hashes)
    if one.state != two.state or one.choice != two.choice:
        change = "outcome"
    elif is_other:
        change = "arguments"
    slower = two.lasted(right_now) - one.lasted(left_now)
    dearer = two.cost - one.cost if one.cost is not None and two.cost is not None else None
    return Pair(left=one, right=two, change=change, is_other=is_other, slower=slower, dearer=dearer)


def _hash(span: Span, hashes: Mapping[str, str]) -> str:
    return hashes.get(span.effect_id or "", "")


def totals(traces: Sequence[Trace]) -> list[tuple[str, list[float | None]]]:
    """Figures of each turn by name: times in ms, tokens, dollars; None is unknown."""
    return [
        ("total", [trace.shares.total for trace in traces]),
        ("model", [trace.shares.model for trace in traces]),
        ("tools", [trace.shares.tool for trace in traces]),
        ("environment", [trace.shares.environment for trace in traces]),
        ("people", [trace.shares.person for trace in traces]),
        ("timers and retries", [trace.shares.timer for trace in traces]),
        ("overhead", [trace.shares.overhead for trace in traces]),
        ("tokens in", [_tokens([s.input_tokens for s in trace.spans]) for trace in traces]),
        ("tokens out", [_tokens([s.output_tokens for s in trace.spans]) for trace in traces]),
        ("cost", [_cost(trace) for trace in traces]),
    ]


def _cost(trace: Trace) -> float | None:
    costs = [span.cost for span in trace.spans if span.kind == "model"]
    return None if None in costs else sum(cost or 0.0 for cost in costs)


def _tokens(said: Sequence[int | None]) -> float:
    return float(sum(count or 0 for count in said))
