"""What an environment did for a turn: under its setup, under the call whose command it was, or
under the turn; and nothing outside of what it is part of.
"""

from studio.core.rules import conventions, traces
from studio.core.rules.spans import Around, Keep, Mark, Setup, Span, Told, Trace, Try, Work

T0 = 1_700_000_000_000
MARKS = [
    Mark(seq=1, type="turn.started", time=T0 + 2_000, effect_id=None),
    Mark(seq=2, type="call.started", time=T0 + 3_000, effect_id="c"),
    Mark(seq=3, type="call.started", time=T0 + 4_000, effect_id="c"),
    Mark(seq=4, type="call.succeeded", time=T0 + 5_000, effect_id="c"),
]
SETUP = Setup(
    seq=7, started=T0 + 100, finished=T0 + 1_900, runs=[
        ("make", T0 + 200, 500, 0, ""), ("false", T0 + 800, 1_000, 1, "It failed."),
    ],
)  # fmt: skip


def read(around: Around, ended: int | None = 6_000) -> Trace:
    told = Told(
        id="trn_1", session_id="ses_1", number=1, agent="helper", agent_version=1,
        status="completed" if ended else "running", opened=T0,
        ended=None if ended is None else T0 + ended, environment_id="env_1",
    )  # fmt: skip
    work = Work(id="c", kind="sandbox", tool="shell", step=1, state="succeeded")
    return traces.trace(told, MARKS, [work], [], key=b"k", now=T0 + 9_000, around=around)


def tried(began: int, effect_id: str | None = "c", **more: int) -> Try:
    return Try(
        seq=began, host="a.example", port=443, outcome="refused", began=T0 + began, took=50,
        effect_id=effect_id, **more,
    )  # fmt: skip


def tree(trace: Trace) -> list[tuple[int, str]]:
    return [(span.depth, span.name) for span in trace.spans]


def only(trace: Trace, what: str) -> Span:
    (found,) = [span for span in trace.spans if span.what == what]
    return found


def test_a_setup_has_its_commands_and_what_was_kept_below_it() -> None:
    trace = read(Around(setups=[SETUP], keeps=[Keep(version=1, ended=T0 + 1_850, took=40,
                                                    reason="setup")]))  # fmt: skip

    assert tree(trace)[1:6] == [
        (1, "wait queue"), (1, "setup"), (2, "setup command"), (2, "setup command"),
        (2, "keep disk"),
    ]  # fmt: skip
    assert only(trace, "queue").end == T0 + 100  # the setup is no waiting for a worker
    assert trace.spans[4].state == "failed"
    assert trace.shares.environment == 1_800


def test_a_setup_that_nobody_finished_grows_and_then_is_uncertain() -> None:
    begun = Around(setups=[Setup(seq=7, started=T0 + 100)])

    assert (only(read(begun, None), "setup").state, only(read(begun, None), "setup").end) == (
        "running", None,
    )  # fmt: skip
    assert only(read(begun), "setup").state == "uncertain"


def test_a_connection_lies_below_the_send_it_was_made_in() -> None:
    trace = read(Around(tries=[tried(3_500), tried(4_980)]))

    first, second = [span for span in trace.spans if span.what == "shell"]
    early, late = [span for span in trace.spans if span.what == "connect"]
    assert (early.parent, late.parent) == (first.id, second.id)
    assert (late.end, late.is_cut, early.is_cut) == (T0 + 5_000, True, False)
    assert (early.state, early.step) == ("denied", 1)


def test_a_connection_of_nobody_known_is_the_turns_and_says_how_many_ran() -> None:
    trace = read(Around(setups=[SETUP], tries=[tried(5_500, None, turns=3), tried(900, None)]))

    setup, loose = [span for span in trace.spans if span.what == "connect"]
    assert loose.parent == trace.root.id
    assert conventions.attributes(loose, trace)["studio.egress.turns"] == 3
    assert setup.parent == [span for span in trace.spans if span.what == "command"][1].id


def test_what_is_kept_after_the_end_makes_the_root_longer_and_the_turn_not() -> None:
    trace = read(Around(before=3, keeps=[Keep(version=4, ended=T0 + 6_500, took=400,
                                              reason="turn", added=9)]))  # fmt: skip

    kept, call = only(trace, "keep"), trace.spans[2]
    assert (trace.root.end, trace.shares.total) == (T0 + 6_500, 6_000)
    assert (kept.start, kept.end, kept.is_cut) == (T0 + 6_100, T0 + 6_500, False)
    assert conventions.attributes(trace.root, trace)["studio.disk.version"] == 4
    assert conventions.attributes(call, trace)["studio.disk.version"] == 3
    assert conventions.attributes(kept, trace)["studio.disk.added"] == 9
