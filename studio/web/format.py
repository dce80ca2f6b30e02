"""How times, amounts and sizes are written, the same on every page: the filters of the templates.

Times come as milliseconds since 1970, UTC; what cannot be known is written as a word, never as 0.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from studio.core.rules import percent, reveal

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNKNOWN = "unknown"
HALVES = re.compile("[\ud800-\udfff]")


def sound(text: str) -> str:
    """Text that UTF-8 can carry: half of a surrogate pair, which an agent or a tool may well say,
    has a sign in its place."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return HALVES.sub("\N{REPLACEMENT CHARACTER}", text)
    return text


def iso(milliseconds: int) -> str:
    """`2026-11-29T14:02:11.201Z`, for the `datetime` attribute."""
    return _at(milliseconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clock(milliseconds: int) -> str:
    """`14:02:11`, UTC; the reader's zone is put in by the page's script."""
    return _at(milliseconds).strftime("%H:%M:%S")


def stamp(milliseconds: int) -> str:
    """`29 Nov 2026, 14:02:11 UTC`."""
    return _at(milliseconds).strftime("%-d %b %Y, %H:%M:%S UTC")


def duration(milliseconds: int | None) -> str:
    """`38 ms`, `6.4 s`, `1 m 50 s`, `2 h 4 m`, `3 d 4 h`."""
    if milliseconds is None:
        return UNKNOWN
    left = max(0, round(milliseconds))
    if left < 1_000:
        return f"{left} ms"
    if left < 9_950:
        return f"{left / 1_000:.1f} s".replace(".0 s", " s")
    seconds = round(left / 1_000)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3_600:
        return _two(seconds, 60, "m", "s")
    minutes = seconds // 60
    if minutes < 1_440:
        return _two(minutes, 60, "h", "m")
    return _two(minutes // 60, 24, "d", "h")


def money(dollars: float | None, known: bool = True) -> str:  # noqa: FBT001, FBT002 - a filter
    """`$1.24`, `$0.041`, `$0.0004`; `at least $0.041` while a part is unknown."""
    if dollars is None or (not known and not dollars):
        return UNKNOWN
    if dollars == 0:
        text = "$0"
    elif dollars >= 1:
        text = f"${dollars:,.2f}"
    elif dollars >= 0.001:
        text = f"${dollars:.3f}"
    else:
        text = f"${dollars:.2g}" if dollars >= 0.0001 else "under $0.0001"
    return text if known else f"at least {text}"


def number(value: int | None) -> str:
    """`12,480`."""
    return UNKNOWN if value is None else f"{value:,}"


def known(value: int, untold: int) -> str:
    """`12,480`; a lower bound where some did not say, and unknown where nobody did."""
    if not untold:
        return number(value)
    return f"at least {value:,}" if value else UNKNOWN


def amount(value: float) -> str:
    """A number that may have a part: `7`, `2.5`."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def size(count: int | None) -> str:
    """Bytes as `812 B`, `1.2 MB`, `48 MB`; a kB is 1,000 bytes."""
    if count is None:
        return UNKNOWN
    if count < 1_000:
        return f"{count} B"
    amount = float(count)
    units = iter(("kB", "MB", "GB", "TB"))
    unit = next(units)
    while (amount := amount / 1_000) >= 999.5 and unit != "TB":
        unit = next(units)
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"


def digest(value: str) -> str:
    """The two ends of a SHA-256: `9f2c…71ae`."""
    return f"{value[:4]}…{value[-4:]}" if len(value) > 12 else value


def count(value: int, one: str, many: str = "") -> str:
    """`1 call`, `2 calls`, `0 calls`."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def pretty(value: Any) -> str:
    """JSON to be read by a person."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def excerpt(text: str, most: int = 160) -> str:
    """The first characters on one line, with hidden ones as escapes."""
    line = reveal.plain(" ".join(text[: most * 4].split()), one_line=True, prose=True)
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def plain(text: str) -> str:
    """One line as it is, with hidden characters as escapes: for names that others chose."""
    return reveal.plain(text, one_line=True, prose=True)


def clipped(text: str, most: int = 20_000) -> str:
    """A long text, cut with a word about what is left out."""
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} characters more"


def _at(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)


def _two(total: int, base: int, large: str, small: str) -> str:
    first, rest = divmod(total, base)
    return f"{first} {large} {rest} {small}" if rest else f"{first} {large}"


def mode(value: int) -> str:
    """The bits of a file's mode as `0644`."""
    return f"{value:04o}"


FILTERS: dict[str, Callable[..., str]] = {
    "iso": iso,
    "clock": clock,
    "stamp": stamp,
    "duration": duration,
    "money": money,
    "number": number,
    "known": known,
    "amount": amount,
    "size": size,
    "digest": digest,
    "count": count,
    "pretty": pretty,
    "excerpt": excerpt,
    "clipped": clipped,
    "plain": plain,
    "raw": percent.written,
    "mode": mode,
}
