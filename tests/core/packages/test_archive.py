"""Archives of strangers: what is read, and a table of what is refused with the place named."""

import io
import zipfile

import pytest

from studio.core.packages import archive, package
from studio.core.rules.errors import Invalid, StudioError, TooLarge
from tests.core.packages import zips

BIG = b"\0" * (11 * 1024 * 1024)


def with_entry(name: object, data: bytes = b"x") -> bytes:
    return zips.zipped([*zips.files().items(), (name, data)])


def many(count: int) -> bytes:
    return zips.zipped([*zips.files().items(), *((f"f/{n}", b"") for n in range(count))])


def long_list() -> bytes:
    """Few entries, each with a long comment."""
    entries = [zipfile.ZipInfo(f"f/{n}") for n in range(70)]
    for entry in entries:
        entry.comment = b"x" * 65_000
    return zips.zipped([(entry, b"") for entry in entries])


def of_larger_kind() -> bytes:
    """An archive whose end record is preceded by the locator of a larger one."""
    made = zips.packed()
    return made[:-22] + b"PK\6\7" + b"\0" * 16 + made[-22:]


def heavy() -> bytes:
    """60 MiB that do not shrink much by themselves: each file has its own bytes."""
    piece = bytes(range(256)) * 64
    return zips.zipped([(f"f/{n}", piece * 512 + bytes([n])) for n in range(8)])


def damaged() -> bytes:
    made = bytearray(zips.packed())
    at = made.find(b"hello")
    if at < 0:  # deflated: break the first stored byte behind a header
        at = made.find(b"PK\x03\x04") + 45
    made[at] ^= 0xFF
    return bytes(made)


# what comes in, where the fault is found, and words of it
HOSTILE = [
    ("dots", with_entry("../evil.txt"), "../evil.txt", "leads out"),
    ("dots inside", with_entry("a/../../evil"), "a/../../evil", "leads out"),
    ("dots at the end", with_entry("a/.."), "a/..", "leads out"),
    ("a dot", with_entry("./a"), "./a", "empty part or a"),
    ("an empty part", with_entry("a//b"), "a//b", "empty part"),
    ("absolute", with_entry("/etc/passwd"), "/etc/passwd", "absolute"),
    ("a drive", with_entry("c:/windows/x"), "c:/windows/x", "absolute"),
    ("a share", with_entry("//host/share/x"), "//host/share/x", "absolute"),
    ("backslashes", with_entry("a\\..\\..\\evil"), "a\\..\\..\\evil", "backslash"),
    ("a link", with_entry(zips.special("l", zips.LINK), b"/etc/passwd"), "l", "is a link"),
    ("a link inside", with_entry(zips.special("l", zips.LINK), b"x.py"), "l", "is a link"),
    ("a linked folder", with_entry(zips.special("d", zips.LINK), b".."), "d", "is a link"),
    ("a pipe", with_entry(zips.special("p", zips.PIPE)), "p", "device or a pipe"),
    ("a device", with_entry(zips.special("n", zips.DEVICE)), "n", "device or a pipe"),
    ("twice", with_entry("x.py"), "x.py", "stands in it twice"),
    ("capitals", with_entry("X.py"), "X.py", "capitals"),
    ("capitals in a folder", with_entry("SKILLS/notes/SKILL.md"), "SKILLS/notes/SKILL.md",
     "capitals"),
    ("accents", zips.zipped([*zips.files().items(), ("caf\u00e9", b""), ("cafe\u0301", b"")]),
     "cafe\u0301", "capitals or accents"),
    ("a file as a folder", with_entry("x.py/inner"), "x.py/inner", "name of a file"),
    ("a name with null", zips.renamed(with_entry("abxcd"), b"abxcd", b"ab\0cd"), "ab�cd",
     "null character"),
    ("a line break in a name", with_entry("a\nb"), "a�b", "cannot be seen"),
    ("a turned name", with_entry("a\u202egpj.exe"), "a�gpj.exe", "cannot be seen"),
    ("a name of a device", with_entry("NUL.txt"), "NUL.txt", "name of a device"),
    ("a star", with_entry("a*b"), "a*b", "not every machine"),
    ("a name with a dot behind", with_entry("a./b"), "a./b", "not every machine"),
    ("an endless name", with_entry("n" * 250), "n" * 199 + "…", "characters"),
    ("an endless path", with_entry("/".join("abcd" for _ in range(100))), None, "path of more"),
    ("a deep path", with_entry("/".join("d" * 17)), None, "folders deep"),
    ("a name not in UTF-8", zips.renamed(with_entry("caffee"), b"caffee", b"caf\xe9ee"), None,
     "UTF-8"),
    ("encrypted", zips.flagged(zips.packed(), 1), "plugin.json", "is encrypted"),
    ("packed oddly", zips.of_method(zips.packed(), 12), "plugin.json", "store or deflate"),
    ("an unknown packing", zips.of_method(zips.packed(), 99), "plugin.json", "store or deflate"),
    ("a bomb", with_entry("bomb", b"\0" * 9_000_000), "bomb", "as a bomb does"),
    ("a large file", with_entry("big", BIG), "big", "in one file"),
    ("too many files", many(2_100), "", "2,000 files"),
    ("far too many files", many(4_100), "", "holds 4,104 entries; 2,000 files"),
    ("a list too long", long_list(), "", "has a list of"),
    ("a larger kind of archive", of_larger_kind(), "", "packed as ZIP64"),
    ("too many bytes", heavy(), "", "are allowed"),
    ("a size that lies low", zips.lying(zips.packed(), 3), "plugin.json", "damaged"),
    ("a size that lies high", zips.lying(zips.packed(), 2**31), "", "are allowed"),
    ("damaged", damaged(), None, "damaged"),
    ("cut short", zips.packed()[:-30], "", "not a zip archive"),
    ("a picture", b"\x89PNG\r\n\x1a\n" + b"x" * 100, "", "not a zip archive"),
    ("nothing", b"", "", "not a zip archive"),
    ("an empty archive", zips.zipped([]), "", "holds no files"),
    ("folders alone", zips.zipped([("a/", b""), ("a/b/", b"")]), "", "holds no files"),
    ("only what a Mac adds", zips.zipped([("__MACOSX/x", b"")]), "", "holds no files"),
]  # fmt: skip


