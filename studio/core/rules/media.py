"""Media types: what a file is called, what its bytes say, and what kind of thing that is.

A type is taken from what was declared and from the name, and then held against the bytes: a small
table of signatures for what has one, UTF-8 for text. Nothing is decoded.
"""

import re
from collections.abc import Mapping
from typing import Literal

Kind = Literal["text", "image", "pdf", "audio", "video", "archive", "other"]
UNKNOWN = "application/octet-stream"
PLAIN = "text/plain"
JSON = "application/json"
FOLDER = "inode/directory"  # what freedesktop.org calls a folder; no file goes by it
HEAD_BYTES = 4_096  # of a file are enough to know it by
_PART = r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}"  # of a type, as registries allow it
_TYPE = re.compile(f"{_PART}/{_PART}")
INLINE_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

_ALIASES: Mapping[str, str] = {
    "image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png",
    "audio/x-wav": "audio/wav", "audio/wave": "audio/wav", "audio/vnd.wave": "audio/wav",
    "audio/mp3": "audio/mpeg", "audio/x-mp3": "audio/mpeg", "audio/x-flac": "audio/flac",
    "audio/x-m4a": "audio/mp4", "audio/m4a": "audio/mp4", "audio/opus": "audio/ogg",
    "application/ogg": "audio/ogg", "application/x-zip-compressed": "application/zip",
    "application/x-gzip": "application/gzip", "text/json": JSON, "text/x-markdown": "text/markdown",
    "application/x-pdf": "application/pdf", "application/x-javascript": "text/javascript",
    "application/javascript": "text/javascript", "text/xml": "application/xml",
    "application/x-yaml": "application/yaml", "text/yaml": "application/yaml",
    "text/x-yaml": "application/yaml",
}  # fmt: skip
_TEXTS = frozenset({
    JSON, "application/xml", "application/yaml", "application/toml", "application/sql",
    "application/x-sh", "application/x-python", "application/x-ndjson", "application/jsonl",
    "application/rtf", "application/graphql", "application/x-httpd-php", "image/svg+xml",
})  # fmt: skip
_OFFICE = ("application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.")

# Names whose end says more than a browser does: it knows few of them, and some wrongly.
_BY_NAME: Mapping[str, str] = {
    "txt": PLAIN, "log": PLAIN, "md": "text/markdown", "markdown": "text/markdown",
    "csv": "text/csv", "tsv": "text/tab-separated-values", "json": JSON, "ndjson": JSON,
    "jsonl": "application/jsonl", "xml": "application/xml", "yaml": "application/yaml",
    "yml": "application/yaml", "toml": "application/toml", "ini": PLAIN, "cfg": PLAIN,
    "conf": PLAIN, "env": PLAIN, "html": "text/html", "htm": "text/html", "css": "text/css",
    "js": "text/javascript", "mjs": "text/javascript", "ts": "text/x-typescript",
    "tsx": "text/x-typescript", "jsx": "text/javascript", "py": "text/x-python",
    "rb": "text/x-ruby", "go": "text/x-go", "rs": "text/x-rust", "java": "text/x-java",
    "kt": "text/x-kotlin", "c": "text/x-c", "h": "text/x-c", "cc": "text/x-c++",
    "cpp": "text/x-c++", "hpp": "text/x-c++", "cs": "text/x-csharp", "php": "text/x-php",
    "swift": "text/x-swift", "sh": "application/x-sh", "sql": "application/sql",
    "diff": "text/x-diff", "patch": "text/x-diff", "svg": "image/svg+xml", "png": "image/png",
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "bmp": "image/bmp", "pdf": "application/pdf", "wav": "audio/wav", "mp3": "audio/mpeg",
    "ogg": "audio/ogg", "opus": "audio/ogg", "flac": "audio/flac", "m4a": "audio/mp4",
    "mp4": "video/mp4", "webm": "video/webm", "zip": "application/zip", "gz": "application/gzip",
    "docx": _OFFICE[0] + "wordprocessingml.document", "xlsx": _OFFICE[0] + "spreadsheetml.sheet",
    "pptx": _OFFICE[0] + "presentationml.presentation", "odt": _OFFICE[1] + "text",
    "ods": _OFFICE[1] + "spreadsheet", "odp": _OFFICE[1] + "presentation",
    "doc": "application/msword", "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
}  # fmt: skip

