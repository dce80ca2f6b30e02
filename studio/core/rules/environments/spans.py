"""What the environment did for a turn, as spans: its setup, versions that were kept, connections.

Setups and keeps hang on the turn, commands on their setup, a connection on the send of the call
whose command made it, or, where nobody knows whose it was, on what ran at that moment.
"""

from collections.abc import Iterable, Mapping, Sequence

from studio.core.rules.spans import Around, Keep, Names, Setup, Span, State, Told, Try

_TRIED: Mapping[str, State] = {"allowed": "succeeded", "refused": "denied", "failed": "failed"}


def spans(turn: Told, around: Around, sends: Iterable[Span], names: Names) -> list[Span]:
    """All of them. `sends` are those of the turn's calls."""
    found = list[Span]()
    for setup in around.setups:
        found += _setup(turn, setup, names)
    found += [_keep(turn, keep, found, names) for keep in around.keeps]
    sent: dict[str, list[Span]] = {}
    for send in sends:
        sent.setdefault(send.effect_id or "", []).append(send)
    setups = [span for span in found if span.what in ("setup", "command")]
    return found + [_try(turn, one, sent, setups, names) for one in around.tries]


def _setup(turn: Told, setup: Setup, names: Names) -> list[Span]:
    end = setup.finished if setup.finished is not None else turn.ended
    state: State = "succeeded" if setup.ok else "failed"
    if setup.finished is None:
        state = "running" if end is None else "uncertain"
    whole = Span(
        id=names.span(f"setup {setup.seq}"), parent=names.root, name="setup", kind="environment",
        what="setup", state=state, start=setup.started, end=end, words=setup.problem,
        environment_id=turn.environment_id, facts=_seqs(setup.seq, setup.last),
    )  # fmt: skip
    return [whole, *(_command(turn, setup, n, names) for n in range(1, len(setup.runs) + 1))]


def _command(turn: Told, setup: Setup, number: int, names: Names) -> Span:
    line, began, took, exit_, words = setup.runs[number - 1]
    return Span(
        id=names.span(f"setup {setup.seq} {number}"), parent=names.span(f"setup {setup.seq}"),
        name="setup command", kind="environment", what="command", start=began, end=began + took,
        state="failed" if exit_ or words else "succeeded", words=words or line, attempt=number,
        environment_id=turn.environment_id, code=f"exit {exit_}" if exit_ else "",
        facts=_seqs(setup.last), more={"process.exit.code": exit_},
    )  # fmt: skip


def _keep(turn: Told, keep: Keep, setups: Sequence[Span], names: Names) -> Span:
    parent = names.root
    if keep.reason == "setup" and (of := _during(setups, keep.ended)):
        parent = of.id
    return Span(
        id=names.span(f"keep {turn.environment_id} {keep.version}"), parent=parent,
        name="keep disk", kind="environment", what="keep", state="succeeded",
        start=keep.ended - keep.took, end=keep.ended, environment_id=turn.environment_id,
        disk_version=keep.version, facts=_seqs(keep.seq),
        more={"studio.disk.added": keep.added, "studio.disk.files": keep.files},
    )  # fmt: skip


def _try(
    turn: Told, tried: Try, sent: Mapping[str, Sequence[Span]], setups: Sequence[Span], names: Names
) -> Span:
    of: Span | None = None
    if tried.effect_id is not None:
        begun = [span for span in sent.get(tried.effect_id, ()) if span.start <= tried.began]
        of = begun[-1] if begun else next(iter(sent.get(tried.effect_id, ())), None)
    of = of or _during(setups, tried.began)
    more: dict[str, str | int | float | bool] = {
        "server.address": tried.host, "server.port": tried.port, "studio.egress.up": tried.up,
        "studio.egress.down": tried.down,
    }  # fmt: skip
    if tried.turns > 1 and tried.effect_id is None:
        more["studio.egress.turns"] = tried.turns
    return Span(
        id=names.span(f"connect {turn.environment_id} {tried.seq}"),
        parent=names.root if of is None else of.id, name=f"CONNECT {tried.host}",
        kind="environment", what="connect", state=_TRIED.get(tried.outcome, "failed"),
        start=tried.began, end=tried.began + tried.took, words=tried.reason,
        step=of.step if of is not None else None, environment_id=turn.environment_id, more=more,
        facts=(tried.seq,),
    )  # fmt: skip


def _seqs(*seqs: int | None) -> tuple[int, ...]:
    return tuple(seq for seq in seqs if seq is not None)


def _during(spans: Sequence[Span], moment: int) -> Span | None:
    """The innermost of these that ran then."""
    found = [
        span for span in spans
        if span.start <= moment and (span.end is None or moment <= span.end)
    ]  # fmt: skip
    return found[-1] if found else None
