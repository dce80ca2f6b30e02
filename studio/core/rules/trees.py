"""Spans as a tree: each behind its parent, siblings by their start, children within parents."""

from collections.abc import Iterable, Sequence

from studio.core.rules.spans import Span


def grown(root: Span, spans: Iterable[Span]) -> list[Span]:
    """The root and all below it, in the order they are shown, with their depth.

    A span whose parent is not among them, or that stands in a circle, hangs on the root. What
    reaches beyond its parent is cut to it (`is_cut`); below a parent that is still open, an end is
    kept as it is.
    """
    spans = list(spans)
    children: dict[str, list[Span]] = {root.id: []}
    for span in spans:
        children[span.id] = []
    for span in sorted(spans, key=place):
        children[span.parent if span.parent in children else root.id].append(span)
    if len(children[root.id]) == len(spans):  # as most turns are: nothing lies below another
        for span in children[root.id]:
            hang(span, root)
        return [root, *children[root.id]]
    seen, found = {root.id}, [root]
    _below(root, children, seen, found)
    while len(seen) < len(children):  # circles: the first of each hangs on the root
        lost = [span for of in children.values() for span in of if span.id not in seen]
        first = min(lost, key=place)
        seen.add(first.id)
        hang(first, root)
        found.append(first)
        _below(first, children, seen, found)
    return found


def place(span: Span) -> tuple[int, int, bool, str, bool, int, str]:
    """What siblings are ordered by: of what began at once, a reply, then its calls as proposed."""
    called = (span.step or 0, span.kind != "model", span.effect_id or "")
    return (span.start, *called, span.end is None, span.end or 0, span.id)


def hang(span: Span, parent: Span) -> None:
    """Hang a span on its parent and cut it to that."""
    start, end, last = span.start, span.end, parent.end
    span.parent, span.depth = parent.id, parent.depth + 1
    if last is not None and end is not None and parent.start <= start <= end <= last:
        return
    start = max(start, parent.start)
    if parent.end is not None:
        start = min(start, parent.end)
        end = parent.end if end is None else min(end, parent.end)
    if end is not None:
        end = max(end, start)
    if (start, end) != (span.start, span.end):
        span.start, span.end, span.is_cut = start, end, True


def _below(top: Span, children: dict[str, list[Span]], seen: set[str], found: list[Span]) -> None:
    """All below a span, without recursion: agents nest as deep as they like."""
    stack = [(top, span) for span in reversed(children[top.id])]
    while stack:
        parent, span = stack.pop()
        if span.id in seen:
            continue
        seen.add(span.id)
        hang(span, parent)
        found.append(span)
        stack += [(span, one) for one in reversed(children[span.id])]


def ends(spans: Sequence[Span]) -> list[int]:
    """For each span the place behind the last one below it."""
    found, open_ = [len(spans)] * len(spans), list[int]()
    for at, span in enumerate(spans):
        while open_ and spans[open_[-1]].depth >= span.depth:
            found[open_.pop()] = at
        open_.append(at)
    return found
