"""A byte range of a file, as HTTP asks for one."""

import re
from dataclasses import dataclass
from urllib.parse import quote

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


@dataclass(frozen=True, kw_only=True)
class Span:
    """Bytes from `begin` up to `end`; `partial` when that is not the whole."""

    begin: int
    end: int
    partial: bool


def span(header: str | None, size: int) -> Span | None:
    """What is asked for; the whole when nothing (or several ranges) is; None when it is outside."""
    found = _RANGE.fullmatch(header.strip()) if header else None
    if found is None or not (found[1] or found[2]):
        return Span(begin=0, end=size, partial=False)
    if not found[1]:
        begin, end = max(size - int(found[2]), 0), size
    else:
        begin = int(found[1])
        end = min(int(found[2]) + 1, size) if found[2] else size
    return Span(begin=begin, end=end, partial=True) if begin < end else None


def headers(of: Span, size: int, hash: str) -> dict[str, str]:
    """What an answer with these bytes says of itself."""
    told = {
        "ETag": f'"{hash}"',
        "Accept-Ranges": "bytes",
        "Content-Length": str(of.end - of.begin),
    }
    if of.partial:
        told["Content-Range"] = f"bytes {of.begin}-{of.end - 1}/{size}"
    return told


def disposition(name: str) -> str:
    """Content-Disposition of a download: kept by its own name, never opened in the page."""
    last = name.rpartition("/")[2]
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", last)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(last, safe='')}"
