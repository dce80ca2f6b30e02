"""JSON from outside, read strictly: no NaN, no infinity, no endless nesting; and secrets masked."""

import base64
import json
import math
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

DEEPEST = 128
SHORTEST_SECRET = 4
MASK = "•••"


class NotJson(ValueError):
    """The text is not JSON, or not JSON that can be kept."""


def loads(text: str | bytes) -> Any:
    """The value of a JSON text; NotJson says what is wrong."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as wrong:
        raise NotJson(str(wrong)) from None
    check(value)
    return value


def check(value: Any) -> None:
    """Raise NotJson when a value holds NaN or infinity, or is nested too deep."""
    level = [value]
    for _ in range(DEEPEST):
        inner = list[Any]()
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
            elif isinstance(item, float) and not math.isfinite(item):
                raise NotJson("a number in it is not finite")
        if not inner:
            return
        level = inner
    raise NotJson(f"it is nested deeper than {DEEPEST} levels")


def _refuse(text: str) -> float:
    raise NotJson(f"{text} is not JSON")


class Mask:
    """Takes secrets out of what a tool gave back: as they are, quoted for a URL, or in base 64."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = set[str]()
        for secret in secrets:
            if len(secret) >= SHORTEST_SECRET:
                plain = json.dumps(secret)[1:-1]
                coded = base64.b64encode(secret.encode("utf-8", "replace")).decode()
                forms |= {secret, plain, quote(secret, safe=""), coded.rstrip("=")}
        self._forms = sorted(forms, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text without secrets."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return text

    def value(self, value: Any) -> Any:
        """The JSON value without secrets, in names and in texts."""
        if not self._forms:
            return value
        if isinstance(value, str):
            return self.text(value)
        elif isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        elif isinstance(value, list):
            return [self.value(item) for item in value]
        return value
