"""Zip archives of packages: read whole into memory within bounds, or refused with every fault.

The list of contents is bounded before it is read and looked at before anything is unpacked
(`archives.zips`), and what is unpacked is counted while it comes, so that a size which lies costs
nothing. Beyond what every archive is held to, a package holds no links and its names are plain.
"""

import io
import zipfile
import zlib
from collections.abc import Iterator

from studio.core.archives import zips
from studio.core.packages import names, refusing
from studio.core.rules.errors import Invalid, TooLarge
from studio.core.rules.reading import Faults

MOST_FILES = 2_000
MOST_BYTES = 50 * 1024 * 1024
MOST_FILE_BYTES = 10 * 1024 * 1024
MOST_ARCHIVE_BYTES = MOST_BYTES + 8 * 1024 * 1024
SMALL = 64 * 1024  # bytes of a file that may be packed however well
LIST = zips.Most(
    entries=2 * MOST_FILES, list_bytes=2 * MOST_FILES * 1_024, words=f"{MOST_FILES:,} files"
)
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
    if wrong := zips.list_fault(io.BytesIO(data), LIST):
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


def _no_zip(what: str, said: str) -> Invalid:
    words = f"is not a zip archive that can be read: {said}."
    return Invalid(f"{what} {words}", code="archive.invalid", fields={"": words})


def _is_left_out(entry: zipfile.ZipInfo) -> bool:
    name = entry.filename
    return name.startswith(LEFT_OUT) or name.rpartition("/")[2] in LEFT_OUT_NAMES


def _check(entries: list[zipfile.ZipInfo], faults: Faults) -> None:
    """Everything that the list of contents gives away."""
    files = [entry for entry in entries if not zips.is_folder(entry)]
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
    if wrong := zips.name_fault(entry):
        return wrong
    if wrong := names.fault(entry.orig_filename.removesuffix("/") or "/"):
        return wrong
    if zips.is_link(entry):
        return "is a link; a package holds files and folders only."
    if wrong := zips.kind_fault(entry):
        return wrong
    if entry.file_size > MOST_FILE_BYTES:
        return f"has {entry.file_size:,} bytes; {MOST_FILE_BYTES:,} are allowed in one file."
    return zips.packing_fault(entry, SMALL)


def _unpacked(
    archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], faults: Faults
) -> Iterator[tuple[str, bytes]]:
    """Bytes by path, counted as they come: what the list said of sizes may be a lie."""
    left = MOST_BYTES
    for entry in entries:
        if zips.is_folder(entry):
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
