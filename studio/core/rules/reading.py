"""Reads JSON objects that people wrote, field by field, and keeps a sentence for each fault.

A `Reader` stands at one place of the value. All faults of a value are told at once, by path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from studio.core.rules import paths
from studio.core.rules.errors import Invalid

MOST_FAULTS = 50


@dataclass(frozen=True, kw_only=True)
class Faults:
    """What is wrong, by dotted path. The first sentence for a path is kept."""

    fields: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, sentence: str) -> None:
        """Remember a fault; beyond a bound nothing more is kept."""
        if len(self.fields) < MOST_FAULTS:
            self.fields.setdefault(path, sentence)

    def check(self, what: str, *, code: str) -> None:
        """Raise `Invalid` with this code when there is any fault."""
        if self.fields:
            count = len(self.fields)
            noun = "field is" if count == 1 else "fields are"
            words = f"{what} cannot be used: {count} {noun} not right."
            raise Invalid(words, fields=self.fields, code=code)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One JSON object and where it stands. Every read names the field and says what it must be."""

    value: Mapping[str, Any]
    path: str
    faults: Faults

    def at(self, name: str) -> str:
        """The path of one of its fields."""
        return paths.join(self.path, name)

    def fault(self, name: str, sentence: str) -> None:
        """Remember what is wrong with one of its fields."""
        self.faults.add(self.at(name), sentence)

    def has(self, name: str) -> bool:
        """The field is there; null counts as not there."""
        return self.value.get(name) is not None

    def known(self, *names: str) -> None:
        """Refuse every other field."""
        for name in self.value:
            if name not in names:
                self.fault(name, f"is not a known field. Known here: {', '.join(names)}.")

    def text(self, name: str, *, most: int, needed: bool = False, least: int = 1) -> str | None:
        """A string of at most `most` characters."""
        value = self._typed(name, str, "text", needed=needed)
        if value is None:
            return None
        if not least <= len(value) <= most:
            self.fault(name, f"must have {least} to {most:,} characters, and has {len(value):,}.")
            return None
        return str(value)

    def flag(self, name: str) -> bool | None:
        """true or false."""
        value = self._typed(name, bool, "true or false")
        return None if value is None else bool(value)

    def whole(self, name: str, least: int, most: int) -> int | None:
        """A whole number between two numbers."""
        value = self._typed(name, int, f"a whole number from {least:,} to {most:,}")
        if value is None:
            return None
        if not least <= value <= most:
            self.fault(name, f"must be a whole number from {least:,} to {most:,}.")
            return None
        return int(value)

    def number(self, name: str, least: float, most: float) -> float | None:
        """A number between two numbers."""
        value = self._typed(name, (int, float), f"a number from {least:g} to {most:g}")
        if value is None:
            return None
        if not least <= value <= most:
            self.fault(name, f"must be a number from {least:g} to {most:g}.")
            return None
        return float(value)

    def one_of(self, name: str, allowed: Sequence[str], *, needed: bool = False) -> str | None:
        """One of a few words."""
        value = self._typed(name, str, f"one of: {', '.join(allowed)}", needed=needed)
        if value is None:
            return None
        if value not in allowed:
            self.fault(name, f"must be one of: {', '.join(allowed)}.")
            return None
        return str(value)

    def object(self, name: str, *, needed: bool = False) -> "Reader | None":
        """An object, to be read further."""
        value = self._typed(name, Mapping, "an object", needed=needed)
        if value is None:
            return None
        return Reader(value=value, path=self.at(name), faults=self.faults)

    def items(self, name: str, *, most: int, needed: bool = False) -> list[tuple[str, Any]]:
        """The elements of an array, each with its path."""
        value = self._typed(name, list, "a list", needed=needed)
        if value is None:
            return []
        if len(value) > most:
            self.fault(name, f"may have at most {most:,} entries, and has {len(value):,}.")
            return []
        return [(paths.join(self.at(name), index), item) for index, item in enumerate(value)]

    def objects(self, name: str, *, most: int) -> "list[Reader]":
        """The elements of an array of objects, to be read further."""
        found = []
        for path, item in self.items(name, most=most):
            if isinstance(item, Mapping):
                found.append(Reader(value=item, path=path, faults=self.faults))
            else:
                self.faults.add(path, "must be an object.")
        return found

    def words(self, name: str, *, most: int, longest: int = 200) -> tuple[str, ...]:
        """An array of strings."""
        found = []
        for path, item in self.items(name, most=most):
            if isinstance(item, str) and 0 < len(item) <= longest:
                found.append(item)
            else:
                self.faults.add(path, f"must be text of 1 to {longest:,} characters.")
        return tuple(found)

    def _typed(
        self, name: str, kind: type | tuple[type, ...], words: str, *, needed: bool = False
    ) -> Any:
        value = self.value.get(name)
        if value is None:
            if needed:
                self.fault(name, "is needed.")
            return None
        is_odd_flag = isinstance(value, bool) and kind is not bool
        if not isinstance(value, kind) or is_odd_flag:
            self.fault(name, f"must be {words}.")
            return None
        return value


def top(value: object, path: str, faults: Faults) -> Reader | None:
    """A reader of the whole value, or a fault when it is no object."""
    if isinstance(value, Mapping):
        return Reader(value=value, path=path, faults=faults)
    faults.add(path, "must be an object.")
    return None
