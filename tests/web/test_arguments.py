"""Arguments on a card: exact, whole or honestly cut, whatever their size and depth."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.web import arguments

# Drawing cases is slow on a busy machine; that says nothing of what is tested.
STEADY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)  # fmt: skip


def nested(levels, inner="end"):
    value = inner
    for _ in range(levels):
        value = {"k": value}
    return value


def nodes(node):
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        stack += found.children


def printed(node):
    """All that a page prints of a tree."""
    return "".join(
        found.key + "".join(text for text, _, _ in found.chars) + found.text
        for found in nodes(node)
    )


def cuts(node):
    return [found.text for found in nodes(node) if found.kind == "cut"]


def value_of(node):
    """The value a tree shows, put together again from what is printed."""
    match node.kind:
        case "object":
            return {child.key: value_of(child) for child in node.children}
        case "array":
            return [value_of(child) for child in node.children]
        case "string":
            return node.text
        case _:
            return json.loads(node.text)


def test_a_tree_has_the_exact_values_in_their_order():
    value = {"version": "4.2.0", "percent": 50, "dry": False, "to": ["a", None, {}], "n": 1.5}

    root = arguments.tree(value)

    assert [(child.key, child.kind, child.text) for child in root.children] == [
        ("version", "string", "4.2.0"), ("percent", "number", "50"), ("dry", "bool", "false"),
        ("to", "array", ""), ("n", "number", "1.5"),
    ]  # fmt: skip
    assert [child.kind for child in root.children[3].children] == ["string", "null", "object"]
    assert (root.complete, root.hidden_count, root.hidden_characters) == (True, 0, 0)


@given(JSON)
@settings(STEADY, max_examples=150)
def test_a_complete_tree_shows_the_whole_value_and_its_size(value):
    root = arguments.tree(value)

    assert root.complete
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert root.size == len(text.encode("utf-8", "surrogatepass"))
    if root.hidden_characters == 0 and "\n" not in text and "\\" not in text:
        assert value_of(root) == json.loads(text)


@given(JSON, st.integers(0, 60))
@settings(STEADY, max_examples=150)
def test_what_is_cut_is_never_called_complete(value, cut):
    root = arguments.tree(value, cut=cut)

    if root.complete:
        text = printed(root)
        assert cuts(root) == []
        assert "more characters" not in text or "more characters" in json.dumps(value)


# Large and deep -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 1_000, 65_000, 10_000_000])
def test_a_text_of_any_size_is_shown_or_counted(size):
    root = arguments.tree({"text": "x" * size, "danger": True})

    assert root.size == size + 25
    assert root.complete is (size < 65_500)
    assert root.children[1].text == "true"


def test_a_cut_text_keeps_its_end_and_says_how_much_is_missing():
    text = "head " + "x" * 1_000_000 + " tail: --force"

    (node,) = arguments.tree({"command": text}, cut=3_000).children

    assert node.text.startswith("head ")
    assert node.text.endswith(" tail: --force")
    assert f"… {node.hidden_count:,} more characters, {node.hidden_count:,} bytes …" in node.text
    assert len(text) - node.hidden_count < 3_100


def test_bytes_and_characters_of_a_cut_text_are_told_apart():
    (node,) = arguments.tree({"text": "é" * 100_000}, cut=1_000).children

    assert f"{node.hidden_count:,} more characters, {node.hidden_count * 2:,} bytes" in node.text


def test_entries_that_are_not_shown_are_counted_with_their_bytes():
    value = [{"number": number} for number in range(50_000)]

    root = arguments.tree(value, cut=10_000)

    (words,) = cuts(root)
    shown = len(root.children) - 1
    left = len(json.dumps(value[shown:], separators=(",", ":"))) - 1
    assert words == f"… {50_000 - shown:,} more entries, {left:,} bytes"
    assert root.hidden_count == 50_000 - shown
    assert root.size == len(json.dumps(value, separators=(",", ":")))


def test_one_large_field_does_not_push_out_the_small_ones():
    value = {"large": "x" * 1_000_000, **{f"f{number}": number for number in range(20)}}

    root = arguments.tree(value, cut=5_000)

    assert [child.key for child in root.children] == list(value)
    assert all(child.complete for child in root.children[1:])


@pytest.mark.parametrize("levels", [1, 24, 25, 400, 2_000, 20_000])
def test_a_value_of_any_depth_is_shown_whole(levels):
    root = arguments.tree(nested(levels, "the bad flag"), cut=None)

    assert root.complete
    assert "the bad flag" in printed(root)
    assert root.size == levels * 6 + 14
    assert len(list(nodes(root))) <= arguments.DEEPEST + 2


def test_a_deep_and_large_value_is_cut_and_says_so():
    root = arguments.tree(nested(2_000, "x" * 1_000_000), cut=4_000)

    assert not root.complete
    assert "more characters" in printed(root)


def test_the_whole_of_very_many_entries_is_shown_as_json_text():
    value = list(range(30_000))

    root = arguments.tree(value, cut=None)

    assert (root.kind, root.complete) == ("json", True)
    assert json.loads(root.text) == value


def test_the_whole_of_a_large_value_leaves_nothing_out():
    value = {"log": "line\n" * 100_000, "rows": [[number] for number in range(20_000)]}

    root = arguments.tree(value, cut=None)

    assert root.complete
    assert cuts(root) == []
    assert root.children[0].text == value["log"]


def test_a_number_too_long_to_write_is_said_to_be():
    (node,) = arguments.tree({"number": 1 << 20_000}).children

    assert node.text == "(a number of 20,001 bits)"


def test_a_very_long_key_is_cut_and_counted():
    (node,) = arguments.tree({"k" * 5_000_000: 1}, cut=1_000).children

    assert not node.complete
    head, _, words = node.key.partition("… ")
    assert words == f"{5_000_000 - len(head):,} more characters"


# Characters ---------------------------------------------------------------------------------------


def test_hidden_characters_are_marked_in_values_and_keys():
    root = arguments.tree({"na\u200bme": "a\u202eb"})

    (node,) = root.children
    assert node.key == "na\\u200bme"
    assert ("\u202e", True, "U+202E right-to-left override") in node.chars
    assert ("\u200b", True, "U+200B zero width space") in node.key_chars
    assert root.hidden_characters == 2


@pytest.mark.parametrize(
    "letter", ["\0", "\x1b", "\b", "\r", "\x7f", "\u200b", "\ud800", "\U000e0041"]
)
def test_hidden_characters_count_also_where_they_are_not_shown(letter):
    text = "x" * 100_000 + letter + "\\u0000 \\b \n\t" + "y" * 100_000

    assert arguments.tree({"a": text}, cut=500).hidden_characters == 1


def test_no_control_character_reaches_the_page():
    root = arguments.tree({"a\x1b\0": "b\x1b]8;;http://x\x07\r\0" + chr(0xD800)})

    text = printed(root.children[0]).replace(root.children[0].text, "")
    text.encode()
    assert text.isprintable()


def test_warnings_come_first_and_say_what_to_look_for():
    root = arguments.tree({"host": "https://\u0430\u0440\u0440\u04cf\u0435.com", "x": "a\u202eb"})

    assert arguments.warnings(root) == [
        "1 hidden character, each marked.",
        "“\u0430\u0440\u0440\u04cf\u0435.com”: "
        "xn--80ak6aa92e.com is the name that would be asked for.",
    ]  # fmt: skip
    assert arguments.warnings(arguments.tree({"a": 1})) == []
    assert arguments.warnings(arguments.tree("x" * 500, cut=10)) == [
        "Not all of it is shown: it has 502 bytes."
    ]


# Differences --------------------------------------------------------------------------------------


def test_a_difference_names_the_place_with_before_and_after():
    old = {"percent": 50, "to": ["a", "b"], "window": {"from": "9:00"}, "gone": 1}
    new = {"percent": 20, "to": ["a", "c", "d"], "window": {"from": "9:00"}, "odd.name": None}

    found = arguments.diff(old, new)

    assert [
        (one.path, one.before and one.before.text, one.after and one.after.text) for one in found
    ] == [
        ("percent", "50", "20"), ("to[1]", "b", "c"), ("to[2]", None, "d"),
        ('["odd.name"]', None, "null"), ("gone", "1", None),
    ]  # fmt: skip


@given(JSON)
@settings(STEADY, max_examples=100)
def test_nothing_differs_from_itself(value):
    assert arguments.diff(value, json.loads(json.dumps(value))) == []


@pytest.mark.parametrize(
    "one,two", [(1, True), (0, False), ("1", 1), (None, 0), ([], {}), ([1], [True])]
)
def test_what_python_takes_for_equal_may_differ(one, two):
    assert arguments.diff({"a": one}, {"a": two}) != []
    assert arguments.diff({"a": 1}, {"a": 1.0}) == []


def test_deep_values_are_compared_without_recursion():
    assert arguments.diff(nested(20_000), nested(20_000)) == []
    assert len(arguments.diff(nested(20_000), nested(20_000, "other"))) == 1


def test_a_difference_is_bounded():
    assert len(arguments.diff({}, {str(number): number for number in range(1_000)})) == 200


def test_an_edited_tree_carries_the_old_value_where_it_changed():
    old = {"percent": 50, "window": {"from": "9:00", "to": "12:00"}, "to": ["a"], "gone": 1}
    new = {"percent": 20, "window": {"from": "9:00", "to": "11:00"}, "to": ["b"], "extra": True}

    root = arguments.edited(old, new)

    by_key = {child.key: child for child in root.children}
    assert by_key["percent"].was.text == "50"
    assert by_key["to"].was.children[0].text == "a"
    assert by_key["window"].was is None
    assert by_key["window"].children[0].was is None
    assert by_key["window"].children[1].was.text == "12:00"
    assert by_key["extra"].was.text == "not given"
    assert (by_key["gone"].text, by_key["gone"].was.text) == ("taken out", "1")


# One line -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value,line",
    [
        ({"version": "4.2.0", "percent": 50}, 'version "4.2.0", percent 50'),
        ({"a": {"b": 1}, "c": [1, 2], "d": None, "e": [], "f": {}},
         "a {1}, c [2], d null, e [], f {}"),
        ({"note": "x" * 100, "b": 1, "c": 2}, 'note "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx…, +2'),
        ({"a": 1, "note": "x" * 100, "c": 2}, "a 1, +2"),
        ({"a\n": "b\u202e\n"}, 'a\\n "b\\u202e\\n"'),
        ({}, "no arguments"),
        ([1, "x"], '1, "x"'),
        ("text", '"text"'),
        (True, "true"),
    ],
)  # fmt: skip
def test_a_summary_is_one_line(value, line):
    assert arguments.summary(value, 40) == line


@given(JSON, st.integers(10, 80))
@settings(STEADY, max_examples=200)
def test_a_summary_never_exceeds_its_width_and_is_printable(value, width):
    line = arguments.summary(value, width)

    assert len(line) <= max(width, len("no arguments"))
    assert line.isprintable()


def test_a_summary_of_something_large_looks_at_little_of_it():
    assert arguments.summary({"x": "y" * 10_000_000, "k" * 1_000_000: 1}, 30).endswith("…, +1")
    assert arguments.summary(nested(50_000), 30) == "k {1}"


def test_deep_arrays_are_written_without_recursion():
    deep = 1
    for _ in range(3_000):
        deep = [deep, {"k": "v", "l": 2}]

    root = arguments.tree(deep, cut=None)

    assert root.complete
    assert root.size == 3_000 * len('[,{"k":"v","l":2}]') + 1


@pytest.mark.parametrize("one,two", [([1], [1, 2]), ({"a": 1}, {"b": 1})])
def test_values_of_another_length_or_with_other_names_differ(one, two):
    deep_one, deep_two = nested(30, one), nested(30, two)

    assert len(arguments.diff(deep_one, deep_two)) == 1


def test_an_edit_of_a_cut_tree_keeps_what_is_not_shown():
    value = {str(number): number for number in range(5_000)}

    root = arguments.edited({**value, "0": 9}, value, cut=2_000)

    assert root.children[0].was.text == "9"
    assert root.children[-1].kind == "cut"
