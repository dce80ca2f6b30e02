"""A path goes into an address and comes back, whatever bytes it has."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.core.rules import percent


@given(st.binary().map(os.fsdecode))
def test_every_path_comes_back(path: str) -> None:
    query = f"a=1&path={percent.written(path)}&b=2".encode("ascii")

    assert percent.asked(query, "path") == path


@pytest.mark.parametrize(
    "query, path",
    [
        (b"", ""),
        (b"path=", ""),
        (b"other=x", ""),
        (b"path=a%2Fb+c", "a/b c"),
        ("path=ü".encode(), "ü"),
        (b"path=%ff", "\udcff"),
        (b"path=\xff", "\udcff"),
        (b"path=a&path=b", "a"),
    ],
)
def test_what_is_asked_is_read_as_bytes(query: bytes, path: str) -> None:
    assert percent.asked(query, "path") == path


def test_what_is_no_text_has_a_sign_in_its_place() -> None:
    assert percent.clean("a\udcff\udce2b") == "a\ufffd\ufffdb"
