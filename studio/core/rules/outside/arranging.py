"""Whatever spans came, as one tree: nothing is lost, nothing stands twice, whatever was claimed.

- A span stands under its parent.
- The one span without a parent is the root. With none or several a root is made for all.
- A span whose parent never came stands under the root and says so.
- Of spans that are each other's parents the first to begin stands under the root and says so.
- Siblings stand by their beginning, then by id. Times are left as they were claimed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from studio.core.rules import shares
from studio.core.rules.spans import Kind, Span, Told, Trace

MADE = "0" * 16  # the id of a root that was made; no span can have it
LOST = "Its parent, span {}, never came; it stands under the root."
RING = "It and its parents stand in a ring; it began first, so it stands under the root."
KINDS: tuple[Kind, ...] = ("agent", "model", "tool", "wait", "other")
WORK = ("model", "tool", "wait")  # whose time is told apart


@dataclass(frozen=True, kw_only=True)
class Outside:
    """A trace from outside, as its row has it. Times are ms, UTC, of the sender's clock.

    `state` is completed, failed, or incomplete while its root never came or never ended.
    """

    id: str
    name: str
    agent: str
    service: str
    state: str
    began: int
    ended: int


@dataclass(slots=True, eq=False)
class Place:
    """A span's place in the tree: what it claims of it first, then where it stands.

    `start` and `end` are ms; `of` is whatever else is known of it, for whoever makes a Span of it.
    """

    id: str
    parent: str
    start: int
    end: int | None
    kind: Kind
    words: str
    of: Any
    depth: int = 0
    is_critical: bool = False
    is_slowest: bool = False
    loose: str = ""  # orphan or ring


def arranged(of: Outside, places: Iterable[Place], make: Callable[[Place], Span]) -> Trace:
    """The tree, its root first, each span before those below it, with depths from 0.

    `make` makes a Span of a place once it is known where it stands.
    """
    ordered = sorted(places, key=_order)
    known = {one.id: one for one in ordered}
    alone = [one for one in ordered if not one.parent]
    root = alone[0] if len(alone) == 1 else _made(of, len(alone), len(ordered))
    below = _below(ordered, known, root)
    listed = _walked(root, below)
    _mark(listed, below, of.ended)
    turn = Told(
        id=of.id, session_id="", number=0, agent=of.agent or of.service, agent_version=0,
        status={"incomplete": "running"}.get(of.state, of.state), opened=of.began, ended=of.ended,
    )  # fmt: skip
    spans = tuple(_root_span(of, one) if one.id == MADE else make(one) for one in listed)
    work = [span for span in spans if span.kind in WORK]
    counts = Counter(span.kind for span in spans)
    return Trace(
        id=of.id, turn=turn, spans=spans, shares=shares.of(turn, work, of.ended), now=of.ended,
        kinds={kind: counts[kind] for kind in KINDS},
    )  # fmt: skip


def _order(one: Place) -> tuple[int, str]:
    return (one.start, one.id)


def _made(of: Outside, roots: int, count: int) -> Place:
    words = (
        "Made here: several spans came without a parent." if roots else "Made here: no root came."
    )
    if not count:
        words = "No span is left."
    return Place(MADE, "", of.began, of.ended, "other", words, None)


def _root_span(of: Outside, one: Place) -> Span:
    return Span(
        id=MADE, parent="", name=f"trace of {of.service or 'an unnamed service'}", kind="other",
        what="root", state="succeeded", start=one.start, end=one.end, depth=0, words=one.words,
    )  # fmt: skip


def _below(
    ordered: Sequence[Place], known: Mapping[str, Place], root: Place
) -> dict[str, list[Place]]:
    """The children of each span, by its id; each is told its parent."""
    below, loose = dict[str, list[Place]](), _loose(ordered, known)
    for one in ordered:
        if one is root:
            continue
        words = ""
        if one.id in loose:
            words, one.loose = RING, "ring"
        elif one.parent and one.parent not in known:
            words, one.loose = LOST.format(one.parent), "orphan"
        if words or not one.parent:
            one.parent, one.words = root.id, one.words or words
        below.setdefault(one.parent, []).append(one)
    return below


def _loose(ordered: Sequence[Place], known: Mapping[str, Place]) -> set[str]:
    """The first to begin of each ring. Each span is walked over once."""
    loose, done = set[str](), set[str]()
    for one in ordered:
        path, at = dict[str, None](), one.id
        while at in known and at not in done and at not in path:
            path[at] = None
            at = known[at].parent
        if at in path:
            steps = list(path)
            loose.add(min((known[step] for step in steps[steps.index(at) :]), key=_order).id)
        done.update(path)
    return loose


def _walked(root: Place, below: Mapping[str, Sequence[Place]]) -> list[Place]:
    """Each span, then those below it; without recursion, as chains may be long."""
    found, left = list[Place](), [root]
    while left:
        one = left.pop()
        found.append(one)
        for child in reversed(below.get(one.id, ())):
            child.depth = one.depth + 1
            left.append(child)
    return found


def _mark(listed: Sequence[Place], below: Mapping[str, Sequence[Place]], end: int) -> None:
    """Mark the slowest tool call, and the critical path.

    The path walks back from the end over what has nothing below it: what ended last before a
    moment is what that moment waited for.
    """
    ends = {one.id: end if one.end is None else one.end for one in listed}
    leaves = [one for one in listed if one.id not in below and ends[one.id] > one.start]
    calls = [one for one in leaves if one.kind == "tool"]
    if len(calls) > 1:
        max(calls, key=lambda one: ends[one.id] - one.start).is_slowest = True
    moment = end
    for one in sorted(leaves, key=lambda one: (ends[one.id], one.start), reverse=True):
        if ends[one.id] <= moment:
            one.is_critical, moment = True, one.start
