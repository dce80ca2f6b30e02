"""Traces whose spans lie deep below one another, as other systems send them."""

from studio.core.rules.outside import arranging
from studio.core.rules.outside.arranging import Outside, Place
from studio.core.rules.spans import Kind, Span, Trace
from studio.web import minimap, rows, waterfall
from studio.web.narrowed import ROWS, Narrowed

T0 = 1_700_000_000_000
STEPS = (ROWS - 2) // 2  # in the first window, behind the request and the agent
SECOND = 1_000


def span(place: Place) -> Span:
    return Span(
        id=place.id, parent=place.parent, name=place.id, kind=place.kind, what=place.id,
        state=place.of, start=place.start, end=place.end, depth=place.depth,
    )  # fmt: skip


def trace(*told: tuple[str, str, Kind, int, int], wrong: str = "") -> Trace:
    """(id, parent, kind, begin, end) each, in ms."""
    of = Outside(
        id="t", name="t", agent="", service="shop", state="completed", began=T0,
        ended=T0 + max(one[4] for one in told),
    )  # fmt: skip
    places = [
        Place(id, parent, T0 + begin, T0 + end, kind, "", "failed" if id == wrong else "succeeded")
        for id, parent, kind, begin, end in told
    ]
    return arranging.arranged(of, places, span)


def steps(count: int) -> Trace:
    """A request that holds an agent that holds steps of a second, of a chain and a model each."""
    end = count * SECOND
    told: list[tuple[str, str, Kind, int, int]] = [
        ("post", "", "other", 0, end), ("clerk", "post", "agent", 0, end),
    ]  # fmt: skip
    for n in range(count):
        at = n * SECOND
        told.append((f"chain{n}", "clerk", "other", at, at + 900))
        told.append((f"model{n}", f"chain{n}", "model", at, at + 800))
    return trace(*told, wrong="model7")


def test_what_only_holds_others_is_idle_while_they_are() -> None:
    held = trace(
        ("post", "", "other", 0, 3_600_000), ("ask", "post", "model", 0, 1_000),
        ("again", "post", "model", 3_599_000, 3_600_000),
    )  # fmt: skip
    busy = trace(
        ("post", "", "other", 0, 3_600_000), ("query", "post", "other", 0, 3_600_000),
    )  # fmt: skip

    assert [one.is_folded for one in waterfall.axis(held)] == [False, True, False]
    assert [one.is_folded for one in waterfall.axis(busy)] == [False]


def test_the_axis_of_a_window_is_not_that_of_what_goes_on_behind_it() -> None:
    found = steps(300)

    first = rows.shown(found, Narrowed())
    second = rows.shown(found, Narrowed(start=ROWS))

    assert (first.axis[0].start, first.axis[-1].end) == (T0, T0 + (STEPS - 1) * SECOND + 900)
    assert second.axis[0].start == T0 + STEPS * SECOND
    assert second.axis[-1].end < T0 + 2 * (STEPS + 1) * SECOND


def test_the_map_shows_what_works_however_deep_it_lies() -> None:
    found = steps(300)

    drawn = minimap.drawn(found, rows.shown(found, Narrowed(start=ROWS)))

    assert drawn is not None
    assert {look for one in drawn.buckets for look, _, _ in one.parts} == {"model"}
    assert [at for at, one in enumerate(drawn.buckets) if one.is_wrong] == [3]
    assert (drawn.begin, drawn.width) == (63.3, 66.4)  # seconds 19 to 39 of 300


def test_the_bar_names_what_is_nobodys_time() -> None:
    parts = waterfall.parts(steps(4), "everything else")

    assert [(one.words, one.lasted) for one in parts] == [
        ("model", 3_200), ("everything else", 800),
    ]  # fmt: skip
