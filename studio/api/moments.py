"""Moments that programs write in queries and bodies."""

from datetime import UTC, datetime


def moment(text: str, name: str, faults: dict[str, str]) -> int | None:
    """ms of a moment in ISO 8601; without a zone it is UTC. None when there is none, or, with a
    sentence in `faults`, when it cannot be read."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return int(found.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        faults[name] = "Write a moment such as 2026-11-30 or 2026-11-30T08:00:00Z."
        return None
