"""Files of a disk: read, written, edited and found, and everything that is refused."""

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from studio.core.sandboxes import files, paths
from studio.core.sandboxes.contract import SandboxError


@pytest.fixture
def disk(tmp_path):
    found = tmp_path / "disk"
    found.mkdir()
    (tmp_path / "secret").write_text("TOPSECRET")
    return found


@pytest.fixture(params=["by the kernel", "link by link"])
def way(request, monkeypatch):
    """Paths followed by openat2, and as on a kernel without it: by a number that no call has."""
    if request.param == "link by link":
        monkeypatch.setattr(paths, "_OPENAT2", 9_999)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def code(call, *given, **named) -> str:
    with pytest.raises(SandboxError) as refused:
        call(*given, **named)
    assert refused.value.message.endswith((".", "`."))
    return refused.value.code


@pytest.mark.usefixtures("way")
def test_a_file_is_read_in_parts_and_hashed_whole(disk):
    data = bytes(range(256)) * 9_000
    (disk / "a").write_bytes(data)

    found = files.read(disk, "/work/a", offset=1_048_570, most=20)

    assert found.data == data[1_048_570:1_048_590]
    assert (found.size, found.hash, found.mode) == (len(data), digest(data), 0o644)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "target,code_",
    [
        ("../secret", "path.outside"), ("/etc/passwd", "path.outside"),
        ("sub/../../secret", "path.outside"), ("link", "path.outside"), ("deep", "path.outside"),
        ("/workshop/a", "path.outside"), ("/work/../secret", "path.outside"),
        ("none", "path.missing"), ("none/a", "path.missing"), ("dangling", "path.missing"),
        ("sub", "path.kind"), (".", "path.kind"), ("a/b", "path.kind"), ("loop", "path.kind"),
        ("pipe", "path.kind"), ("socket", "path.kind"), ("null", "path.outside"),
        ("", "path.name"), ("a\0b", "path.name"), ("\udcff", "path.name"), ("x" * 256, "path.name"),
        ("a/" * 2_100, "path.name"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(disk, target, code_):
    import socket

    (disk / "sub").mkdir()
    (disk / "a").write_text("a")
    (disk / "link").symlink_to("../secret")
    (disk / "deep").symlink_to("sub/../../secret")
    (disk / "dangling").symlink_to("nowhere")
    (disk / "loop").symlink_to("loop")
    (disk / "null").symlink_to("/dev/null")
    os.mkfifo(disk / "pipe")
    with socket.socket(socket.AF_UNIX) as named:
        here = os.open(disk, os.O_RDONLY)
        named.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)

    assert code(files.read, disk, target) == code_


@pytest.mark.usefixtures("way")
def test_links_within_the_disk_are_followed(disk):
    (disk / "sub" / "inner").mkdir(parents=True)
    (disk / "sub" / "a").write_text("found")
    (disk / "near").symlink_to("sub/a")
    (disk / "far").symlink_to("/work/sub")
    (disk / "sub" / "inner" / "up").symlink_to("../a")

    for path in ("near", "far/a", "sub/inner/up", "far/inner/../a", "./sub//a"):
        assert files.read(disk, path).data == b"found", path


def test_a_file_is_written_with_its_folders_and_belongs_to_its_user(disk):
    written = files.write(disk, "x/y/z.txt", b"one", owner=os.getuid())

    assert (written.made, written.size, written.hash) == (True, 3, digest(b"one"))
    assert (disk / "x/y/z.txt").read_bytes() == b"one"
    assert (disk / "x/y/z.txt").stat().st_mode & 0o777 == 0o644


def test_a_new_file_takes_no_other_s_place(disk):
    (disk / "a").write_text("theirs")

    assert code(files.write, disk, "a", b"ours") == "path.exists"
    assert (disk / "a").read_text() == "theirs"
    assert os.listdir(disk) == ["a"]


def test_a_known_file_is_written_over_and_keeps_its_mode(disk):
    (disk / "run.sh").write_text("old")
    (disk / "run.sh").chmod(0o755)
    before = os.stat(disk / "run.sh").st_ino

    written = files.write(disk, "run.sh", b"new", known=digest(b"old"))

    assert (written.made, (disk / "run.sh").read_text()) == (False, "new")
    assert (disk / "run.sh").stat().st_mode & 0o777 == 0o755
    assert os.stat(disk / "run.sh").st_ino != before, "readers of the old one keep it whole"
    assert os.listdir(disk) == ["run.sh"]


def test_a_file_that_changed_is_not_written_over(disk):
    (disk / "a").write_text("theirs")

    assert code(files.write, disk, "a", b"ours", known=digest(b"seen")) == "file.stale"
    assert code(files.write, disk, "b", b"ours", known=digest(b"seen")) == "path.missing"
    assert (disk / "a").read_text() == "theirs"
    assert os.listdir(disk) == ["a"]


def test_writes_go_through_links_within_and_not_out(disk, tmp_path):
    (disk / "sub").mkdir()
    (disk / "sub" / "a").write_text("old")
    (disk / "near").symlink_to("sub/a")
    (disk / "out").symlink_to("../secret")
    (disk / "folder").symlink_to("..")
    (disk / "dangling").symlink_to("../made")

    files.write(disk, "near", b"new", known=digest(b"old"))

    assert (disk / "sub" / "a").read_text() == "new"
    assert (disk / "near").is_symlink()
    assert code(files.write, disk, "out", b"x", known=digest(b"TOPSECRET")) == "path.outside"
    assert code(files.write, disk, "folder/b", b"x") == "path.outside"
    assert code(files.write, disk, "dangling", b"x") == "path.outside"
    assert sorted(os.listdir(tmp_path)) == ["disk", "secret"]


def test_a_link_to_nothing_is_not_written_through(disk):
    (disk / "dangling").symlink_to("nowhere")

    assert code(files.write, disk, "dangling", b"x") == "path.missing"
    assert os.listdir(disk) == ["dangling"]


def test_folders_behind_a_link_are_made(disk):
    (disk / "sub").mkdir()
    (disk / "near").symlink_to("sub")

    files.write(disk, "near/new/a", b"x")

    assert (disk / "sub/new/a").read_bytes() == b"x"


def test_pipes_and_folders_are_not_written_over(disk):
    os.mkfifo(disk / "pipe")
    (disk / "sub").mkdir()

    assert code(files.write, disk, "pipe", b"x") == "path.kind"
    assert code(files.write, disk, "sub", b"x") == "path.kind"
    assert code(files.write, disk, "/work", b"x") == "path.kind"


def test_a_text_is_replaced_where_it_stands_once(disk):
    (disk / "a").write_text("one two two")
    known = digest(b"one two two")

    assert code(files.edit, disk, "a", "three", "x", known=known) == "text.missing"
    assert code(files.edit, disk, "a", "", "x", known=known) == "text.missing"
    assert code(files.edit, disk, "a", "two", "x", known=known) == "text.many"
    assert code(files.edit, disk, "a", "one", "x", known=digest(b"")) == "file.stale"
    files.edit(disk, "a", "one", "1", known=known)
    files.edit(disk, "a", "two", "2", known=digest(b"1 two two"), every=True)

    assert (disk / "a").read_text() == "1 2 2"


def test_bytes_are_not_edited_as_text(disk):
    (disk / "a").write_bytes(b"\xff\xfe")

    assert code(files.edit, disk, "a", "x", "y", known=digest(b"\xff\xfe")) == "file.binary"


def test_a_file_without_end_is_not_hashed(disk):
    with (disk / "huge").open("wb") as file:
        file.truncate(10 * files.MOST_READ)

    assert code(files.read, disk, "huge") == "file.too_large"


@pytest.mark.usefixtures("way")
def test_a_folder_that_changes_into_a_link_meanwhile_never_leads_out(disk, tmp_path):
    (tmp_path / "trap").mkdir()
    (tmp_path / "trap" / "a").write_text("TOPSECRET")
    (disk / "real").mkdir()
    (disk / "real" / "a").write_text("ours")
    (disk / "trap").symlink_to("../trap")
    (disk / "sub").symlink_to("real")
    over = threading.Event()

    def swap():
        while not over.is_set():
            for target in ("../trap", "real"):
                os.symlink(target, disk / "next")
                os.rename(disk / "next", disk / "sub")

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen, until = set(), time.monotonic() + 10
    try:
        while not {b"ours", "path.outside"} <= seen and time.monotonic() < until:
            try:
                seen.add(files.read(disk, "sub/a").data)
            except SandboxError as refused:
                seen.add(refused.code)
    finally:
        over.set()
        swapping.join()

    assert {b"ours", "path.outside"} <= seen <= {b"ours", "path.outside", "path.missing"}


def test_paths_match_patterns_in_order(disk):
    for path in ("b.py", "a/x.py", "a/b/y.py", "a/b/z.txt", ".hidden/c.py", "a-b/w.py"):
        files.write(disk, path, b"")

    assert files.glob(disk, "*.py").paths == ("b.py",)
    assert files.glob(disk, "**/*.py").paths == (
        ".hidden/c.py", "a-b/w.py", "a/b/y.py", "a/x.py", "b.py",
    )  # fmt: skip
    assert files.glob(disk, "a/**").paths == ("a/b/y.py", "a/b/z.txt", "a/x.py")
    assert files.glob(disk, "/work/a/*/[yz].*").paths == ("a/b/y.py", "a/b/z.txt")
    assert files.glob(disk, "**/b/**/y.py").paths == ("a/b/y.py",)
    cut = files.glob(disk, "**", most=2)
    assert (cut.paths, cut.more) == ((".hidden/c.py", "a-b/w.py"), True)


def test_names_that_are_no_text_are_shown_as_bytes(disk):
    with open(os.fsencode(disk) + b"/a\xff\n", "wb"):
        pass

    assert files.glob(disk, "**").paths == ("a\\xff\n",)


def test_patterns_lead_nowhere_else_and_cost_little(disk):
    files.write(disk, "a" * 200, b"")
    files.write(disk, "/".join("d" * 60) + "/f", b"")

    assert code(files.glob, disk, "../*") == "path.outside"
    assert code(files.glob, disk, "/etc/*") == "path.outside"
    assert code(files.glob, disk, "") == "pattern.bad"
    assert files.glob(disk, "a*" * 60 + "b").paths == ()
    assert files.glob(disk, "**/d/" * 30 + "x").paths == ()


@contextmanager
def swapping(disk: Path, target: Path) -> Iterator[list[str]]:
    """Put a link to `target` at the name of each file that is being written; the names so used."""
    done, swapped = threading.Event(), list[str]()

    def swap() -> None:
        while not done.is_set():
            for name in os.listdir(disk):
                if name.startswith(".studio-"):
                    (disk / "trap").symlink_to(target)
                    os.rename(disk / "trap", disk / name)
                    swapped.append(name)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        yield swapped
    finally:
        done.set()
        swapper.join()


def attempt(call, *given, **named) -> str:
    """The code of a refusal, or an empty text."""
    try:
        call(*given, **named)
    except SandboxError as refused:
        return refused.code
    return ""


def test_a_name_that_is_swapped_while_a_file_is_made_leads_to_no_other_file(disk, tmp_path):
    data = bytes(4 * 1024**2)

    with swapping(disk, tmp_path / "secret") as swapped:
        told = {f"a{n}": attempt(files.write, disk, f"a{n}", data) for n in range(40)}

    assert swapped
    assert (tmp_path / "secret").stat().st_nlink == 1
    assert set(told.values()) <= {"", "file.stale"}
    for name, refused in told.items():
        assert refused or (disk / name).read_bytes() == data
        assert not (disk / name).is_symlink()


def test_a_name_that_is_swapped_while_a_file_is_written_over_is_never_taken_for_it(disk, tmp_path):
    data = bytes(4 * 1024**2)

    with swapping(disk, tmp_path / "secret") as swapped:
        for n in range(40):
            (disk / f"a{n}").write_bytes(b"old")
            refused = attempt(files.write, disk, f"a{n}", data, known=digest(b"old"))
            assert refused == "file.stale" or (
                not (disk / f"a{n}").is_symlink() and (disk / f"a{n}").read_bytes() == data
            )

    assert swapped
    assert (tmp_path / "secret").read_text() == "TOPSECRET"
    assert (tmp_path / "secret").stat().st_nlink == 1
