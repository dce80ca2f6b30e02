"""Moments as one writes them in a terminal."""

import re
from datetime import UTC, datetime, timedelta

from studio.core.rules.errors import Invalid

UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def moment(text: str, flag: str) -> str:
    """A moment in ISO 8601; `90m`, `12h` and `3d` are so long ago."""
    ago = re.fullmatch(r"([0-9]{1,5})([mhd])", text)
    if ago is None:
        return text
    try:
        then = datetime.now(UTC) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
    except OverflowError:
        words = f"{flag} lies before all time."
        raise Invalid(words, code="time.early", fields={flag: words}) from None
    return then.isoformat(timespec="seconds")
