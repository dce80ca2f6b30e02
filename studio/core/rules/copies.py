"""Copies of records with some fields changed, for where that happens for every fact."""

from typing import Any, TypeVar

R = TypeVar("R")


def replace(record: R, **changes: Any) -> R:
    """As `dataclasses.replace`, in a quarter of its time, for a plain dataclass: one that keeps its
    fields in `__dict__` and does nothing of its own when it is made. TypeError for a wrong name."""
    made = object.__new__(type(record))
    fields = made.__dict__
    fields.update(record.__dict__)
    count = len(fields)
    fields.update(changes)
    if len(fields) != count:
        wrong = ", ".join(sorted(fields.keys() - record.__dict__.keys()))
        raise TypeError(f"{type(record).__name__} has no field {wrong}.")
    return made
