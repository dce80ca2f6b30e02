"""Collecting: what a version needs stays, what none needs goes, and nobody is disturbed."""

import os
import threading
from pathlib import Path

import pytest

from studio.core.disks.disks import Disks
from studio.core.rules.errors import NotFound, Unavailable
from tests.core.disks import folders


def size(store: Path) -> int:
    return sum(folders.files(store).values())


def test_what_no_version_needs_goes(disks: Disks, work: Path, tmp_path: Path):
    first = disks.keep(work).digest
    before = size(tmp_path / "store")
    (work / "large").write_bytes(os.urandom(9_000_000))
    (work / "notes.txt").write_text("other")
    second = disks.keep(work).digest

    done = disks.collect([first], grace=0)

    assert (done.versions, done.missing) == (1, ())
    assert done.objects == 3  # two files and the top folder
    assert size(tmp_path / "store") <= before
    with pytest.raises(NotFound):
        disks.version(second)
    disks.restore(first, tmp_path / "again")


def test_what_was_just_kept_stays_without_being_named(disks: Disks, work: Path, tmp_path: Path):
    digest = disks.keep(work).digest

    done = disks.collect([], grace=60)

    assert done.versions == 0
    disks.restore(digest, tmp_path / "again")


def test_keeping_the_same_again_begins_the_grace_anew(disks: Disks, work: Path, tmp_path: Path):
    digest = disks.keep(work).digest
    os.utime(tmp_path / "store" / "versions" / f"{digest}.json", (0, 0))
    disks.keep(work)

    assert disks.collect([], grace=60).versions == 0


def test_packs_that_are_mostly_dead_are_written_anew(disks: Disks, work: Path, tmp_path: Path):
    for number in range(40):
        (work / f"{number}").write_bytes(os.urandom(50_000))
    disks.keep(work)
    for number in range(1, 40):
        (work / f"{number}").unlink()
    digest = disks.keep(work).digest

    done = disks.collect([digest], grace=0)

    assert done.freed > 39 * 50_000
    disks.restore(digest, tmp_path / "again")
    assert folders.told(tmp_path / "again") == folders.told(work)


def test_many_tiny_packs_become_one(disks: Disks, work: Path, tmp_path: Path):
    digests = []
    for number in range(70):
        (work / "notes.txt").write_text(f"{number}")
        digests.append(disks.keep(work).digest)

    disks.collect(digests, grace=0)

    assert len(list((tmp_path / "store" / "packs").iterdir())) == 1
    for digest in digests[::23]:
        disks.restore(digest, tmp_path / digest)


def test_an_old_cache_is_not_believed_after_a_collection(
    disks: Disks, work: Path, tmp_path: Path, settled: None
):
    cache = tmp_path / "cache"
    digest = disks.keep(work, cache=cache).digest
    disks.collect([], grace=0)

    kept = disks.keep(work, cache=cache)

    assert (kept.digest, kept.new, kept.files_read) == (digest, True, 9)
    disks.restore(digest, tmp_path / "again")


def test_a_version_that_is_not_there_is_told(disks: Disks, work: Path):
    digest = disks.keep(work).digest

    assert disks.collect([digest, "f" * 64], grace=0).missing == ("f" * 64,)


def test_nothing_is_taken_away_while_something_cannot_be_read(
    disks: Disks, work: Path, tmp_path: Path
):
    digest = disks.keep(work).digest
    (work / "notes.txt").unlink()
    disks.keep(work)
    for pack in (tmp_path / "store" / "packs").iterdir():
        pack.write_bytes(bytes(pack.stat().st_size))
    before = folders.files(tmp_path / "store")

    with pytest.raises(Unavailable, match="damaged"):
        disks.collect([digest], grace=0)

    assert folders.files(tmp_path / "store") == before


def test_a_restore_goes_on_while_packs_are_written_anew(disks: Disks, work: Path, tmp_path: Path):
    """Another door to the store still has the index of before."""
    other = Disks(tmp_path / "store")
    (work / "large").write_bytes(os.urandom(300_000))
    dead = disks.keep(work).digest
    (work / "large").unlink()
    live = disks.keep(work).digest
    other.diff(dead, live)
    disks.collect([live], grace=0)

    other.restore(live, tmp_path / "again")

    assert folders.told(tmp_path / "again") == folders.told(work)


def test_keeps_and_collections_at_once_lose_nothing(disks: Disks, work: Path, tmp_path: Path):
    over = threading.Event()
    wrong: list[BaseException] = []

    def keep(number: int) -> None:
        store, folder = Disks(tmp_path / "store"), folders.make(tmp_path / f"work-{number}")
        cache = tmp_path / f"cache-{number}"
        try:
            for turn in range(12):
                (folder / "turn").write_text(f"{turn % 3}")  # the same content comes again
                digest = store.keep(folder, cache=cache).digest
                store.restore(digest, tmp_path / f"again-{number}", replace=True)
                assert folders.told(tmp_path / f"again-{number}") == folders.told(folder)
        except BaseException as raised:  # noqa: BLE001 - it is told in the test's own thread
            wrong.append(raised)

    def collect() -> None:
        while not over.is_set():
            disks.collect([], grace=0.4)

    keeping = [threading.Thread(target=keep, args=(number,)) for number in range(3)]
    collecting = threading.Thread(target=collect)
    for thread in [*keeping, collecting]:
        thread.start()
    for thread in keeping:
        thread.join()
    over.set()
    collecting.join()

    assert wrong == []
