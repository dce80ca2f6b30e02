"""Places inside a JSON value, written and read back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core.rules import paths

PARTS = st.one_of(st.text(max_size=8), st.integers(0, 999), st.just(paths.EACH))


@given(st.lists(PARTS, max_size=6).map(tuple))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_what_was_written_is_read_back(path):
    assert paths.parse(paths.write(path)) == path


@pytest.mark.parametrize(
    "text,path",
    [
        ("", ()),
        ("rollout.percent", ("rollout", "percent")),
        ("files[0].name", ("files", 0, "name")),
        ("to[*]", ("to", paths.EACH)),
        ('a["b.c"].d', ("a", "b.c", "d")),
        ('["x"][2]', ("x", 2)),
    ],
)
def test_usual_paths_are_read(text, path):
    assert paths.parse(text) == path


@pytest.mark.parametrize(
    "text",
    ["a..b", ".a", "a.", "a b", "a[", "a[x]", 'a["x]', "a[-1]", "ä", "a" * 3000, "a" + "[0]" * 80,
     'a["\\x"]'],
)  # fmt: skip
def test_what_is_no_path_is_none(text):
    assert paths.parse(text) is None
