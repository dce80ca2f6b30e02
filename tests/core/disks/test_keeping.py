"""Keeping: the same folder is the same version, and a changed one costs what changed."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from studio.core.disks.disks import Disks
from studio.core.disks.limits import Limits
from studio.core.rules.errors import NotFound, TooLarge
from tests.core.disks import folders


def test_an_unchanged_folder_is_the_same_version_and_writes_nothing(
    disks: Disks, work: Path, tmp_path: Path
):
    first = disks.keep(work)
    before = folders.files(tmp_path / "store")

    again = disks.keep(work)

    assert (first.new, again.new) == (True, False)
    assert again.digest == first.digest
    assert again.stored == 0
    assert folders.files(tmp_path / "store") == before


def test_two_stores_name_the_same_folder_alike(disks: Disks, work: Path, tmp_path: Path):
    assert Disks(tmp_path / "other").keep(work).digest == disks.keep(work).digest


def test_the_manifest_counts_what_is_there(disks: Disks, work: Path):
    version = disks.keep(work).version

    assert (version.files, version.folders, version.links) == (9, 4, 1)
    assert version.mode == 0o750
    assert version.size == sum(path.stat().st_size for path in work.rglob("*") if is_file(path))


def is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def test_equal_bytes_are_stored_once(disks: Disks, tmp_path: Path):
    data = os.urandom(100_000)
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number}").write_bytes(data)

    kept = disks.keep(folder)

    assert 100_000 <= kept.stored < 110_000


def test_a_large_file_that_is_there_already_is_not_stored_again(disks: Disks, tmp_path: Path):
    data = os.urandom(5 * 1024**2)
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / "a").write_bytes(data)
    disks.keep(folder)
    (folder / "b").write_bytes(data)

    kept = disks.keep(folder)

    assert kept.stored < 1_000
    assert len(list((tmp_path / "store" / "packs").iterdir())) == 3  # large, folder, folder


@pytest.mark.usefixtures("settled")
def test_with_a_cache_only_what_changed_is_read(disks: Disks, work: Path, tmp_path: Path):
    cache = tmp_path / "cache"
    first = disks.keep(work, cache=cache)
    assert disks.keep(work, cache=cache).files_read == 0
    (work / "notes.txt").write_text("other\n")

    kept = disks.keep(work, cache=cache)

    assert kept.files_read == 1
    assert kept.digest != first.digest


def test_a_file_changed_within_the_clocks_tick_is_read_again(
    disks: Disks, work: Path, tmp_path: Path
):
    cache = tmp_path / "cache"
    first = disks.keep(work, cache=cache)

    info = (work / "notes.txt").stat()
    (work / "notes.txt").write_text("HELLO\n")  # as long as before
    os.utime(work / "notes.txt", ns=(info.st_atime_ns, info.st_mtime_ns))

    assert disks.keep(work, cache=cache).digest != first.digest


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("damage", [b"", b"nonsense", b"{}\n{}"])
def test_a_damaged_cache_is_no_cache(disks: Disks, work: Path, tmp_path: Path, damage: bytes):
    cache = tmp_path / "cache"
    first = disks.keep(work, cache=cache)
    cache.write_bytes(damage)

    again = disks.keep(work, cache=cache)

    assert (again.digest, again.files_read) == (first.digest, 9)


def test_what_cannot_be_kept_is_passed_over_and_listed(disks: Disks, work: Path):
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(work / "src" / "socket"))
        kept = disks.keep(work)

    assert kept.version.skipped == (("pipe", "fifo"), ("src/socket", "socket"))


def test_setuid_and_setgid_are_dropped_and_said(disks: Disks, work: Path):
    (work / "notes.txt").chmod(0o4755)
    (work / "src").chmod(0o3755)

    kept = disks.keep(work)

    assert kept.stripped == ("notes.txt", "src")
    assert disks.entry(kept.digest, "notes.txt").mode == 0o755
    assert disks.entry(kept.digest, "src").mode == 0o1755


def test_a_link_is_kept_as_text_and_never_followed(disks: Disks, work: Path, tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("not of this disk")

    kept = disks.keep(work)

    assert disks.entry(kept.digest, "link").target == "../outside"
    assert kept.version.links == 1


def test_hard_links_become_files(disks: Disks, work: Path, tmp_path: Path):
    os.link(work / "notes.txt", work / "twin")

    disks.restore(disks.keep(work).digest, tmp_path / "again")

    assert (tmp_path / "again" / "twin").read_text() == "hello\n"
    assert (tmp_path / "again" / "twin").stat().st_nlink == 1


@pytest.mark.parametrize(
    "limits,words",
    [
        (Limits(files=5), "more than 5 files and folders"),
        (Limits(bytes=60_000), r"more than 60,000 bytes \(reached at random.bin\)"),
        (Limits(deepest=1), "more than 1 deep, at src/deep"),
    ],
)
def test_more_than_is_allowed_is_refused_with_words(
    disks: Disks, work: Path, tmp_path: Path, limits: Limits, words: str
):
    with pytest.raises(TooLarge, match=words):
        disks.keep(work, limits=limits)

    assert list((tmp_path / "store" / "packs").iterdir()) == []


def test_a_folder_that_is_not_there_is_told(disks: Disks, tmp_path: Path):
    with pytest.raises(NotFound, match="no folder missing to keep"):
        disks.keep(tmp_path / "missing")


WRITER = """
import sys
with open(sys.argv[1], "r+b", buffering=0) as file:
    print("writing", flush=True)
    while True:
        file.seek(0)
        file.write(b"more")
