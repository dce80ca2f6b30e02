"""Whatever spans came make one tree, and none of them is lost."""

from hypothesis import given
from hypothesis import strategies as st

from studio.core.rules.outside.arranging import MADE, Place, arranged
from studio.core.rules.spans import Trace
from tests.core.rules.outside.spans import made, outside, place, span_id


def tree(*places: Place) -> Trace:
    return arranged(outside(), places, made)


def shape(trace: Trace) -> list[tuple[int, str]]:
    return [(span.depth, span.id.lstrip("0")) for span in trace.spans]


def test_children_stand_below_their_parents_by_their_beginning() -> None:
    found = tree(place(3, 1, start=2), place(2, 1, start=1), place(4, 2, start=3), place(1))

    assert shape(found) == [(0, "1"), (1, "2"), (2, "4"), (1, "3")]


def test_a_span_that_came_before_its_root_is_found_below_it() -> None:
    before, after = tree(place(2, 1, start=5)), tree(place(2, 1, start=5), place(1))

    assert shape(before) == [(0, ""), (1, "2")]
    assert shape(after) == [(0, "1"), (1, "2")]
    assert before.root.name == "trace of shop"


def test_a_span_whose_parent_never_came_stands_under_the_root_and_says_so() -> None:
    found = tree(place(1), place(2, 9))

    assert shape(found) == [(0, "1"), (1, "2")]
    assert found.spans[1].words == (
        "Its parent, span 0000000000000009, never came; it stands under the root."
    )


def test_of_a_ring_the_first_to_begin_stands_under_the_root() -> None:
    found = tree(place(1), place(2, 4, start=3), place(3, 2, start=1), place(4, 3, start=2))

    assert shape(found) == [(0, "1"), (1, "3"), (2, "4"), (3, "2")]
    assert "in a ring" in found.spans[1].words


def test_a_span_that_is_its_own_parent_is_a_ring_of_one() -> None:
    found = tree(place(1, 1))

    assert shape(found) == [(0, ""), (1, "1")]


def test_several_roots_stand_under_one_that_is_made() -> None:
    found = tree(place(1), place(2, start=1))

    assert found.root.id == MADE
    assert shape(found) == [(0, ""), (1, "1"), (1, "2")]


def test_no_spans_are_a_tree_too() -> None:
    found = tree()

    assert [span.words for span in found.spans] == ["No span is left."]


def test_the_path_that_the_end_waited_for_and_the_slowest_call_are_marked() -> None:
    found = tree(
        place(1, end=1_000), place(2, 1, end=400, kind="model"),
        place(3, 1, start=400, end=600, kind="tool"),
        place(4, 1, start=400, end=1_000, kind="tool"),
    )  # fmt: skip

    assert [span.id for span in found.spans if span.is_critical] == [span_id(2), span_id(4)]
    assert [span.id for span in found.spans if span.is_slowest] == [span_id(4)]
    assert (found.shares.model, found.shares.tool, found.shares.overhead) == (400, 600, 0)


def test_a_chain_of_any_length_is_walked() -> None:
    found = tree(*(place(n, n - 1, start=20_000 - n) for n in range(1, 20_001)))

    assert found.spans[-1].depth == 19_999


@given(
    st.lists(
        st.tuples(
            st.integers(1, 12), st.integers(0, 14), st.integers(0, 50),
            st.one_of(st.none(), st.integers(0, 60)),
            st.sampled_from(["agent", "model", "tool", "other"]),
        ),
        unique_by=lambda one: one[0],
    )
)  # fmt: skip
def test_any_spans_make_a_tree_and_none_is_lost(
    spans: list[tuple[int, int, int, int | None, str]],
) -> None:
    places = [place(n, p, start=a, end=b, kind=kind) for n, p, a, b, kind in spans]

    found = tree(*places)

    ids = [span.id for span in found.spans]
    assert sorted(set(ids) - {MADE}) == sorted(span_id(n) for n, *_ in spans)
    assert len(ids) == len(set(ids))
    depths = {span.id: span.depth for span in found.spans}
    above = {""}
    for span in found.spans:
        assert span.parent in above
        assert span.depth == (depths[span.parent] + 1 if span.parent else 0)
        above.add(span.id)
    assert [span.depth for span in found.spans].count(0) == 1
