"""Looking into a version: folders in pages, files in windows, and what a file is."""

import os
from pathlib import Path

import pytest

from studio.core.disks.disks import Disks
from studio.core.rules.errors import Invalid, NotFound
from tests.core.disks import folders

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture
def digest(disks: Disks, work: Path) -> str:
    return disks.keep(work).digest


def test_a_folder_comes_in_pages(disks: Disks, work: Path):
    (work / "many").mkdir()
    for number in range(25):
        (work / "many" / f"{number:02}").touch()
    digest = disks.keep(work).digest

    names, after, pages = [], "", 0
    while True:
        page = disks.folder(digest, "many", after=after, limit=10)
        names += [entry.name for entry in page.entries]
        pages += 1
        if page.next is None:
            break
        after = page.next

    assert (names, pages, page.total) == ([f"{n:02}" for n in range(25)], 3, 25)


def test_what_an_entry_tells(disks: Disks, digest: str):
    found = {entry.name: entry for entry in disks.folder(digest).entries}

    assert found["link"].target == "../outside"
    assert found["notes.txt"].mtime_ns == folders.OLD_NS
    assert (found["src"].type, found["src"].size) == ("folder", 24)  # all below it
    assert disks.folder(digest, "/src/deep/").entries[0].path == "src/deep/er"


@pytest.mark.parametrize(
    "path", ["missing", "src/missing", "notes.txt/x", "link/x", "..", "src//x"]
)
def test_what_is_not_in_a_version(disks: Disks, digest: str, path: str):
    with pytest.raises(NotFound, match="has no"):
        disks.entry(digest, path)


def test_a_file_is_no_folder(disks: Disks, digest: str):
    with pytest.raises(Invalid, match=r"notes\.txt is no folder"):
        disks.folder(digest, "notes.txt")


@pytest.mark.parametrize("size", [1_000_000, 9_000_000])
def test_a_file_is_read_in_windows(disks: Disks, work: Path, size: int):
    data = os.urandom(1_000) * (size // 1_000)
    (work / "data").write_bytes(data)
    sha = disks.entry(disks.keep(work).digest, "data").hash

    for offset, most in [(0, 10), (size // 2 + 7, 4_242), (size - 5, 100), (size, 9), (0, 0)]:
        window = disks.read(sha, offset=offset, most=most)
        assert (window.data, window.size) == (data[offset : offset + most], size)
    assert b"".join(disks.pieces(sha)) == data


def test_a_window_before_the_file_is_refused(disks: Disks, digest: str):
    with pytest.raises(Invalid, match="begins at 0 or later"):
        disks.read(disks.entry(digest, "notes.txt").hash, offset=-1)


@pytest.mark.parametrize(
    "name,data,kind,media",
    [
        ("notes.md", b"# Hello\n", "text", "text/markdown"),
        ("notes", "grüße\n".encode(), "text", "text/plain"),
        ("cut", ("é" * 3_000).encode()[1:], "binary", "application/octet-stream"),
        ("long.txt", ("é" * 3_000).encode(), "text", "text/plain"),
        ("odd.txt", b"a" + "é".encode() * 3_000, "text", "text/plain"),
        ("end", b"cut \xc3", "binary", "application/octet-stream"),
        ("null.txt", b"a\0b", "binary", "text/plain"),
        ("picture", PNG, "image", "image/png"),
        ("picture.txt", PNG, "image", "image/png"),
        ("evil.svg", b"<svg onload='x'/>", "text", "image/svg+xml"),
        ("none", b"", "text", "text/plain"),
    ],
)
def test_what_a_file_is_by_its_bytes(
    disks: Disks, work: Path, name: str, data: bytes, kind: str, media: str
):
    (work / name).write_bytes(data)
    sha = disks.entry(disks.keep(work).digest, name).hash

    look = disks.look(sha, name)

    assert (look.kind, look.media, look.size) == (kind, media, len(data))