"""


def test_a_file_that_never_stands_still_is_listed(disks: Disks, work: Path):
    busy = work / "busy.log"
    busy.touch()
    os.truncate(busy, 64 * 1024**2)

    with subprocess.Popen([sys.executable, "-c", WRITER, busy], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"writing\n"
            kept = disks.keep(work)
        finally:
            writer.kill()

    assert kept.changed_while_kept == ("busy.log",)
    row = disks.entry(kept.digest, "busy.log")
    assert sum(map(len, disks.pieces(row.hash))) == row.size == 64 * 1024**2


def test_folders_that_turn_into_links_meanwhile_lead_nowhere(
    disks: Disks, work: Path, tmp_path: Path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("not of this disk")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            (work / "src").rename(work / "aside")
            (work / "src").symlink_to(outside)
            (work / "src").unlink()
            (work / "aside").rename(work / "src")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        digests = {disks.keep(work).digest for _ in range(40)}
    finally:
        over.set()
        swapper.join()

    (tmp_path / "none").mkdir()
    nothing = disks.keep(tmp_path / "none").digest
    found = {change.path for digest in digests for change in disks.diff(nothing, digest)}
    assert "notes.txt" in found
    assert not any(path.endswith("secret") for path in found)


def test_a_link_that_turns_into_a_file_meanwhile_is_listed(
    disks: Disks, work: Path, monkeypatch: pytest.MonkeyPatch
):
    reading = os.readlink

    def read(name: str, *, dir_fd: int) -> str:
        """What a process of the agent does between our look at a link and our reading it."""
        os.unlink(name, dir_fd=dir_fd)
        (work / name).write_text("a file now")
        return reading(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "readlink", read)
    kept = disks.keep(work)
    monkeypatch.undo()

    assert "link" in kept.changed_while_kept
    assert (kept.version.links, kept.version.files) == (0, 9)
    assert disks.keep(work).version.files == 10


def test_several_keeps_at_once_share_one_store(disks: Disks, work: Path, tmp_path: Path):
    other = Disks(tmp_path / "store")
    found: list[str] = []

    def keep(store: Disks, number: int) -> None:
        folder = folders.make(tmp_path / f"work-{number}")
        (folder / "own").write_text(str(number))
        found.append(store.keep(folder).digest)

    keeping = [threading.Thread(target=keep, args=((disks, other)[n % 2], n)) for n in range(12)]
    for thread in keeping:
        thread.start()
    for thread in keeping:
        thread.join()

    assert len(set(found)) == 12
    for number, digest in enumerate(found):
        Disks(tmp_path / "store").restore(digest, tmp_path / f"again-{number}")
