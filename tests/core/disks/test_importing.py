"""Archives as versions: what was sent comes back, and a hostile one leaves nothing behind."""

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from studio.core.disks.disks import Disks
from studio.core.disks.limits import Limits
from studio.core.rules.errors import Invalid, StudioError
from tests.core.archives import hostile
from tests.core.disks import folders

ROOT = Path(__file__).parents[3]
LIMITS = Limits(files=3_000, bytes=8_000_000)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds a version already."""
    tmp = tmp_path_factory.mktemp("hostile")
    Disks(tmp / "store").keep(folders.make(tmp / "work"))
    return tmp / "store"


def test_there_are_many_hostile_archives():
    assert len(hostile.ALL) >= 80
    assert len({one.name for one in hostile.ALL}) == len(hostile.ALL)


@pytest.mark.parametrize("one", hostile.ALL, ids=lambda one: one.name)
def test_a_hostile_archive_is_refused_whole(store: Path, tmp_path: Path, one: hostile.Hostile):
    before = contents(store)
    archive = tmp_path / "archive"
    archive.write_bytes(one.data)

    with pytest.raises(StudioError) as refused:
        Disks(store).take_in(archive, limits=LIMITS)

    assert refused.value.code in ("archive.invalid", "disk.too_large")
    assert one.words in refused.value.message
    if one.place is not None:
        assert isinstance(refused.value, Invalid)
        assert [place[:199] for place in refused.value.fields] == [one.place[:199]]
    assert contents(store) == before


def contents(store: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}


MEASURED = """
import resource, sys
from pathlib import Path
from studio.core.disks.disks import Disks
from studio.core.disks.limits import Limits
from studio.core.rules.errors import StudioError
disks, limits = Disks(Path(sys.argv[1])), Limits(files=3_000, bytes=8_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for archive in sorted(Path(sys.argv[2]).iterdir()):
    try:
        disks.take_in(archive, limits=limits)
    except StudioError:
        continue
    sys.exit(f"{archive.name} was taken")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_hostile_archives_take_little_memory(tmp_path: Path):
    (tmp_path / "archives").mkdir()
    for number, one in enumerate(hostile.ALL):
        (tmp_path / "archives" / f"{number:03}").write_bytes(one.data)

    command = [sys.executable, "-c", MEASURED, tmp_path / "store", tmp_path / "archives"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)

    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) < 64  # MiB more than before


@pytest.mark.parametrize("form", ["tar.zst", "zip"])
def test_what_was_exported_can_be_taken_in(disks: Disks, tmp_path: Path, form):
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src" / "run.sh").write_text("#!/bin/sh\n")
    (work / "src" / "run.sh").chmod(0o755)
    (work / "empty").mkdir(mode=0o700)
    (work / "src" / "link").symlink_to("../empty")
    (work / "python").symlink_to("/usr/bin/python3")  # as in a virtualenv
    (work / "large").write_bytes(bytes(range(256)) * 30_000)
    kept = disks.keep(work)
    archive = tmp_path / "archive"
    archive.write_bytes(b"".join(disks.export(kept.digest, form)))

    taken = Disks(tmp_path / "other").take_in(archive)

    changes = {change.what for change in compared(disks, taken.digest, kept.digest, archive)}
    assert changes <= {"times"} if form == "zip" else changes == set()
    assert (taken.digest == kept.digest) == (form == "tar.zst")


def compared(disks: Disks, taken: str, kept: str, archive: Path) -> list:
    assert disks.take_in(archive).digest == taken
    return list(disks.diff(kept, taken))


def test_any_disk_comes_back_from_its_tar_but_for_twins_in_capitals(
    disks: Disks, work: Path, tmp_path: Path
):
    digest = disks.keep(work).digest
    archive = tmp_path / "archive"
    archive.write_bytes(b"".join(disks.export(digest, "tar.zst")))
    with pytest.raises(Invalid, match=r"case differs from Case in capitals"):
        disks.take_in(archive)
    (work / "Case").unlink()
    (work / "link").unlink()
    digest = disks.keep(work).digest
    archive.write_bytes(b"".join(disks.export(digest, "tar.zst")))

    assert disks.take_in(archive).digest == digest


