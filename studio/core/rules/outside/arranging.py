"""Whatever spans came, as one tree: nothing is lost, nothing stands twice, whatever was claimed.

- A span stands under its parent.
- The one span without a parent is the root. With none or several a root is made for all.
- A span whose parent never came stands under the root and says so.
- Of spans that are each other's parents the first to begin stands under the root and says so.
- Siblings stand by their beginning, then by id.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from studio.core.rules import shares
from studio.core.rules.spans import Span, Told, Trace

MADE = "0" * 16  # the id of a root that was made; no span can have it
LOST = "Its parent, span {}, never came; it stands under the root."
RING = "It and its parents stand in a ring; it began first, so it stands under the root."


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


def arranged(of: Outside, spans: Iterable[Span]) -> Trace:
    """The tree, its root first, each span before those below it, with depths from 0."""
    ordered = sorted(spans, key=lambda span: (span.start, span.id))
    known = {span.id: span for span in ordered}
    alone = [span for span in ordered if not span.parent]
    root = alone[0] if len(alone) == 1 else _made(of, ordered)
    below = _below(ordered, known, root)
    turn = Told(
        id=of.id, session_id="", number=0, agent=of.agent or of.service, agent_version=0,
        status={"incomplete": "running"}.get(of.state, of.state), opened=of.began, ended=of.ended,
    )  # fmt: skip
    listed = _walked(root, below)
    leaves = [span for span in listed if span.kind in ("model", "tool", "wait")]
    kinds = {
        kind: sum(span.kind == kind for span in listed)
        for kind in ("agent", "model", "tool", "wait", "other")
    }
    return Trace(
        id=of.id, turn=turn, spans=tuple(_marked(listed, of.ended)),
        shares=shares.of(turn, leaves, of.ended), now=of.ended, kinds=kinds,
    )  # fmt: skip


def _marked(listed: Sequence[Span], end: int) -> Iterator[Span]:
    """The same with the slowest tool call marked, and the critical path.

    The path walks back from the end over what has nothing below it: what ended last before a
    moment is what that moment waited for.
    """
    parents = {span.parent for span in listed}
    leaves = [span for span in listed if span.id not in parents and span.lasted(end) > 0]
    calls = [span for span in leaves if span.kind == "tool"]
    slowest = max(calls, key=lambda span: span.lasted(end)).id if len(calls) > 1 else ""
    critical, moment = set[str](), end
    for span in sorted(leaves, key=lambda one: (one.end or end, one.start), reverse=True):
        if (span.end or end) <= moment:
            critical.add(span.id)
            moment = span.start
    for span in listed:
        marks = {"is_critical": span.id in critical, "is_slowest": span.id == slowest}
        yield replace(span, **marks) if any(marks.values()) else span


def _made(of: Outside, ordered: Sequence[Span]) -> Span:
    words = "Made here: no root came." if ordered else "No span is left."
    if sum(not span.parent for span in ordered) > 1:
        words = "Made here: several spans came without a parent."
    return Span(
        id=MADE, parent="", name=f"trace of {of.service or 'an unnamed service'}", kind="other",
        what="root", state="succeeded", start=of.began, end=of.ended, depth=0, words=words,
    )  # fmt: skip


def _below(ordered: Sequence[Span], known: Mapping[str, Span], root: Span) -> dict[str, list[Span]]:
    """The children of each span, by its id."""
    below, loose = dict[str, list[Span]](), _loose(ordered, known)
    for span in ordered:
        if span.id == root.id:
            continue
        parent, words = span.parent, ""
        if span.id in loose:
            parent, words = root.id, RING
        elif parent and parent not in known:
            parent, words = root.id, LOST.format(parent)
        placed = replace(span, parent=parent or root.id, words=span.words or words)
        below.setdefault(placed.parent, []).append(placed)
    return below


def _loose(ordered: Sequence[Span], known: Mapping[str, Span]) -> set[str]:
    """The first to begin of each ring. Each span is walked over once."""
    loose, done = set[str](), set[str]()
    for span in ordered:
        path, at = dict[str, None](), span.id
        while at in known and at not in done and at not in path:
            path[at] = None
            at = known[at].parent
        if at in path:
            steps = list(path)
            ring = (known[one] for one in steps[steps.index(at) :])
            loose.add(min(ring, key=lambda one: (one.start, one.id)).id)
        done.update(path)
    return loose


def _walked(root: Span, below: dict[str, list[Span]]) -> list[Span]:
    """Each span, then those below it; without recursion, as chains may be long."""
    found, left = list[Span](), [(root, 0)]
    while left:
        span, depth = left.pop()
        found.append(replace(span, depth=depth))
        left += [(child, depth + 1) for child in reversed(below.get(span.id, ()))]
    return found
