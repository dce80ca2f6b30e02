"""Bars on one axis: in order, within it, and long empty stretches folded."""

from studio.core.rules import traces
from studio.core.rules.spans import Mark, Stand, Told, Trace, Work
from studio.web import waterfall

T0 = 1_700_000_000_000
HOUR = 3_600_000
MINUTE = 60_000


def trace(wait: int, ended: bool = True) -> Trace:
    """A model call of a second, a wait, a call of a second."""
    told = Told(
        id="trn_1", session_id="ses_1", number=1, agent="helper", agent_version=1,
        status="completed", opened=T0, ended=T0 + wait + 2_000 if ended else None,
    )  # fmt: skip
    works = [
        Work(id="m", kind="model", tool="claude", step=1, state="succeeded"),
        Work(id="c", kind="mcp", tool="look", step=1, state="succeeded"),
    ]
    facts = [
        Mark(seq=1, type="model.requested", time=T0, effect_id="m"),
        Mark(seq=2, type="model.replied", time=T0 + 1_000, effect_id="m"),
        Mark(seq=3, type="call.started", time=T0 + 1_000 + wait, effect_id="c"),
        Mark(seq=4, type="call.succeeded", time=T0 + 2_000 + wait, effect_id="c"),
    ]
    held = Stand(
        id="w", effect_id="c", kind="approval", tool="look", opened=T0 + 1_000,
        closed=T0 + 1_000 + wait, choice="approve", closed_by="ann", reason="",
    )  # fmt: skip
    return traces.trace(told, facts, works, [held], key=b"k", now=T0 + wait + 2_000)


def bars(of: Trace) -> list[waterfall.Bar]:
    """All of a trace's spans on its axis."""
    return [waterfall.bar(of, span, waterfall.axis(of)) for span in of.spans]


def test_a_long_wait_is_folded_and_what_worked_stays_wide() -> None:
    found = trace(2 * HOUR)

    axis = waterfall.axis(found)
    root, model, wait, tool = bars(found)

    assert [one.is_folded for one in axis] == [False, True, False]
    assert axis[1].end - axis[1].start == 2 * HOUR
    assert wait.w == waterfall.FOLDED
    assert model.w > 400
    assert tool.w > 400
    assert (root.x, root.w) == (0.0, waterfall.WIDE)


def test_a_short_wait_is_drawn_in_proportion() -> None:
    found = trace(2_000)

    _root, model, wait, tool = bars(found)

    assert [one.is_folded for one in waterfall.axis(found)] == [False]
    assert (model.w, wait.w, tool.w) == (250.0, 500.0, 250.0)
    assert (model.x, wait.x, tool.x) == (0.0, 250.0, 750.0)


def test_every_bar_lies_within_the_axis() -> None:
    for wait in (0, 1, 999, 30_000, HOUR, 400 * HOUR):
        found = trace(wait)

        for bar in bars(found):
            assert bar.x >= 0
            assert bar.w >= waterfall.THIN
            assert bar.x + bar.w <= waterfall.WIDE + 0.11


def test_the_stacked_bar_is_full() -> None:
    parts = waterfall.parts(trace(2_000))

    assert [part.look for part in parts] == ["model", "tool", "person"]
    assert sum(part.w for part in parts) == waterfall.WIDE


def test_a_moment_is_where_it_is_placed() -> None:
    axis = waterfall.axis(trace(2 * HOUR))

    for x in (0.0, 100.0, 480.0, 700.0, 1000.0):
        assert abs(waterfall.place(axis, waterfall.moment(axis, x)) - x) < 1.5


def test_what_is_folded_is_named_on_the_axis() -> None:
    found = trace(2 * HOUR)

    ticks = waterfall.ticks(waterfall.axis(found), T0)

    assert [tick.lasted for tick in ticks if tick.is_folded] == [2 * HOUR]
    assert (ticks[0].lasted, ticks[-1].lasted) == (0, 2 * HOUR + 2_000)


def test_the_axis_is_that_of_a_part_of_the_turn() -> None:
    found = trace(2_000)
    root, model, _wait, tool = found.spans

    axis = waterfall.axis(found, (tool.start, tool.end or 0))

    assert waterfall.bar(found, tool, axis).w == waterfall.WIDE
    assert waterfall.bar(found, root, axis).w == waterfall.WIDE
    assert waterfall.bar(found, model, axis).w == waterfall.THIN


def test_a_turn_of_no_length_is_drawn() -> None:
    told = Told(
        id="trn_1", session_id="ses_1", number=1, agent="helper", agent_version=1,
        status="failed", opened=T0, ended=T0,
    )  # fmt: skip

    empty = traces.trace(told, [], [], [], key=b"k", now=T0)

    assert [bar.w for bar in bars(empty)] == [waterfall.THIN]
    assert waterfall.parts(empty) == ()


def test_what_is_folded_at_an_end_of_the_axis_is_written_within_it() -> None:
    ends = waterfall.fold(T0, T0 + HOUR, [(T0 + 100, T0 + HOUR)], least=1)
    begins = waterfall.fold(T0, T0 + HOUR, [(T0, T0 + HOUR - 100)], least=1)

    (last,) = [tick for tick in waterfall.ticks(ends, T0) if tick.is_folded]
    (first,) = [tick for tick in waterfall.ticks(begins, T0) if tick.is_folded]

    assert (last.at, last.anchor) == (100.0, "end")
    assert (first.at, first.anchor) == (0.0, "start")


def test_of_two_folded_stretches_side_by_side_the_longer_one_has_its_word() -> None:
    busy = 10_000
    folds = [(T0 + busy, T0 + MINUTE), (T0 + MINUTE + 50, T0 + HOUR)]
    apart = [folds[0], (T0 + MINUTE + busy, T0 + HOUR)]

    beside = waterfall.ticks(waterfall.fold(T0, T0 + HOUR + busy, folds, least=1), T0)
    both = waterfall.ticks(waterfall.fold(T0, T0 + HOUR + busy, apart, least=1), T0)

    assert [tick.lasted for tick in beside if tick.is_folded] == [HOUR - MINUTE - 50]
    assert len([tick for tick in both if tick.is_folded]) == 2
