"""A turn seen as spans: where its time went, made from what is recorded and nothing else.

The root is `invoke_agent`; below it stand model attempts (`chat`), sends of tool calls
(`execute_tool`), what the environment did, and waits as spans of their own, so that human time is
never taken for machine time. The names are those of OpenTelemetry's GenAI conventions.

All lies within the turn: what a person settles later, or what comes late, is cut to its end. Only
what the environment keeps of it may come after, and then the root lasts until that is done.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from studio.core.rules import shares, trees
from studio.core.rules.environments import spans as environments
from studio.core.rules.spans import Around, Kind, Mark, Names, Span, Stand, State, Told, Trace, Work

BORED = 50  # ms: a wait for a worker that is shorter is nobody's business
STOPPED = "model.stopped"  # the turn ended, and its attempt with it: nothing went wrong


NOTHING = Around()
KINDS: tuple[Kind, ...] = ("model", "tool", "wait", "environment")


def trace(
    turn: Told, marks: Sequence[Mark], works: Iterable[Work], stands: Iterable[Stand], *,
    key: bytes, now: int, around: Around = NOTHING,
) -> Trace:  # fmt: skip
    """The trace of a turn. `marks` are in order; `key` is the store's, for the ids."""
    names = Names(key, turn.id, turn.caller)
    known = {work.id: work for work in works}
    now = max(now, turn.ended or 0, marks[-1].time if marks else 0)
    sends = _sends(turn, marks, known, names, around)
    placed = environments.spans(turn, around, sends, names)
    spans = [
        *_queue(turn, marks, around, names), *_attempts(turn, marks, known, names), *sends,
        *_waits(turn, stands, known, names), *placed,
    ]  # fmt: skip
    root, *spans = trees.grown(_root(turn, around, placed, names), spans)
    shares.mark(turn, spans, now)
    counts = Counter(span.kind for span in spans)
    return Trace(
        id=names.trace, turn=turn, spans=(root, *spans), shares=shares.of(turn, spans, now),
        now=max(now, root.end or 0), kinds={kind: counts[kind] for kind in KINDS},
    )  # fmt: skip


def _root(turn: Told, around: Around, placed: Sequence[Span], names: Names) -> Span:
    end = turn.ended
    if end is not None:
        end = max([end, *(span.end for span in placed if span.what == "keep" and span.end)])
    kept = [keep.version for keep in around.keeps if keep.reason == "turn"]
    return Span(
        id=names.root, parent="", name=f"invoke_agent {turn.agent}", kind="agent", what=turn.agent,
        state=_TURNS.get(turn.status, "running"), start=turn.opened, end=end, depth=0,
        code=turn.code, words=turn.message, environment_id=turn.environment_id,
        disk_version=kept[-1] if kept else around.before,
    )  # fmt: skip


_TURNS: dict[str, State] = {
    "completed": "succeeded", "failed": "failed", "cancelled": "cancelled", "held": "waiting",
    "waiting": "waiting",
}  # fmt: skip
_CHOICES: dict[str, State] = {
    "approve": "succeeded", "answer": "succeeded", "due": "succeeded", "ran": "succeeded",
    "send_again": "succeeded", "did_not_run": "succeeded", "late": "succeeded", "deny": "denied",
    "expired": "expired", "stopped": "cancelled",
}  # fmt: skip
_ENDS: dict[str, State] = {
    "model.replied": "succeeded", "model.failed": "failed", "model.uncertain": "uncertain",
    "context.compacted": "succeeded", "summary.failed": "failed",
    "call.succeeded": "succeeded", "call.failed": "failed", "call.uncertain": "uncertain",
    "call.denied": "denied", "call.cancelled": "cancelled",
}  # fmt: skip


def _queue(turn: Told, marks: Sequence[Mark], around: Around, names: Names) -> list[Span]:
    """The time until a worker took the turn up, when it was worth a word."""
    begun = marks[0].time if marks else turn.ended
    if around.setups:  # that is done before the first step
        begun = min(begun or around.setups[0].started, around.setups[0].started)
    if begun is not None and begun - turn.opened < BORED:
        return []
    state: State = "waiting" if begun is None else "succeeded"
    return [
        Span(
            id=names.span("queue"), parent=names.root, name="wait queue", kind="wait", what="queue",
            state=state, start=turn.opened, end=begun, words="Until a worker took it up.",
        )
    ]  # fmt: skip


def _attempts(
    turn: Told, marks: Sequence[Mark], known: Mapping[str, Work], names: Names
) -> list[Span]:
    """Model attempts, and the pauses before another try."""
    open_, found, failed = dict[str, Mark](), list[Span](), None
    counted: dict[int, int] = {}
    for mark in marks:
        work = known.get(mark.effect_id or "")
        if work is None or work.kind != "model":
            continue
        if mark.type in ("model.requested", "summary.requested"):
            open_[work.id] = mark
            if failed is not None and mark.time > failed.time:
                found.append(_pause(failed, mark.time, known, names))
            failed = None
            continue
        begun = open_.pop(work.id, None)
        if begun is None or mark.type not in _ENDS:
            continue
        counted[work.step] = counted.get(work.step, 0) + 1
        state = "cancelled" if work.code == STOPPED else _ENDS[mark.type]
        attempt = counted[work.step]
        found.append(_attempt(work, names, begun.time, mark, state=state, attempt=attempt))
        failed = mark if mark.type == "model.failed" else None
    for effect_id, begun in open_.items():
        work = known[effect_id]
        state = "running" if turn.ended is None else "cancelled"
        attempt = counted.get(work.step, 0) + 1
        end = Mark(seq=0, type="", time=turn.ended, effect_id=None) if turn.ended else None
        found.append(_attempt(work, names, begun.time, end, state=state, attempt=attempt))
    if failed is not None and (turn.ended is None or turn.ended > failed.time):
        found.append(_pause(failed, turn.ended, known, names, is_over=turn.ended is not None))
    return found