# What the first bytes say. Each row: the type they name, where they stand, the bytes.
_SIGNATURES: tuple[tuple[str, int, bytes], ...] = (
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", 0, b"\xff\xd8\xff"),
    ("image/gif", 0, b"GIF87a"), ("image/gif", 0, b"GIF89a"),
    ("image/webp", 8, b"WEBP"),
    ("image/bmp", 0, b"BM"),
    ("audio/wav", 8, b"WAVE"),
    ("audio/ogg", 0, b"OggS"),
    ("audio/flac", 0, b"fLaC"),
    ("audio/mpeg", 0, b"ID3"), ("audio/mpeg", 0, b"\xff\xfb"), ("audio/mpeg", 0, b"\xff\xf3"),
    ("audio/mpeg", 0, b"\xff\xf2"), ("audio/mpeg", 0, b"\xff\xfa"),
    ("video/mp4", 4, b"ftyp"),
    ("video/webm", 0, b"\x1a\x45\xdf\xa3"),
    ("application/zip", 0, b"PK\x03\x04"), ("application/zip", 0, b"PK\x05\x06"),
    ("application/gzip", 0, b"\x1f\x8b"),
    ("application/msword", 0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
)  # fmt: skip
_RIFF = frozenset({"image/webp", "audio/wav"})
_PDF_WITHIN = 1_024  # bytes before `%PDF-` are allowed by those who read it

# Types that share one signature.
_SAME: Mapping[str, str] = {
    "audio/mp4": "video/mp4", "video/quicktime": "video/mp4", "image/avif": "video/mp4",
    "image/heic": "video/mp4", "audio/webm": "video/webm", "video/ogg": "audio/ogg",
    "application/vnd.ms-excel": "application/msword",
    "application/vnd.ms-powerpoint": "application/msword",
    "application/epub+zip": "application/zip", "application/java-archive": "application/zip",
}  # fmt: skip
_KNOWN = frozenset(row[0] for row in _SIGNATURES) | {"application/pdf"}


def bare(media: str) -> str:
    """A media type in small letters and without parameters; empty when it is none.

    It comes from strangers and goes into headers, so nothing but the letters of a type passes.
    """
    found = media.partition(";")[0].strip().lower()
    return found if _TYPE.fullmatch(found) else ""


def plain(media: str) -> str:
    """A media type as it is written here: `bare`, and one name a thing."""
    found = bare(media)
    return _ALIASES.get(found, found)


def is_text(media: str) -> bool:
    """Whether a file of this type is read as text."""
    return (
        media.startswith("text/") or media in _TEXTS or media.endswith(("+json", "+xml", "+yaml"))
    )


def kind(media: str) -> Kind:
    """What sort of thing a file of this type is."""
    if is_text(media):
        return "text"
    if media == "application/pdf":
        return "pdf"
    top = media.partition("/")[0]
    if top in ("image", "audio", "video"):
        return top  # type: ignore[return-value]
    if media in ("application/zip", "application/gzip", "application/x-tar"):
        return "archive"
    return "other"


def sniffed(head: bytes) -> str:
    """The type that the first bytes name; empty when they name none."""
    for media, at, sign in _SIGNATURES:
        if head[at : at + len(sign)] == sign and (media not in _RIFF or head[:4] == b"RIFF"):
            return media
    return "application/pdf" if b"%PDF-" in head[: _PDF_WITHIN + 5] else ""


def settled(name: str, declared: str, head: bytes, *, utf8: bool) -> str:
    """The type a file goes by: what was declared, else what its name or its bytes say.

    A browser declares what its system thinks; where the name says that it is text and the bytes
    are, that is believed before it.
    """
    told = plain(declared)
    by_name = _BY_NAME.get(name.rpartition(".")[2].lower(), "") if "." in name else ""
    if by_name and is_text(by_name) and utf8 and told not in ("", by_name) and not is_text(told):
        return by_name
    if told and told not in (UNKNOWN, FOLDER):
        return told
    return by_name or sniffed(head) or (PLAIN if utf8 else UNKNOWN)


def mismatch(media: str, head: bytes, *, utf8: bool, size: int) -> str:
    """What the bytes are instead of this type; empty when they may be of it."""
    if is_text(media):
        return "" if utf8 else (sniffed(head) or "no UTF-8 text")
    sign = _sign(media)
    if sign is None:
        return ""
    found = sniffed(head)
    if found == sign:
        return ""
    if not size:
        return "empty"
    return found or (PLAIN if utf8 else UNKNOWN)


def _sign(media: str) -> str | None:
    """The type whose signature this one bears; None when no signature is known of it."""
    if media.startswith(_OFFICE):
        return "application/zip"
    found = _SAME.get(media, media)
    return found if found in _KNOWN else None


def extension(media: str) -> str:
    """The usual end of a name, with its dot; empty when none is known."""
    known = _EXTENSIONS.get(media)
    return f".{known}" if known else ""


_EXTENSIONS = {media: end for end, media in reversed(list(_BY_NAME.items()))}
