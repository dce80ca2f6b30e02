"""What differs between two versions, and between two files line by line."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core.disks.differences import TextDiff
from studio.core.disks.disks import Disks


def test_every_kind_of_change_is_told_in_the_order_of_paths(disks: Disks, work: Path):
    before = disks.keep(work).digest
    (work / "new").mkdir()
    (work / "new" / "file").write_text("new")
    (work / "notes.txt").write_text("other, and longer\n")
    (work / "random.bin").unlink()
    (work / "empty").unlink()
    (work / "empty").mkdir()
    (work / "src" / "run.sh").chmod(0o700)
    (work / "link").unlink()
    (work / "link").symlink_to("elsewhere")
    os.utime(work / "case", ns=(1, 1))

    changes = list(disks.diff(before, disks.keep(work).digest))

    assert [(change.path, change.what) for change in changes] == [
        ("case", "times"), ("empty", "type"), ("link", "changed"), ("new", "added"),
        ("new/file", "added"), ("notes.txt", "changed"), ("random.bin", "removed"),
        ("src/run.sh", "mode"),
    ]  # fmt: skip
    notes = changes[5]
    assert notes.before is not None
    assert notes.after is not None
    assert (notes.before.size, notes.after.size) == (6, 18)


def test_a_folder_that_became_a_file_lost_what_was_in_it(disks: Disks, work: Path):
    before = disks.keep(work).digest
    (work / "src" / "deep" / "same.txt").unlink()
    (work / "src" / "deep" / "er").rmdir()
    (work / "src" / "deep").rmdir()
    (work / "src" / "deep").write_text("now a file")

    after = disks.keep(work).digest

    told = [(change.path, change.what) for change in disks.diff(before, after)]
    assert told == [
        ("src/deep", "type"), ("src/deep/er", "removed"), ("src/deep/same.txt", "removed"),
    ]  # fmt: skip
    back = [(change.path, change.what) for change in disks.diff(after, before)]
    assert back == [(path, what.replace("removed", "added")) for path, what in told]


def test_the_top_folders_mode_is_a_change_of_its_own(disks: Disks, work: Path):
    before = disks.keep(work).digest
    work.chmod(0o700)

    (change,) = disks.diff(before, disks.keep(work).digest)

    assert (change.path, change.what) == ("", "mode")


def compared(disks: Disks, folder: Path, old: bytes | None, new: bytes | None) -> TextDiff:
    """The diff of two files with these bytes."""
    folder.mkdir(exist_ok=True)
    hashes: list[str | None] = []
    for data in (old, new):
        if data is None:
            hashes.append(None)
        else:
            (folder / "file").write_bytes(data)
            hashes.append(disks.entry(disks.keep(folder).digest, "file").hash)
    return disks.text_diff(*hashes)


@pytest.mark.parametrize(
    "old,new,lines",
    [
        (b"a\nb\nc\n", b"a\nB\nc\n", ("@@ -1,3 +1,3 @@", " a", "-b", "+B", " c")),
        (None, b"one\n", ("@@ -0,0 +1 @@", "+one")),
        (b"one\n", None, ("@@ -1 +0,0 @@", "-one")),
        (b"one", b"one\n", ("@@ -1 +1 @@", "-one", "\\ No newline at end of file", "+one")),
        (b"a\r\n", b"a\n", ("@@ -1 +1 @@", "-a\r", "+a")),
    ],
)
def test_two_texts_line_by_line(disks: Disks, tmp_path: Path, old, new, lines):
    found = compared(disks, tmp_path / "texts", old, new)

    assert (found.state, found.lines) == ("text", lines)
    assert found.added == sum(line.startswith("+") for line in lines)


@pytest.mark.parametrize(
    "old,new,state",
    [
        (b"same", b"same", "same"), (b"a\0", b"b", "binary"), (b"a", b"\xff\xfe", "binary"),
        (b"x" * 600_000, b"x", "too_large"), (b"\n" * 30_000, b"x", "too_large"),
    ],
)  # fmt: skip
def test_why_there_is_no_diff(disks: Disks, tmp_path: Path, old: bytes, new: bytes, state: str):
    assert compared(disks, tmp_path / "texts", old, new).state == state


def test_texts_made_to_be_slow_are_given_up(disks: Disks, tmp_path: Path):
    """Many lines of a few kinds, none of which is so frequent that it is left out."""
    old, new = (
        b"".join(b"%d\n" % (step * factor % 150) for step in range(19_000)) for factor in (7, 11)
    )
    began = time.monotonic()

    found = compared(disks, tmp_path / "texts", old, new)

    assert found.state == "too_large"
    assert time.monotonic() - began < 10


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "longer line", " "]), max_size=12)


@pytest.mark.skipif(not shutil.which("patch"), reason="there is no patch(1) here")
@settings(max_examples=20, deadline=None)
@given(old=LINES, new=LINES, ends=st.tuples(st.booleans(), st.booleans()))
def test_a_patch_made_of_the_lines_leads_from_one_to_the_other(tmp_path_factory, old, new, ends):
    tmp = tmp_path_factory.mktemp("patch")
    texts = [
        "\n".join(lines) + ("\n" if end and lines else "")
        for lines, end in zip((old, new), ends, strict=True)
    ]
    found = compared(Disks(tmp / "store"), tmp / "texts", *(text.encode() for text in texts))
    file = tmp / "file"
    file.write_text(texts[0])
    patch = "".join(f"{line}\n" for line in ("--- file", "+++ file", *found.lines))

    if found.state == "text":
        subprocess.run(["patch", "--quiet", str(file)], input=patch, text=True, check=True, cwd=tmp)

    assert (file.read_text() if file.exists() else "") == texts[1]