def _attempt(
    work: Work, names: Names, start: int, end: Mark | None, *, state: State, attempt: int
) -> Span:
    return Span(
        id=names.span(work.id), parent=names.root, name=f"chat {work.tool}", kind="model",
        what=work.tool, state=state, start=start, end=end.time if end is not None else None,
        effect_id=work.id, step=work.step, first_token=end.first_token if end is not None else None,
        attempt=attempt, server=work.server, words=work.message, code=work.code,
        input_tokens=work.input_tokens, output_tokens=work.output_tokens,
        cached_tokens=work.cached_tokens, reasoning_tokens=work.reasoning_tokens, cost=work.cost,
    )  # fmt: skip


def _pause(
    failed: Mark, end: int | None, known: Mapping[str, Work], names: Names, *, is_over: bool = False
) -> Span:
    """What followed a failed attempt: until the next one, or until the turn that ended in it."""
    of = known.get(failed.effect_id or "")
    state: State = "waiting" if end is None else "cancelled" if is_over else "succeeded"
    return Span(
        id=names.span(f"retry {failed.seq}"), parent=names.root, name="wait retry", kind="wait",
        what="retry", state=state, start=failed.time, end=end,
        effect_id=failed.effect_id, words="Before the model was asked again.",
        step=of.step if of is not None else None,
    )  # fmt: skip


def _sends(
    turn: Told, marks: Sequence[Mark], known: Mapping[str, Work], names: Names, around: Around
) -> list[Span]:
    """Sends of calls; a call that was never sent is a span without length, where it ended."""
    open_, sent, found = dict[str, Mark](), dict[str, int](), list[Span]()
    place = (names, turn.environment_id, around.before)

    def close(work: Work, begun: Mark, end: int | None, state: State) -> None:
        found.append(_send(work, place, begun.time, end, state=state, send=sent[work.id]))

    for mark in marks:
        work = known.get(mark.effect_id or "")
        if work is None or work.kind == "model":
            continue
        if mark.type == "call.started":
            if work.id in open_:  # sent again under the same key: nobody knows what came of it
                close(work, open_[work.id], mark.time, "uncertain")
            open_[work.id], sent[work.id] = mark, sent.get(work.id, 0) + 1
        elif mark.type in _ENDS and work.id in open_:
            close(work, open_.pop(work.id), mark.time, _ENDS[mark.type])
        elif mark.type == "call.late" and (of := _last(found, work.id)) is not None:
            of.more = {**of.more, "studio.late_ms": mark.time - of.start}
        elif mark.type in _ENDS and work.id not in sent:
            found.append(_send(work, place, mark.time, mark.time, state=_ENDS[mark.type], send=0))
    for effect_id, begun in open_.items():
        state: State = "running" if turn.ended is None else "cancelled"
        close(known[effect_id], begun, turn.ended, state)
    return found


def _last(sends: Sequence[Span], effect_id: str) -> Span | None:
    """The newest of an effect's sends."""
    return next((span for span in reversed(sends) if span.effect_id == effect_id), None)


Place = tuple[Names, str | None, int | None]  # where calls are sent: environment, disk version


def _send(
    work: Work, place: Place, start: int, end: int | None, *, state: State, send: int
) -> Span:
    is_last = state == work.state or work.state not in _ENDS.values()
    names, environment_id, version = place
    is_there = work.kind == "sandbox"
    return Span(
        id=names.span(f"{work.id} {send}"), parent=names.root, name=f"execute_tool {work.tool}",
        kind="tool", what=work.tool, state=state, start=start, end=end, effect_id=work.id,
        step=work.step, attempt=send, origin=work.kind, server=work.server, plugin=work.plugin,
        plugin_version=work.plugin_version, words=work.message if is_last else "",
        code=work.code if is_last else "", skill=work.skill,
        environment_id=environment_id if is_there else None,
        disk_version=version if is_there else None,
    )  # fmt: skip


def _waits(
    turn: Told, stands: Iterable[Stand], known: Mapping[str, Work], names: Names
) -> list[Span]:
    found = []
    for stand in stands:
        end, of = stand.closed, known.get(stand.effect_id)
        is_cut = turn.ended is not None and (end is None or end > turn.ended)
        if is_cut:  # the turn waited no longer than it lasted
            end = turn.ended
        state: State = "waiting" if end is None else "cancelled"
        if stand.choice is not None:
            state = _CHOICES.get(stand.choice, "succeeded")
        found.append(
            Span(
                id=names.span(stand.id), parent=names.root, name=f"wait {stand.kind}", kind="wait",
                what=stand.kind, state=state, start=stand.opened, end=end,
                effect_id=stand.effect_id, wait_id=stand.id, plugin=stand.plugin,
                who=stand.closed_by, choice=stand.choice, words=stand.reason, is_cut=is_cut,
                step=of.step if of is not None else None,
            )
        )  # fmt: skip
    return found
