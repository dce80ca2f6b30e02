"""Tables and the list of them: found by halves, merged when many, refused when damaged."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.core.disks import tables
from studio.core.disks.index import MOST_TABLES, Index
from studio.core.disks.tables import Place, Table
from studio.core.rules.errors import Unavailable

PLACES = st.builds(
    Place, pack=st.sampled_from(["00" * 8, "ab" * 8, "ff" * 8]), packing=st.integers(0, 1),
    offset=st.integers(0, 2**50), stored=st.integers(0, 2**40), size=st.integers(0, 2**40),
)  # fmt: skip
HASHES = st.binary(min_size=32, max_size=32)


def one(number: int) -> tuple[bytes, Place]:
    return hashlib.sha256(b"%d" % number).digest(), Place("ab" * 8, 0, number, number, number)


@given(st.dictionaries(HASHES, PLACES, max_size=20), HASHES)
def test_a_table_finds_what_is_in_it_and_nothing_else(tmp_path_factory, places, other):
    path = tmp_path_factory.mktemp("tables") / "one.table"
    tables.write(path, places)

    table = Table(path)

    assert {sha: table.find(sha) for sha in places} == places
    assert dict(table.rows()) == places
    assert table.find(other) == places.get(other)


def test_a_damaged_table_is_known(tmp_path: Path):
    path = tmp_path / "one.table"
    tables.write(path, dict(one(number) for number in range(9)))
    data = path.read_bytes()

    for damaged in (data[:-1], data[:20], b"", data[:200] + b"!" + data[201:], data + b"!"):
        path.write_bytes(damaged)
        with pytest.raises(tables.Broken):
            Table(path)


def test_tables_are_merged_and_two_doors_agree(tmp_path: Path):
    first, second = Index(tmp_path), Index(tmp_path)
    for number in range(40):
        (first, second)[number % 2].add(dict([one(number)]))
    first.refresh()

    assert all(first.find(one(number)[0]) == one(number)[1] for number in range(40))
    assert len(list(tmp_path.glob("*.table"))) <= MOST_TABLES
    assert first.all() == dict(one(number) for number in range(40))


def test_a_large_table_is_not_written_again_for_small_ones(tmp_path: Path):
    index = Index(tmp_path)
    index.add(dict(one(number) for number in range(5_000)))
    (large,) = tmp_path.glob("*.table")

    for number in range(5_000, 5_040):
        index.add(dict([one(number)]))

    assert large.exists()


def test_the_epoch_changes_only_when_something_goes(tmp_path: Path):
    index = Index(tmp_path)
    began = index.epoch
    index.add(dict([one(1)]))
    assert index.epoch == began == Index(tmp_path).epoch

    index.replace({})

    assert index.epoch != began
    assert index.find(one(1)[0]) is None


@pytest.mark.parametrize("text", ["", "[]", '{"epoch": "x"}', "{"])
def test_a_damaged_list_is_told(tmp_path: Path, text: str):
    index = Index(tmp_path)
    (tmp_path / "list.json").write_text(text)

    with pytest.raises(Unavailable, match=r"index/list\.json"):
        index.refresh()


def test_a_damaged_table_is_told_by_its_name(tmp_path: Path):
    Index(tmp_path).add(dict([one(1)]))
    (table,) = tmp_path.glob("*.table")
    table.write_bytes(table.read_bytes()[:-1])

    with pytest.raises(Unavailable, match=f"index/{table.name}"):
        Index(tmp_path)
