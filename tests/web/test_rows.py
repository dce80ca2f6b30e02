"""Rows of a trace: windows, folds, a zoom, hits and the map; all of it in the URL."""

from collections.abc import Sequence

from studio.core.rules import traces
from studio.core.rules.spans import Mark, Told, Trace, Work
from studio.web import minimap, rows
from studio.web.narrowed import ROWS, Narrowed

T0 = 1_700_000_000_000
STEP = 1_000


def trace(steps: int, calls: int = 2) -> Trace:
    """Steps of one second: a model for half of it, then calls one after the other."""
    works, marks, at, seq = list[Work](), list[Mark](), T0, 0
    for step in range(1, steps + 1):
        effects = [(f"m{step}", "model", "claude"),
                   *((f"c{step}-{n}", "mcp", f"look{n}") for n in range(calls))]  # fmt: skip
        for number, (id, kind, tool) in enumerate(effects):
            state = "failed" if id == "c3-1" else "succeeded"
            works.append(Work(id=id, kind=kind, tool=tool, step=step, state=state, plugin="kit"))
            begun, ended = at + number * 100, at + number * 100 + 90
            types = ("model.requested", "model.replied") if kind == "model" else (
                "call.started", f"call.{state}")  # fmt: skip
            marks += [
                Mark(seq=seq, type=types[0], time=begun, effect_id=id),
                Mark(seq=seq + 1, type=types[1], time=ended, effect_id=id),
            ]
            seq += 2
        at += STEP
    told = Told(
        id="trn_1", session_id="ses_1", number=1, agent="helper", agent_version=1,
        status="completed", opened=T0, ended=at,
    )  # fmt: skip
    return traces.trace(told, marks, works, [], key=b"k", now=at)


def names(shown: rows.Shown) -> list[str]:
    return [row.bar.span.what for row in shown.rows]


def look(of: Trace, *words: Sequence[str], **narrowed: object) -> rows.Shown:
    return rows.shown(of, Narrowed(**narrowed), [frozenset(one) for one in words])  # type: ignore[arg-type]


def test_rows_come_in_windows_that_lead_on_and_back() -> None:
    found = trace(200)

    first, second = look(found), look(found, start=ROWS)

    assert (len(first.rows), first.found, first.next, first.earlier) == (ROWS, 601, ROWS, None)
    assert (second.next, second.earlier) == (2 * ROWS, 0)
    assert second.rows[0].bar.span is found.spans[ROWS]
    assert look(found, start=99_999).rows[0].bar.span is found.spans[-1]


def test_the_window_is_that_of_the_span_looked_at() -> None:
    found = trace(200)

    shown = look(found, span=found.spans[450].id)

    assert shown.start == 450 // ROWS * ROWS
    assert any(row.bar.span is found.spans[450] for row in shown.rows)


def test_a_folded_step_leaves_its_first_row() -> None:
    found = trace(3)

    shown = look(found, folds=("s2",))

    assert names(shown) == [
        "helper", "claude", "look0", "look1", "claude", "claude", "look0", "look1",
    ]  # fmt: skip
    (head,) = [row for row in shown.rows if row.is_folded]
    assert (head.hidden, head.fold, head.reach > head.bar.w) == (2, "s2", True)


def test_all_steps_fold_and_one_of_them_opens() -> None:
    found, folded = trace(3), Narrowed(steps=True)

    opened = rows.shown(found, Narrowed(steps=True, folds=(folded.turned("s3"),)))

    assert names(rows.shown(found, folded)) == ["helper", "claude", "claude", "claude"]
    assert names(opened)[-3:] == ["claude", "look0", "look1"]


def test_a_zoom_leaves_what_ran_in_that_time() -> None:
    found = trace(3)
    call = found.spans[5]

    shown = look(found, zoom=call.id)

    assert names(shown) == ["helper", call.what]
    assert (shown.axis[0].start, shown.axis[-1].end) == (call.start, call.end)
    assert [tick.lasted for tick in shown.ticks] == [0, 45, 90]


def test_hits_are_counted_and_lead_to_each_other() -> None:
    found = trace(3)
    calls = [span for span in found.spans if span.what == "look1"]

    shown = look(found, [], q="look1")
    second = look(found, [], q="look1", span=calls[1].id)

    assert shown.found == 10
    assert shown.hits == rows.Hits(count=3, place=0, previous=calls[2].id, next=calls[0].id)
    assert second.hits == rows.Hits(count=3, place=2, previous=calls[0].id, next=calls[2].id)
    assert [row.hit for row in shown.rows if row.hit] == [1, 2, 3]


def test_a_word_may_stand_in_a_payload_and_another_in_the_name() -> None:
    found = trace(3)

    shown = look(found, ["c2-0", "m1"], [], q="Order look0", only=True)

    assert [row.bar.span.effect_id for row in shown.rows] == ["c2-0"]
    assert look(found, [], q="zebra").hits == rows.Hits(count=0, place=0, previous="", next="")


def test_only_what_went_wrong() -> None:
    shown = look(trace(3), wrong=True)

    assert [row.bar.span.effect_id for row in shown.rows] == ["c3-1"]


def test_the_map_leads_to_the_rows_of_each_time_and_is_not_there_for_a_few() -> None:
    found = trace(200)
    shown = look(found)

    drawn = minimap.drawn(found, shown)

    assert minimap.drawn(trace(3), look(trace(3))) is None
    assert drawn is not None
    assert len(drawn.buckets) == minimap.BUCKETS
    assert sum(one.is_wrong for one in drawn.buckets) == 1
    for lead in drawn.leads[1:]:
        assert found.spans[lead.start].start - T0 >= lead.offset
        assert found.spans[lead.start - 1].start - T0 < lead.offset
    assert drawn.begin == 0.0
    assert drawn.width < 400


def test_the_url_says_all_of_it_and_nothing_empty() -> None:
    assert Narrowed().url() == "?"
    asked = Narrowed(kind="tool", q="a b", folds=("s1", "ab"), zoom="z", start=0, span="x")

    assert asked.url() == "?kind=tool&q=a+b&zoom=z&fold=s1,ab&span=x"
    assert asked.at(0) == "?kind=tool&q=a+b&zoom=z&fold=s1,ab&from=0"
    assert asked.turned("s1") == "ab"
    assert asked.turned("s2") == "s1,ab,s2"
