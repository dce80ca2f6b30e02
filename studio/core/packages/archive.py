"""Zip archives of strangers: read whole into memory within bounds, or refused with every fault.

The end record says how large the list of contents is, before that is read; the list is looked at
before anything is unpacked, and what is unpacked is counted while
it comes, so that a size which lies costs nothing. Links, devices and sealed entries are refused.
"""

import io
import stat
import zipfile
import zlib
from collections.abc import Iterator

from studio.core.packages import names, refusing
from studio.core.rules.errors import Invalid, TooLarge
from studio.core.rules.reading import Faults

MOST_FILES = 2_000
MOST_BYTES = 50 * 1024 * 1024
MOST_FILE_BYTES = 10 * 1024 * 1024
MOST_ARCHIVE_BYTES = MOST_BYTES + 8 * 1024 * 1024
MOST_RATIO = 200  # of a file's size to what it takes in the archive
SMALL = 64 * 1024  # below it the ratio says nothing
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
MOST_LIST_BYTES = 2 * MOST_FILES * 1_024  # of the list of contents, whose entries have names
END, ENTRY, LARGE_END = b"PK\5\6", b"PK\1\2", b"PK\6\7"
END_BYTES, LARGE_END_BYTES, COMMENT_BYTES = 22, 20, 1 << 16
LEFT_OUT = ("__MACOSX/",)  # what the Mac's archiver adds by itself
LEFT_OUT_NAMES = (".DS_Store",)
PIECE = 64 * 1024


def read(data: bytes, *, what: str = "The archive") -> dict[str, bytes]:
    """The files of a zip archive by path; Invalid or TooLarge says all that is wrong with it.

    When everything lies in one folder, as archivers like to put it, that folder is left out.
    """
    if len(data) > MOST_ARCHIVE_BYTES:
        raise TooLarge(
            f"{what} has {len(data):,} bytes; {MOST_ARCHIVE_BYTES:,} are allowed.",
            code="archive.too_large", details={"limit": MOST_ARCHIVE_BYTES},
        )  # fmt: skip
    faults = Faults()
    if wrong := _list_fault(data):
        faults.add("", wrong)
        refusing.check(faults, what, code="archive.invalid")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not _is_left_out(entry)]
            _check(entries, faults)
            refusing.check(faults, what, code="archive.invalid")
            found = dict(_unpacked(archive, entries, faults))
    except zipfile.BadZipFile as wrong:
        raise _no_zip(what, str(wrong)) from None
    except (NotImplementedError, RuntimeError, OSError, EOFError, ValueError, OverflowError,
            zlib.error, zipfile.LargeZipFile, MemoryError) as wrong:  # fmt: skip
        raise _no_zip(what, str(wrong) or type(wrong).__name__) from None
    refusing.check(faults, what, code="archive.invalid")
    if not found:
        raise Invalid(f"{what} holds no files.", code="archive.invalid",
                      fields={"": "holds no files."})  # fmt: skip
    return _without_top(found)


def _list_fault(data: bytes) -> str | None:
    """What is wrong with the list of contents as a whole: reading it makes an object an entry.

    What has no end record is left to `zipfile`, which takes the same one and names the fault.
    """
    at = data.rfind(END, max(0, len(data) - COMMENT_BYTES - END_BYTES))
    if at < 0 or at + END_BYTES > len(data):
        return None
    if at >= LARGE_END_BYTES and data.startswith(LARGE_END, at - LARGE_END_BYTES):
        return "is packed as ZIP64, which is for larger archives than are allowed."
    size = int.from_bytes(data[at + 12 : at + 16], "little")
    if size > MOST_LIST_BYTES:
        return f"has a list of {size:,} bytes; {MOST_FILES:,} files are allowed."
    entries = data.count(ENTRY, max(0, at - size), at)
    if entries > 2 * MOST_FILES:
        return f"holds {entries:,} entries; {MOST_FILES:,} files are allowed."
    return None


def _no_zip(what: str, said: str) -> Invalid:
    words = f"is not a zip archive that can be read: {said}."
    return Invalid(f"{what} {words}", code="archive.invalid", fields={"": words})


