"""Two manifests field by field: paths with what stood there before and what stands there after."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from studio.core.rules import paths
from studio.web import values

MOST = 200


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    """A place that differs; the texts are None where there is nothing."""

    path: str
    before: str | None
    after: str | None


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """The places in which two manifests differ, at most 200."""
    found = list[FieldChange]()
    for path, before, after in values.differences(dict(old), dict(new)):
        if len(found) == MOST:
            break
        found.append(FieldChange(path=paths.write(path), before=_text(before), after=_text(after)))
    return tuple(found)


def _text(value: Any) -> str | None:
    if value is values.ABSENT:
        return None
    return value if isinstance(value, str) else values.text(value)
