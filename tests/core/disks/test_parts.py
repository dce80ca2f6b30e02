"""Versions made of versions: a folder of one, the same with other bytes, and what is the same."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.core.disks.disks import Disks
from studio.core.disks.limits import Limits
from studio.core.rules.errors import Invalid, NotFound, TooLarge


@pytest.fixture
def disks(tmp_path: Path) -> Disks:
    return Disks(tmp_path / "store")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    top = tmp_path / "work"
    (top / "a/deep").mkdir(parents=True)
    (top / "a/one").write_text("1")
    (top / "a/deep/two").write_text("22")
    (top / "b").write_text("333")
    os.symlink("/etc", top / "link")
    os.symlink("deep", top / "a/inner")
    os.mkfifo(top / "a/pipe")
    return top


def test_a_part_is_what_keeping_that_folder_makes(disks: Disks, work: Path) -> None:
    whole = disks.keep(work)

    part = disks.version(disks.part(whole.digest, "a"))
    alone = disks.keep(work, path="a").version

    assert part == alone
    assert (part.files, part.folders, part.links, part.size) == (2, 1, 1, 3)
    assert part.skipped == (("pipe", "fifo"),)
    assert disks.version(disks.part(whole.digest, "a/deep")).skipped == ()
    assert disks.part(whole.digest, "") == whole.digest


@pytest.mark.parametrize(
    "path", ["link", "b", "none", "..", "a/..", "link/x", "a//deep", "a/inner"]
)
def test_only_a_folder_is_kept_and_no_link_leads_there(disks: Disks, work: Path, path: str) -> None:
    with pytest.raises(NotFound):
        disks.keep(work, path=path)


def test_a_part_has_its_own_limits(disks: Disks, work: Path) -> None:
    whole = disks.keep(work).digest

    with pytest.raises(TooLarge, match="more than 2 files"):
        disks.part(whole, "a", limits=Limits(files=2))
    with pytest.raises(TooLarge, match="more than 2 bytes"):
        disks.part(whole, "a", limits=Limits(bytes=2))
    with pytest.raises(Invalid):
        disks.part(whole, "b")
    with pytest.raises(NotFound):
        disks.part(whole, "none")


def test_changed_bytes_make_another_tree_and_unchanged_the_same(disks: Disks, work: Path) -> None:
    (work / "large").write_bytes(b"x" * 3_000_000 + b"two")
    whole = disks.keep(work).digest

    def louder(pieces: Iterator[bytes]) -> Iterator[bytes]:
        yield b"".join(pieces).replace(b"22", b"two two").replace(b"xtwo", b"xTWO")

    changed = disks.changed(whole, louder)
    same = disks.changed(whole, lambda pieces: pieces)

    assert same == whole
    assert {one.path: one.what for one in disks.diff(whole, changed)} == {
        "a/deep/two": "changed", "large": "changed",
    }  # fmt: skip
    assert b"".join(disks.pieces(disks.entry(changed, "a/deep/two").hash)) == b"two two"
    assert disks.version(changed).size == disks.version(whole).size + 5
    assert disks.check(changed) > 3_000_000


def test_a_touched_tree_is_the_same_and_another_mode_is_not(disks: Disks, work: Path) -> None:
    first = disks.keep(work).digest
    os.utime(work / "b", (1, 1))
    touched = disks.keep(work).digest
    (work / "b").chmod(0o700)
    moded = disks.keep(work).digest

    assert first != touched
    assert disks.same(first, touched)
    assert not disks.same(first, moded)