def _is_left_out(entry: zipfile.ZipInfo) -> bool:
    name = entry.filename
    return name.startswith(LEFT_OUT) or name.rpartition("/")[2] in LEFT_OUT_NAMES


def _is_folder(entry: zipfile.ZipInfo) -> bool:
    return entry.filename.endswith("/")  # their own `is_dir` breaks on a name without letters


def _check(entries: list[zipfile.ZipInfo], faults: Faults) -> None:
    """Everything that the list of contents gives away."""
    files = [entry for entry in entries if not _is_folder(entry)]
    if len(entries) > 2 * MOST_FILES or len(files) > MOST_FILES:
        faults.add("", f"holds {len(entries):,} entries; {MOST_FILES:,} files are allowed.")
        return
    total = sum(entry.file_size for entry in files)
    if total > MOST_BYTES:
        faults.add("", f"unpacks to {total:,} bytes; {MOST_BYTES:,} are allowed.")
    for entry in entries:
        if wrong := _entry_fault(entry):
            faults.add(_shown(entry.orig_filename), wrong)
    for path, wrong in names.clashes(entry.filename for entry in files).items():
        faults.add(_shown(path), wrong)


def _entry_fault(entry: zipfile.ZipInfo) -> str | None:
    if entry.orig_filename != entry.filename and "\0" in entry.orig_filename:
        return "has a null character in its name."
    if not entry.flag_bits & 0x800 and not entry.orig_filename.isascii():
        return "has a name that is not marked as UTF-8; pack it with UTF-8 names."
    if wrong := names.fault(entry.orig_filename.removesuffix("/") or "/"):
        return wrong
    if wrong := _kind_fault(entry):
        return wrong
    if entry.flag_bits & 0x1:
        return "is encrypted."
    if entry.compress_type not in (STORED, DEFLATED):
        return "is packed in a way other than store or deflate."
    if entry.file_size > MOST_FILE_BYTES:
        return f"has {entry.file_size:,} bytes; {MOST_FILE_BYTES:,} are allowed in one file."
    if entry.file_size > max(SMALL, entry.compress_size * MOST_RATIO):
        return f"unpacks to more than {MOST_RATIO} times its size, as a bomb does."
    return None


def _kind_fault(entry: zipfile.ZipInfo) -> str | None:
    """Files and folders only; Unix writes the kind into the upper half."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if stat.S_ISLNK(kind):
        return "is a link; a package holds files and folders only."
    if kind and not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        return "is a device or a pipe; a package holds files and folders only."
    if kind and stat.S_ISDIR(kind) != _is_folder(entry):
        return "says that it is a folder and a file at once."
    if _is_folder(entry) and entry.file_size:
        return "is a folder with contents of its own."
    return None


def _unpacked(
    archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], faults: Faults
) -> Iterator[tuple[str, bytes]]:
    """Bytes by path, counted as they come: what the list said of sizes may be a lie."""
    left = MOST_BYTES
    for entry in entries:
        if _is_folder(entry):
            continue
        kept = bytearray()
        try:
            with archive.open(entry) as file:
                while piece := file.read(PIECE):
                    kept += piece
                    if len(kept) > min(MOST_FILE_BYTES, entry.file_size, left):
                        faults.add(_shown(entry.filename), "is larger than the archive says.")
                        return
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
                OSError, ValueError):  # fmt: skip
            faults.add(_shown(entry.filename), "is damaged: it cannot be unpacked.")
            continue
        left -= len(kept)
        yield entry.filename, bytes(kept)


def _without_top(found: dict[str, bytes]) -> dict[str, bytes]:
    tops = {path.partition("/")[0] for path in found}
    if len(tops) != 1 or any("/" not in path for path in found):
        return found
    return {path.partition("/")[2]: data for path, data in found.items()}


def _shown(name: str) -> str:
    """A name as it can be told: nothing invisible, and not endless."""
    text = "".join(letter if letter.isprintable() else "�" for letter in name)
    return text if len(text) <= 200 else f"{text[:199]}…"
