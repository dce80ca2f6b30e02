"""Secrets: how they are named and bounded, and where a manifest names them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from studio.core.rules.errors import Invalid, TooLarge

STUDIO = "studio"  # the owner of secrets that any agent may name
NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
SHORTEST, LONGEST = 8, 8_192
FEWEST_LETTERS = 4


def name_fault(name: object) -> str | None:
    """What is wrong with a secret's name, as a sentence without its subject."""
    if isinstance(name, str) and NAME.fullmatch(name):
        return None
    return "must name a secret in capital letters, digits and _."


def check(name: str, value: str) -> None:
    """Raise Invalid or TooLarge unless this can be kept as a secret, and masked."""
    if fault := name_fault(name):
        raise Invalid(
            "That is no name for a secret. Use capital letters, digits and _, such as CRM_TOKEN.",
            fields={"name": fault}, code="secret.name",
        )  # fmt: skip
    if len(value) > LONGEST:
        raise TooLarge(
            f"The value has {len(value):,} characters; {LONGEST:,} are allowed.",
            code="secret.too_large",
        )
    if fault := _value_fault(value):
        raise Invalid(f"The value {fault}", fields={"value": fault}, code="secret.value")


def _value_fault(value: str) -> str | None:
    if len(value) < SHORTEST or len(value.encode("utf-8", "replace")) < SHORTEST:
        return (
            f"has {len(value)} characters. A secret needs {SHORTEST}: a shorter one could not be "
            "masked in what tools send back without hiding other words."
        )
    if len(set(value)) < FEWEST_LETTERS:
        return "is made of too few different characters to be masked without hiding other words."
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        return "has a null character or half of a character in it."
    if value != value.strip():
        return "begins or ends with a space or a line break; leave that out."
    return None


def named(value: Any) -> Iterator[str]:
    """The names of every {"secret": NAME} in a JSON value, in order, perhaps more than once."""
    if isinstance(value, Mapping):
        if list(value) == ["secret"] and isinstance(value["secret"], str):
            yield value["secret"]
            return
        for item in value.values():
            yield from named(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from named(item)