@pytest.mark.parametrize("data,place,words", [h[1:] for h in HOSTILE], ids=[h[0] for h in HOSTILE])
def test_a_hostile_archive_is_refused_with_its_place(data, place, words):
    with pytest.raises((Invalid, TooLarge)) as refused:
        archive.read(data)

    assert isinstance(refused.value, Invalid)
    assert refused.value.code == "archive.invalid"
    said = refused.value.fields
    assert words in (said[place] if place is not None else " ".join(said.values()))


def test_the_table_is_long_enough():
    assert len(HOSTILE) >= 40


def test_every_fault_is_told_at_once():
    data = zips.zipped(
        [("../a", b""), ("/b", b""), (zips.special("c", zips.LINK), b"/"), ("ok", b"")]
    )

    with pytest.raises(Invalid) as refused:
        archive.read(data)

    assert set(refused.value.fields) == {"../a", "/b", "c"}


def test_an_archive_over_the_limit_is_not_even_opened(monkeypatch):
    monkeypatch.setattr(archive, "MOST_ARCHIVE_BYTES", 100)

    with pytest.raises(TooLarge):
        archive.read(zips.packed())


@pytest.mark.parametrize("data", [many(4_100), long_list(), of_larger_kind()])
def test_a_list_of_contents_that_is_too_long_is_not_read(monkeypatch, data):
    opened = []
    monkeypatch.setattr(zipfile, "ZipFile", opened.append)

    with pytest.raises(Invalid):
        archive.read(data)

    assert not opened


def test_an_archive_with_a_comment_is_read_too():
    made = io.BytesIO(zips.packed())
    with zipfile.ZipFile(made, "a") as zipped:
        zipped.comment = b"PK of a person " * 100

    assert archive.read(made.getvalue()) == zips.files()


def test_a_good_archive_is_its_files():
    assert archive.read(zips.packed()) == zips.files()


def test_a_folder_around_everything_is_left_out():
    around = {f"kit-1.2.0/{path}": data for path, data in zips.files().items()}

    assert archive.read(zips.packed(around)) == zips.files()


def test_what_a_mac_adds_is_left_out():
    data = zips.zipped(
        [*zips.files().items(), ("__MACOSX/._x.py", b"x"), ("skills/.DS_Store", b"")]
    )

    assert archive.read(data) == zips.files()


def test_names_in_every_script_are_kept():
    data = with_entry("docs/příručka – 手引き.md", "čau".encode())

    assert archive.read(data)["docs/příručka – 手引き.md"] == "čau".encode()


def test_an_archive_that_holds_an_archive_is_not_entered():
    inner = zips.zipped([("../../evil", b"x")])

    found = archive.read(with_entry("inner.zip", inner))

    assert found["inner.zip"] == inner


def test_a_thousand_shaken_archives_never_raise_anything_else():
    from random import Random

    good, random = zips.packed(), Random(7)
    for _ in range(1_000):
        data = bytearray(good)
        for _ in range(random.randrange(1, 12)):
            data[random.randrange(len(data))] = random.randrange(256)
        try:
            package.plugin(archive.read(bytes(data)))
        except StudioError:
            continue


def test_a_stored_archive_is_read_too():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as zipped:
        for path, data in zips.files().items():
            zipped.writestr(path, data)

    assert archive.read(made.getvalue()) == zips.files()
