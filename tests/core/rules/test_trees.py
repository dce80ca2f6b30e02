"""Spans as a tree: in order, children within parents, and nothing lost whatever the parents say."""

from hypothesis import given
from hypothesis import strategies as st

from studio.core.rules import trees
from studio.core.rules.spans import Span

ROOT = "root"


def span(id: str, parent: str, start: int, end: int | None) -> Span:
    return Span(
        id=id, parent=parent, name=id, kind="tool", what=id, state="succeeded", start=start, end=end
    )


def root(end: int | None = 100) -> Span:
    return Span(
        id=ROOT, parent="", name="root", kind="agent", what="helper", state="succeeded", start=0,
        end=end, depth=0,
    )  # fmt: skip


def test_children_stand_behind_their_parent_by_their_start() -> None:
    found = trees.grown(
        root(), [span("b", ROOT, 50, 60), span("a1", "a", 12, 14), span("a", ROOT, 10, 20)]
    )

    assert [(one.id, one.depth) for one in found] == [(ROOT, 0), ("a", 1), ("a1", 2), ("b", 1)]
    assert trees.ends(found) == [4, 3, 3, 4]


def test_what_reaches_beyond_its_parent_is_cut_and_says_so() -> None:
    found = trees.grown(root(), [span("a", ROOT, 10, 20), span("b", "a", 5, 40)])

    assert [(one.start, one.end, one.is_cut) for one in found[1:]] == [
        (10, 20, False), (10, 20, True),
    ]  # fmt: skip


def test_circles_and_parents_that_never_came_hang_on_the_root() -> None:
    lost = [span("a", "b", 1, 2), span("b", "a", 3, 4), span("c", "nobody", 5, 6)]

    found = trees.grown(root(), lost)

    assert {one.id for one in found} == {ROOT, "a", "b", "c"}
    assert {one.id: one.parent for one in found} == {ROOT: "", "a": ROOT, "b": "a", "c": ROOT}


def test_agents_nest_as_deep_as_they_like() -> None:
    chain = [span(f"s{n}", f"s{n - 1}" if n else ROOT, n, None) for n in range(5_000)]

    found = trees.grown(root(None), chain)

    assert found[-1].depth == 5_000


NAMES = st.sampled_from([f"s{n}" for n in range(12)])
ANY = st.builds(
    lambda id, parent, a, b, is_open: span(id, parent, a, None if is_open else b),
    NAMES, st.one_of(NAMES, st.just(ROOT)), st.integers(-50, 150), st.integers(-50, 150),
    st.booleans(),
)  # fmt: skip


@given(st.lists(ANY, max_size=20, unique_by=lambda one: one.id), st.booleans())
def test_whatever_is_given_becomes_one_tree(spans: list[Span], is_open: bool) -> None:
    ids = {one.id for one in spans} | {ROOT}

    found = trees.grown(root(None if is_open else 100), spans)

    by_id = {one.id: one for one in found}
    assert set(by_id) == ids
    assert len(found) == len(ids)
    for at, one in enumerate(found[1:], 1):
        parent = by_id[one.parent]
        assert found.index(parent) < at
        assert one.depth == parent.depth + 1
        assert parent.start <= one.start
        assert one.end is None or one.end >= one.start
        if parent.end is not None:
            assert one.end is not None
            assert one.end <= parent.end