def test_what_tar_itself_packs_is_taken(disks: Disks, work: Path, tmp_path: Path):
    (work / "Case").unlink()
    (work / "link").unlink()
    (work / ("long " * 40)).write_text("a name of GNU's own header")
    (work / "twin").hardlink_to(work / "notes.txt")
    digest = disks.keep(work).digest

    for form in ("gnu", "pax"):
        archive = tmp_path / f"{form}.tar.gz"
        subprocess.run(["tar", f"--format={form}", "-C", work, "-czf", archive, "."], check=True)
        taken = disks.take_in(archive)
        changes = list(disks.diff(digest, taken.digest))
        assert {change.what for change in changes} <= {"times"}
        assert taken.version.files == 10
    assert changes == []  # pax has the nanoseconds


def test_what_we_pack_others_unpack(disks: Disks, work: Path, tmp_path: Path):
    digest = disks.keep(work).digest
    archive, again = tmp_path / "archive.tar.zst", tmp_path / "again"
    archive.write_bytes(b"".join(disks.export(digest, "tar.zst")))
    again.mkdir()

    subprocess.run(["tar", "--zstd", "-C", again, "-xpf", archive], check=True)

    assert folders.told(again) == folders.told(work)


def test_a_zip_says_which_name_it_cannot_tell(disks: Disks, work: Path):
    pieces = disks.export(disks.keep(work).digest, "zip")

    with pytest.raises(Invalid, match=r"caf�.* cannot tell; take tar\.zst"):
        next(pieces)


def test_a_zip_says_which_link_it_cannot_tell(disks: Disks, tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "first").write_text("sent before the link")
    (work / "link").symlink_to(os.fsdecode(b"caf\xe9"))
    pieces = disks.export(disks.keep(work).digest, "zip")

    with pytest.raises(Invalid, match=r"^link is a link .* cannot tell; take tar\.zst") as refused:
        next(pieces)
    assert refused.value.code == "archive.name"


@pytest.mark.parametrize("moment", [-500_000_000, -1_500_000_000, -1, -(10**9), 1])
def test_times_before_1970_come_back_to_the_nanosecond(disks: Disks, tmp_path: Path, moment: int):
    work, again = tmp_path / "work", tmp_path / "again"
    work.mkdir()
    again.mkdir()
    (work / "old").touch()
    os.utime(work / "old", ns=(moment, moment))
    assert (work / "old").stat().st_mtime_ns == moment
    digest = disks.keep(work).digest
    archive = tmp_path / "archive.tar.zst"
    archive.write_bytes(b"".join(disks.export(digest, "tar.zst")))

    subprocess.run(["tar", "--zstd", "-C", again, "-xpf", archive], check=True)

    assert (again / "old").stat().st_mtime_ns == moment
    assert disks.take_in(archive).digest == digest


def test_setuid_in_an_archive_is_dropped_and_said(disks: Disks, tmp_path: Path):
    info = hostile.entry("evil")
    info.mode = 0o4755
    (tmp_path / "archive").write_bytes(hostile.tar((info, b"x")))

    taken = disks.take_in(tmp_path / "archive")

    assert taken.stripped == ("evil",)
    assert disks.entry(taken.digest, "evil").mode == 0o755


def test_hard_links_inside_become_files(disks: Disks, tmp_path: Path):
    twin = hostile.entry("a/twin", tarfile.LNKTYPE, "./first.txt")
    (tmp_path / "archive").write_bytes(hostile.tar((twin, b"")))

    digest = disks.take_in(tmp_path / "archive").digest

    twin, first = (disks.entry(digest, path) for path in ("a/twin", "first.txt"))
    assert (twin.hash, twin.type) == (first.hash, "file")


def test_an_export_is_never_held_whole(disks: Disks, tmp_path: Path):
    work = tmp_path / "work"
    work.mkdir()
    with (work / "large").open("wb") as file:
        for number in range(30):
            file.write(bytes([number]) * 1024**2)
    digest = disks.keep(work).digest

    for form in ("tar.zst", "zip"):
        assert max(map(len, disks.export(digest, form))) <= 512 * 1024  # type: ignore[arg-type]
    assert io.BytesIO(b"".join(disks.export(digest, "zip"))).read(2) == b"PK"
