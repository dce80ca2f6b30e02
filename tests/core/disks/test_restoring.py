"""Restoring: byte for byte, mode for mode, nanosecond for nanosecond, or nothing at all."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core import faults
from studio.core.disks.disks import Disks
from studio.core.rules.errors import NotFound, Refused, Unavailable
from tests.core.disks import folders


def test_what_was_kept_comes_back(disks: Disks, work: Path, tmp_path: Path):
    kept = disks.keep(work)

    disks.restore(kept.digest, tmp_path / "again")

    assert folders.told(tmp_path / "again") == folders.told(work)
    assert disks.keep(tmp_path / "again").digest == kept.digest


def test_an_older_version_comes_back_after_many_changes(disks: Disks, work: Path, tmp_path: Path):
    before, digest = folders.told(work), disks.keep(work).digest
    for number in range(25):  # more than the tables that are kept apart
        (work / "notes.txt").write_text(f"change {number}\n")
        (work / f"new-{number}").write_text("new")
        disks.keep(work)

    disks.restore(digest, tmp_path / "again")

    assert folders.told(tmp_path / "again") == before
    assert len(list((tmp_path / "store" / "index").glob("*.table"))) <= 8


def test_files_with_holes_have_holes_again(disks: Disks, work: Path, tmp_path: Path):
    with (work / "sparse").open("wb") as file:
        file.seek(40 * 1024**2)
        file.write(b"end")
        file.truncate(60 * 1024**2)

    kept = disks.keep(work)
    disks.restore(kept.digest, tmp_path / "again")

    again = tmp_path / "again" / "sparse"
    assert again.read_bytes() == (work / "sparse").read_bytes()
    assert again.stat().st_blocks * 512 < 2 * 1024**2
    assert kept.stored < 200_000


def test_there_is_something_already(disks: Disks, work: Path):
    digest = disks.keep(work).digest
    before = folders.told(work)

    with pytest.raises(Refused, match="something at work already"):
        disks.restore(digest, work)

    assert folders.told(work) == before


def test_a_folder_is_exchanged_for_what_it_was(
    disks: Disks, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    digest, before = disks.keep(work).digest, folders.told(work)
    (work / "notes.txt").unlink()
    locked = work / "src" / "deep" / "locked"
    locked.mkdir(mode=0)
    for _ in range(300):  # deeper than a path may be long
        monkeypatch.chdir(locked)
        locked = Path("a name that makes the path longer")
        locked.mkdir()
    monkeypatch.undo()

    disks.restore(digest, work, replace=True)

    assert folders.told(work) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", "work"]


def test_everything_is_given_its_owner(disks: Disks, work: Path, tmp_path: Path):
    if os.geteuid():
        pytest.skip("only root gives files away")
    disks.restore(disks.keep(work).digest, tmp_path / "again", owner=(1234, 2345))

    owners = {
        (path.lstat().st_uid, path.lstat().st_gid)
        for path in [tmp_path / "again", *(tmp_path / "again").rglob("*")]
    }
    assert owners == {(1234, 2345)}
    assert folders.told(tmp_path / "again") == folders.told(work)


def test_damage_names_the_file_and_changes_nothing(disks: Disks, work: Path, tmp_path: Path):
    digest = disks.keep(work).digest
    (pack,) = (tmp_path / "store" / "packs").iterdir()
    data = bytearray(pack.read_bytes())
    at = data.find((work / "random.bin").read_bytes())
    data[at + 1_000] ^= 1
    pack.write_bytes(data)
    before = folders.told(work)

    with pytest.raises(Unavailable, match=r"^random\.bin cannot be restored\. .* damaged") as told:
        disks.restore(digest, work, replace=True)

    assert told.value.code == "disk.damaged"
    assert folders.told(work) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", "work"]


def test_a_check_reads_everything_and_names_what_is_damaged(
    disks: Disks, work: Path, tmp_path: Path
):
    kept = disks.keep(work)
    assert disks.check(kept.digest) == kept.version.size - len("hello\n")  # which is there twice

    (pack,) = (tmp_path / "store" / "packs").iterdir()
    data = bytearray(pack.read_bytes())
    data[data.find((work / "random.bin").read_bytes())] ^= 1
    pack.write_bytes(data)

    with pytest.raises(Unavailable, match=r"^random\.bin: "):
        disks.check(kept.digest)


def test_a_folder_to_restore_into_must_be_there(disks: Disks, work: Path, tmp_path: Path):
    digest = disks.keep(work).digest

    with pytest.raises(NotFound, match="no folder to restore again into"):
        disks.restore(digest, tmp_path / "missing" / "again")


def test_a_link_in_the_way_is_exchanged_and_not_followed(disks: Disks, work: Path, tmp_path: Path):
    digest, before = disks.keep(work).digest, folders.told(work)
    (tmp_path / "again").symlink_to(work)

    disks.restore(digest, tmp_path / "again", replace=True)

    assert not (tmp_path / "again").is_symlink()
    assert folders.told(tmp_path / "again") == folders.told(work) == before


@pytest.fixture
def as_nobody():
    """A folder of somebody who is not root, and the rights of that person until the test ends."""
    if os.geteuid():
        pytest.skip("only root can be somebody else for a while")
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, 65_534, 65_534)
        os.seteuid(65_534)
        try:
            yield Path(name)
        finally:
            os.seteuid(0)


def test_without_the_right_to_read_it_is_said(as_nobody: Path):
    disks, work = Disks(as_nobody / "store"), folders.make(as_nobody / "work")
    (work / "notes.txt").chmod(0)
    (work / "src" / "deep").chmod(0o400)
    (work / "nothing in it").chmod(0)

    kept = disks.keep(work)
    disks.restore(kept.digest, work, replace=True)

    assert kept.version.skipped == (
        ("notes.txt", "unreadable"), ("nothing in it", "unreadable"),
        ("src/deep/er", "unreadable"), ("src/deep/same.txt", "unreadable"),
    )  # fmt: skip
    assert sorted(path.name for path in as_nobody.iterdir()) == ["store", "work"]


def test_a_pack_that_is_gone_is_told(disks: Disks, work: Path, tmp_path: Path):
    digest = disks.keep(work).digest
    for pack in (tmp_path / "store" / "packs").iterdir():
        pack.unlink()

    with pytest.raises(Unavailable, match="the top folder cannot be restored"):
        disks.restore(digest, tmp_path / "again")


@pytest.mark.parametrize("digest", ["0" * 64, "../../etc/passwd", "", "Z" * 64])
def test_a_version_that_is_not_there(disks: Disks, tmp_path: Path, digest: str):
    with pytest.raises(NotFound):
        disks.restore(digest, tmp_path / "again")


def test_a_manifest_that_was_changed_is_not_believed(disks: Disks, work: Path, tmp_path: Path):
    digest = disks.keep(work).digest
    manifest = tmp_path / "store" / "versions" / f"{digest}.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"files":9', b'"files":8'))

    with pytest.raises(Unavailable, match=r"manifest of disk version .* is damaged"):
        disks.version(digest)


def test_a_restore_that_failed_leaves_nothing(disks: Disks, work: Path, tmp_path: Path):
    digest = disks.keep(work).digest
    faults.arm("disk.mid_restore", "raise", 3)
    try:
        with pytest.raises(faults.Injected):
            disks.restore(digest, tmp_path / "again")
    finally:
        faults.disarm()

    assert sorted(path.name for path in tmp_path.iterdir()) == ["store", "work"]


# A tree is {name: contents}: bytes for a file, a number for one that is a hole of that size, text
# for a link, another tree for a folder.
NAMES = st.one_of(
    st.sampled_from(["a", "A", "b c", "-rf", "ü", "u\u0308", "con", "x\ny", "\U0001f600"]),
    st.binary(min_size=1, max_size=12)
    .filter(lambda name: not {0, 47} & set(name) and name not in (b".", b".."))
    .map(os.fsdecode),
)
FILES = st.one_of(st.binary(max_size=200), st.sampled_from([0, 5_000_000, 9_000_000]))
LINKS = st.one_of(NAMES, st.just("../../x"))
TREES = st.recursive(
    st.dictionaries(NAMES, st.one_of(FILES, LINKS), max_size=4),
    lambda inner: st.dictionaries(NAMES, st.one_of(FILES, LINKS, inner), max_size=4),
    max_leaves=12,
)
MODES = st.integers(0, 0o1777).map(lambda mode: mode | 0o600)


def write(top: Path, tree: dict, draw) -> None:
    """Make a tree on disk, with times and modes of its own."""
    for name, content in tree.items():
        path = top / name
        if isinstance(content, dict):
            path.mkdir()
            write(path, content, draw)
        elif isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(b"" if isinstance(content, int) else content)
            if isinstance(content, int):  # a hole of that size
                os.truncate(path, content)
        if not isinstance(content, str):
            path.chmod(draw(MODES) | (0o100 if isinstance(content, dict) else 0))
        time = draw(st.integers(0, 2**62))
        os.utime(path, ns=(time, time), follow_symlinks=False)


@settings(max_examples=25, deadline=None)
@given(before=TREES, after=TREES, data=st.data())
def test_any_tree_comes_back_after_any_change(tmp_path_factory, before, after, data):
    tmp = tmp_path_factory.mktemp("trees")
    disks = Disks(tmp / "store")
    first, second = tmp / "first", tmp / "second"
    for top, tree in ((first, before), (second, after)):
        top.mkdir()
        write(top, tree, data.draw)

    kept = [disks.keep(top) for top in (first, second)]
    for top, one in zip((first, second), kept, strict=True):
        disks.restore(one.digest, tmp / "again", replace=True)
        assert folders.told(tmp / "again") == folders.told(top)
        assert disks.keep(tmp / "again").digest == one.digest
