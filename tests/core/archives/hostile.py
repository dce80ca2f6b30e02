"""Archives that a stranger could send to do harm: each with the place and words of its refusal.

Made byte by byte where the library that packs would not make them.
"""

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import zstandard

from tests.core.packages import zips

MIB = 1024**2


@dataclass(frozen=True)
class Hostile:
    """One archive: what it tries, its bytes, where the fault is (None: anywhere), what is said."""

    name: str
    data: bytes
    place: str | None
    words: str


def tar(*entries: tuple[Any, bytes], end: bytes = bytes(1024)) -> bytes:
    """A tar archive of (name or TarInfo, contents)."""
    made = io.BytesIO()
    for named, data in [("first.txt", b"first"), *entries]:
        info = named if isinstance(named, tarfile.TarInfo) else tarfile.TarInfo(named)
        info.size = info.size or len(data)
        made.write(info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape"))
        made.write(data + bytes(-len(data) % 512))
    return made.getvalue() + end


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 0) -> Any:
    """A header of any kind."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, size
    return info


def extra(kind: bytes, data: bytes) -> bytes:
    """A header that says more about the next entry."""
    info = entry("extra", kind, size=len(data))
    return info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512)


def record(key: str, value: str) -> bytes:
    """One record of a pax header; its length counts its own digits."""
    body = f" {key}={value}\n".encode()
    length = next(n for n in range(len(body), 500) if len(str(n)) + len(body) == n)
    return f"{length}".encode() + body


def of_tar() -> Iterator[Hostile]:
    """Paths, links and kinds, as a plain tar."""
    out, absolute = "leads out", "absolute"
    for name, words in [
        ("../evil", out), ("a/../../evil", out), ("a/..", out), ("..", out), ("x/../y", out),
        ("/etc/passwd", absolute), ("//host/share", absolute), ("c:/windows", absolute),
        ("C:evil", absolute), ("a\\..\\evil", "backslash"), ("\\\\host\\x", "backslash"),
        ("a//b", "empty part"), ("a/./b", "“.” in its path"), ("././a", "“.” in its path"),
        ("n" * 256, "more than 255 bytes"), ("first.txt", "stands in it twice"),
        ("FIRST.txt", "capitals"), ("first.txt/inner", "name of a file"),
    ]:  # fmt: skip
        path = name.removeprefix("./")
        yield Hostile(f"path {name[:20]}", tar((name, b"x")), path[:199], words)
    for target in [
        "/etc/passwd", "../evil", "a/../../evil", "..", "x/..", "c:\\windows", "c:/x", "a\\b",
        "//x",
    ]:  # fmt: skip
        link = entry("link", tarfile.SYMTYPE, target)
        yield Hostile(f"link to {target}", tar((link, b"")), "link", "leads out")
    top = tar((entry("/", tarfile.DIRTYPE), b""))
    yield Hostile("the root of the machine", top, "/", "absolute")
    deep = entry("a/b/link", tarfile.SYMTYPE, "../../../x")
    yield Hostile("a link from deep", tar((deep, b"")), "a/b/link", "leads out")
    inside = entry("dir", tarfile.SYMTYPE, "a")
    through = tar((inside, b""), ("dir/evil", b"x"))
    yield Hostile("through a link", through, "dir/evil", "or a link")
    again = tar((inside, b""), ("dir", b"x"))
    yield Hostile("a file in place of a link", again, "dir", "twice")
    folder = tar((inside, b""), (entry("dir/", tarfile.DIRTYPE), b""))
    yield Hostile("a folder in place of a link", folder, "dir", "twice")
    for target in ["/etc/passwd", "../evil", "missing", "link", "later"]:
        words = "leads out" if "/" in target else "no file before it"
        twin = entry("twin", tarfile.LNKTYPE, target)
        data = tar((entry("link", tarfile.SYMTYPE, "first.txt"), b""), (twin, b""), ("later", b""))
        yield Hostile(f"hard link to {target}", data, "twin", words)
    itself = tar((entry("twin", tarfile.LNKTYPE, "twin"), b""))
    yield Hostile("hard link to itself", itself, "twin", "no file before")
    for kind, words in [
        (tarfile.CHRTYPE, "device"), (tarfile.BLKTYPE, "device"), (tarfile.FIFOTYPE, "pipe"),
        (tarfile.GNUTYPE_SPARSE, "sparse"), (b"7", "not known"), (b"Z", "not known"),
        (b"V", "not known"), (b"M", "not known"), (b"D", "not known"),
    ]:  # fmt: skip
        yield Hostile(f"kind {kind!r}", tar((entry("odd", kind), b"")), "odd", words)


def of_tar_headers() -> Iterator[Hostile]:
    """Headers, sizes and ends that lie."""
    good = tar()
    sum_off = bytearray(good)
    sum_off[0] ^= 1
    yield Hostile("a wrong sum", bytes(sum_off), None, "sum is wrong")
    yield Hostile("no end", tar(end=b""), "", "cut off")
    yield Hostile("half an end", tar(end=bytes(512)), "", "cut off")
    yield Hostile("cut off in a file", tar(("a", b"x" * 5_000))[:2_000], "a", "cut off")
    yield Hostile("cut off in a header", good[:1024] + b"x" * 512, None, "number that is none")
    yield Hostile("something behind", good + b"evil" + bytes(508), "", "behind its end")
    yield Hostile("a second archive behind", good + good, "", "behind its end")
    large = tar((entry("a", size=8 * 1024 * MIB), b""))
    yield Hostile("a size that is not there", large, None, "8,000,000 bytes")
    linked = entry("link", tarfile.SYMTYPE, "first.txt", size=5)
    yield Hostile("a link with contents", tar((linked, b"12345")), "link", "has contents")
    filled = entry("dir", tarfile.DIRTYPE, size=5)
    yield Hostile("a folder with contents", tar((filled, b"12345")), "dir/", "has contents")
    for key, value, words in [
        ("path", "../evil", "leads out"), ("path", "/evil", "absolute"), ("path", "a\0b", "null"),
        ("size", "-1", "number"), ("size", "9" * 30, "number"), ("mtime", "soon", "time"),
        ("GNU.sparse.major", "1", "sparse"), ("path", "", "no name"),
    ]:  # fmt: skip
        data = extra(b"x", record(key, value)) + tar()
        yield Hostile(f"pax {key} {value[:9]!r}", data, None, words)
    yield Hostile("pax that is cut", extra(b"x", b"99 path=x\n") + good, "", "records")
    yield Hostile("pax of nothing", extra(b"x", b"nonsense") + good, "", "records")
    yield Hostile("a long name out", extra(b"L", b"../evil\0") + good, "../evil", "leads out")
    linkname = extra(b"K", b"/etc/passwd\0") + tar()[1024:]
    link = entry("link", tarfile.SYMTYPE, "x").tobuf(tarfile.GNU_FORMAT)
    data = extra(b"K", b"/etc/passwd\0") + link + linkname[-1024:]
    yield Hostile("a long link out", data, "link", "leads out")
    for_all = extra(b"g", record("path", "../evil")) + good
    yield Hostile("a name for all", for_all, "../evil", "leads out")
    yield Hostile("an endless header", extra(b"x", bytes(200_000)) + good, "", "are allowed")
    yield Hostile("endless headers", extra(b"L", b"a\0") * 9 + good, "", "more than 8 times")
    yield Hostile("deep", tar(("/".join("d" * 200), b"")), None, "nests folders more than 128")
    endless = extra(b"L", b"a/" * 60_000 + b"b\0") + good
    yield Hostile("endlessly deep", endless, None, "nests folders more than 128")
    many = tar(*((f"f/{number}", b"") for number in range(3_100)))
    yield Hostile("many", many, None, "more than 3,000 files")
    twins = [(entry(f"t{n}", tarfile.LNKTYPE, "large"), b"") for n in range(9)]
    data = tar(("large", bytes(MIB)), *twins)
    yield Hostile("many twins of a large file", data, None, "8,000,000 bytes")


def of_packed_tar() -> Iterator[Hostile]:
    """What is around a tar."""
    good, bomb = tar(), tar(("zeros", bytes(7 * MIB)))
    yield Hostile("gz, cut off", gzip.compress(good)[:-9], "", "cut off")
    damaged = bytearray(gzip.compress(good))
    damaged[-6] ^= 1
    yield Hostile("gz, wrong sum", bytes(damaged), "", "damaged")
    yield Hostile("gz, two of them", gzip.compress(good) * 2, "", "behind its end")
    yield Hostile("gz of nonsense", b"\x1f\x8b" + bytes(600), "", "cannot be unpacked")
    yield Hostile("gz, a path out", gzip.compress(tar(("../evil", b""))), "../evil", "leads out")
    yield Hostile("gz, a bomb", gzip.compress(bomb + bytes(80 * MIB)), "", "bomb")
    yield Hostile("zst, a bomb", zstandard.compress(bomb + bytes(80 * MIB)), "", "bomb")
    frames = zstandard.compress(bytes(MIB)) * 200
    yield Hostile("zst, a bomb of frames", zstandard.compress(bomb) + frames, "", "bomb")
    yield Hostile("zst, cut off", zstandard.compress(good)[:-40], None, "")
    yield Hostile("zst of nonsense", b"\x28\xb5\x2f\xfd" + b"\xff" * 600, "", "cannot be unpacked")
    window = zstandard.ZstdCompressionParameters.from_level(3, window_log=28)
    wide = zstandard.ZstdCompressor(compression_params=window).compressobj()
    data = wide.compress(good) + wide.flush()
    yield Hostile("zst, a huge window", data, "", "cannot be unpacked")
    yield Hostile("zst, a path out", zstandard.compress(tar(("/evil", b""))), "/evil", "absolute")
    yield Hostile("nothing", b"", "", "no archive that is read here")
    yield Hostile("text", b"not an archive\n" * 99, "", "no archive that is read here")
    seven = b"7z\xbc\xaf\x27\x1c" + bytes(600)
    yield Hostile("another archive", seven, "", "no archive that is read here")


def zipped(*entries: tuple[Any, bytes]) -> bytes:
    """A zip archive of these."""
    return zips.zipped([("first.txt", b"first " * 20), *entries])


def link(name: str, target: bytes) -> tuple[Any, bytes]:
    """A link in a zip archive."""
    return zips.special(name, zips.LINK), target


def of_zip() -> Iterator[Hostile]:
    """Paths, links and kinds, as a zip."""
    for name, words in [
        ("../evil", "leads out"), ("a/../../evil", "leads out"), ("/etc/passwd", "absolute"),
        ("c:/windows", "absolute"), ("a\\..\\evil", "backslash"), ("a//b", "empty part"),
        ("./a", "“.” in its path"), ("first.txt", "twice"), ("FIRST.txt", "capitals"),
        ("first.txt/inner", "name of a file"), ("first.txt/", "twice"), ("/", "no name"),
    ]:  # fmt: skip
        yield Hostile(
            f"zip path {name}",
            zipped((name, b"")),
            name if name == "/" else name.rstrip("/"),
            words,
        )
    for target in [b"/etc/passwd", b"../evil", b"a/../..", b""]:
        words = "leads out" if target else "link to nothing"
        yield Hostile(f"zip link to {target!r}", zipped(link("l", target)), "l", words)
    data = zipped(link("dir", b"a"), ("dir/evil", b"x"))
    yield Hostile("zip through a link", data, "dir/evil", "or a link")
    data = zipped(link("l", b"x" * 5_000))
    yield Hostile("zip link without end", data, "l", "4,096")
    for mode in (zips.PIPE, zips.DEVICE):
        data = zipped((zips.special("odd", mode), b""))
        yield Hostile(f"zip kind {mode:o}", data, "odd", "device or a pipe")
    yield Hostile("zip sealed", zips.flagged(zipped(), 1), "first.txt", "encrypted")
    yield Hostile("zip of bzip2", zips.of_method(zipped(), 12), "first.txt", "other than store")
    null = zips.renamed(zipped(("abxcd", b"")), b"abxcd", b"ab\0cd")
    yield Hostile("zip null in a name", null, None, "null")
    other = zips.renamed(zipped(("caffee", b"")), b"caffee", b"caf\xe9ee")
    yield Hostile("zip name of no UTF-8", other, None, "UTF-8")


def of_zip_layout() -> Iterator[Hostile]:
    """Sizes, sums, lists and ends that lie."""
    good = zipped()
    yield Hostile("zip bomb", zipped(("zeros", bytes(70 * MIB))), "", "bomb")
    parts = [(f"z{n}", bytes(range(256)) * 4_096 + bytes([n])) for n in range(9)]
    yield Hostile("zip of much", zips.zipped(parts), None, "")
    yield Hostile("zip says less", zips.lying(good, 60), None, "larger than the archive says")
    yield Hostile("zip says more", zips.lying(good, 500), None, "smaller than the archive says")
    yield Hostile("zip overlaps", overlapping(), "first", "overlaps second")
    yield Hostile("zip quine of one kernel", kernel(), None, "overlaps")
    header = bytearray(good)
    header[30] ^= 0x20
    yield Hostile("zip, two names", bytes(header), "first.txt", "by its own header")
    sizes = bytearray(good)
    sizes[22] ^= 1
    yield Hostile("zip, two sizes", bytes(sizes), "first.txt", "by its own header")
    crc = bytearray(good)
    at = crc.rfind(b"PK\1\2")
    crc[at + 16] ^= 1
    crc[14] ^= 1
    yield Hostile("zip, wrong sum", bytes(crc), "first.txt", "sum is wrong")
    inside = bytearray(good)
    inside[40] ^= 0xFF
    yield Hostile("zip, damaged", bytes(inside), "first.txt", "damaged")
    larger = good[:-22] + b"PK\6\7" + bytes(16) + good[-22:]
    yield Hostile("zip, ZIP64", larger, "", "ZIP64")
    yield Hostile("zip, ZIP64 by its sizes", zip64_sizes(), None, "")
    yield Hostile("zip, something before", b"PK\3\4evil" + good, "", "not where its end says")
    yield Hostile("zip, something behind", good + b"evil", "", "not where its end says")
    two = good[:-2] + struct.pack("<H", len(good)) + good
    yield Hostile("zip, two ends", two, "", "not where its end says")
    yield Hostile("zip, more told", counted(good, 9), "", "tells of 9")
    yield Hostile("zip, fewer told", counted(zipped(("b", b"")), 1), "", "tells of 1")
    yield Hostile("zip, cut off", good[:-30], "", "is not a zip archive")
    outside = bytearray(good)
    at = outside.rfind(b"PK\1\2")
    outside[at + 42 : at + 46] = struct.pack("<I", len(good) + 5)
    yield Hostile("zip, an entry outside", bytes(outside), "first.txt", "outside")
    many = zips.zipped([(f"f/{number}", b"") for number in range(3_100)])
    yield Hostile("zip of many", many, "", "3,000 entries are allowed")
    deep = zipped(("/".join("d" * 200), b""))
    yield Hostile("zip, deep", deep, None, "nests folders more than 128")
    short = bytearray(zips.zipped([("a", b"x" * 100)]))
    at = short.rfind(b"PK\1\2")
    for place in (18, at + 20):
        (size,) = struct.unpack_from("<I", short, place)
        struct.pack_into("<I", short, place, size - 1)
    yield Hostile("zip, cut in its packing", bytes(short), "a", "does not end where")


def overlapping() -> bytes:
    """Two entries of the list that share bytes: the second begins within the first."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("second", b"inside")
    hidden = inner.getvalue()
    hidden = hidden[: hidden.find(b"PK\1\2")]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("first", hidden)
        archive.writestr("second", b"inside")
    data = bytearray(made.getvalue())
    at = data.rfind(b"PK\1\2")
    struct.pack_into("<I", data, at + 42, bytes(data).find(hidden))
    return bytes(data)


