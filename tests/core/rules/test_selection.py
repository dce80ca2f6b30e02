"""What is kept of an answer, and what is said when it is not there."""

import pytest

from studio.core.rules import selection

ANSWER = {"data": {"items": [{"id": 1, "a/b": "x"}, {"id": 2, "a/b": "y"}], "next": None}, "0": "z"}


@pytest.mark.parametrize(
    "select,kept",
    [
        ("", ANSWER),
        ("data.next", None),
        ("data.items[1].id", 2),
        ("data.items[*].id", [1, 2]),
        ('data.items[0]["a/b"]', "x"),
        ("/data/items/0/a~1b", "x"),
        ("/0", "z"),
        ({"ids": "data.items[*].id", "first": "/data/items/0/id"}, {"ids": [1, 2], "first": 1}),
    ],
)
def test_it_keeps_what_was_asked_for(select, kept):
    assert selection.fault(select) is None
    assert selection.of(ANSWER, select) == kept


@pytest.mark.parametrize(
    "select,words",
    [
        ("data.item", "nothing at “data.item”: “data” has no field “item”"),
        ("nothing", "it has no field “nothing”"),
        ("data.items[2].id", "“data.items” has fewer than 3 entries"),
        ("data[0]", "“data” is no list"),
        ("data.next[*]", "“data.next” is no list"),
        ("data.items[*].name", "has no field “name”"),
        ("/data/items/9", "fewer than 10"),
        ({"a": "data.next", "b": "gone"}, "“gone”"),
    ],
)
def test_what_is_not_there_is_named_and_nothing_else_of_the_answer(select, words):
    with pytest.raises(selection.Unfit, match="has nothing at") as caught:
        selection.of(ANSWER, select)

    assert words in str(caught.value)
    assert "next" not in str(caught.value) or "next" in str(select)


@pytest.mark.parametrize("select", [3, "a..b", "[", "/a~2", {}, {"a": 1}, {"a": "["}, ["a"]])
def test_a_selection_that_is_none_is_refused(select):
    assert selection.fault(select)
