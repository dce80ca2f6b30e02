"""The table of what each kind enforces: complete, in words, the same as in the documentation."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from studio.core.sandboxes import gaps
from studio.core.sandboxes.box.probe import machine
from studio.core.sandboxes.contract import Command, SandboxError

DOCUMENT = Path(__file__).parents[3] / "docs/kinds.md"


def test_the_table_of_the_documentation_is_this_one():
    assert gaps.table() in DOCUMENT.read_text("utf-8")


@pytest.mark.parametrize("row", gaps.ROWS, ids=lambda row: row.key)
def test_every_promise_says_of_every_column_what_becomes_of_it(row):
    assert tuple(row.cells) == gaps.COLUMNS
    for cell in row.cells.values():
        words = cell.words if isinstance(cell, gaps.Needs) else cell
        assert words is None or (words[0].isupper() and words.endswith("."))


def test_a_key_is_there_once():
    assert len(gaps.KEYS) == len(gaps.ROWS)


def rows(column, *features, **more) -> set[str]:
    return {gap.row for gap in gaps.gaps(column, features, **more)}


def test_bubblewrap_with_everything_has_no_gap():
    assert rows("bubblewrap", "cgroups", "filter", "own_user", places=True) == set()


async def test_without_a_user_of_their_own_commands_under_landlock_change_modes_outside(
    make_box, tmp_path
):
    (tmp_path / "store").write_text("the studio's")
    held = replace(machine("landlock", "for tests"), user=None)

    await make_box(held=held).shell(Command(line=f"chmod 000 {tmp_path}/store"))

    assert (tmp_path / "store").stat().st_mode & 0o777 == 0
    assert "system" in rows("landlock", *held.features)
    assert "system" not in rows("landlock", "own_user")


def test_each_weaker_isolation_has_every_gap_of_the_stronger():
    features = ("cgroups", "filter", "own_user")
    for count in range(4):
        for there in itertools.combinations(features, count):
            strong, less, least = (
                rows(column, *there, places=True) for column in ("bubblewrap", "landlock", "none")
            )
            assert strong <= less <= least


def test_a_feature_more_is_never_a_gap_more():
    features = ("cgroups", "filter", "own_user", "memory", "pids", "seccomp", "relay", *gaps.KEYS)
    for column in gaps.COLUMNS:
        for feature in features:
            assert rows(column, feature, places=True) <= rows(column, places=True)


def test_an_allow_list_is_a_promise_only_where_there_is_one():
    assert "allow_list" not in rows("container")
    assert "allow_list" in rows("container", places=True)


def test_what_was_loosened_is_a_gap_and_says_so():
    (gap,) = gaps.gaps("bubblewrap", ("cgroups", "filter", "own_user"), loosened=("system",))

    assert (gap.row, gap.words) == ("system", "It was loosened for this environment.")


def test_a_refusal_names_every_gap():
    found = gaps.gaps("landlock", ("filter",))

    with pytest.raises(SandboxError) as refused:
        gaps.refuse(found)

    assert refused.value.code == "sandbox.unavailable"
    assert all(gap.title in refused.value.message for gap in found)


def test_without_gaps_nothing_is_refused():
    gaps.refuse(())