def kernel() -> bytes:
    """Many entries of the list that are one and the same: little in, much out."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    body, content = b"", bytes(60_000)
    body = packed.compress(content) + packed.flush()
    crc, name = zlib.crc32(content), b"n"
    local = struct.pack(
        "<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, crc, len(body), len(content), 1, 0
    )  # fmt: skip
    listed = struct.pack(
        "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 33, crc, len(body), len(content), 1, 0, 0, 0, 0,
        0, 0,
    )  # fmt: skip
    entries = (listed + name) * 100
    start = len(local) + 1 + len(body)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 100, 100, len(entries), start, 0)
    return local + name + body + entries + end


def zip64_sizes() -> bytes:
    """An entry whose sizes stand in a record for larger archives, and say 2^40."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        info = zipfile.ZipInfo("a")
        info.extra = struct.pack("<HHQQ", 1, 16, 2**40, 2**40)
        archive.writestr(info, b"x")
    data = bytearray(made.getvalue())
    at = data.rfind(b"PK\1\2")
    struct.pack_into("<2L", data, at + 20, 0xFFFFFFFF, 0xFFFFFFFF)
    return bytes(data)


def counted(data: bytes, count: int) -> bytes:
    """The archive whose end tells another number of entries."""
    return data[:-14] + struct.pack("<HH", count, count) + data[-10:]


ALL = [
    *of_tar(), *of_tar_headers(), *of_packed_tar(), *of_zip(), *of_zip_layout(),
]  # fmt: skip
