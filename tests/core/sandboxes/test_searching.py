"""Lines that match: in order, within bounds, and ended when a pattern takes too long."""

import os
import time

import pytest

from studio.core.sandboxes import searching
from studio.core.sandboxes.contract import Match, SandboxError


async def test_lines_are_found_by_path_and_line(tmp_path):
    (tmp_path / "b.txt").write_text("no\nneedle two\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.py").write_text("needle one\r\n")
    (tmp_path / "binary").write_bytes(b"needle\0")
    (tmp_path / "link").symlink_to("b.txt")
    os.mkfifo(tmp_path / "pipe")

    found = await searching.grep(tmp_path, r"needle \w+", within="**/*", most=10)

    assert found.matches == (
        Match(path="a/x.py", line=1, text="needle one"),
        Match(path="b.txt", line=2, text="needle two"),
    )
    assert not found.more


async def test_matches_have_a_bound_and_files_a_pattern(tmp_path):
    (tmp_path / "a.py").write_text("x\n" * 9)
    (tmp_path / "a.txt").write_text("x\n" * 9)

    found = await searching.grep(tmp_path, "x", within="*.py", most=5)

    assert [(match.path, match.line) for match in found.matches] == [
        ("a.py", line) for line in range(1, 6)
    ]
    assert found.more


async def test_a_pattern_that_takes_too_long_is_ended(tmp_path):
    (tmp_path / "a").write_text("a" * 5_000 + "b")
    began = time.monotonic()

    with pytest.raises(SandboxError) as refused:
        await searching.grep(tmp_path, "(a+)+$", within="**", most=5, seconds=0.5)

    assert refused.value.code == "pattern.bad"
    assert "simpler" in refused.value.message
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("pattern", ["(", "", "a" * 2_000, "(?P<a>x)(?P<a>y)"])
async def test_what_is_no_pattern_is_refused(tmp_path, pattern):
    with pytest.raises(SandboxError) as refused:
        await searching.grep(tmp_path, pattern, within="**", most=5)

    assert refused.value.code == "pattern.bad"


async def test_long_lines_are_cut_and_odd_names_are_shown(tmp_path):
    with open(os.fsencode(tmp_path) + b"/\xff", "wb") as file:
        file.write(b"x" * 100_000)

    (match,) = (await searching.grep(tmp_path, "x", within="**", most=5)).matches

    assert (match.path, len(match.text)) == ("\\xff", searching.LONGEST_TEXT)
