"""A figure: what was measured, how much it was, what it must reach; and how they are printed."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured number. `most` or `least` is what it must reach; None is for information."""

    name: str
    value: float
    unit: str
    most: float | None = None
    least: float | None = None
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether it reached its number, or None where there is none."""
        if self.most is not None:
            return self.value <= self.most
        if self.least is not None:
            return self.value >= self.least
        return None


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(
    name: str, values: Sequence[float], unit: str, *, p50: float | None = None,
    p99: float | None = None,
) -> list[Figure]:  # fmt: skip
    """The median and the 99th percentile of many values."""
    note, median = f"n = {len(values)}", statistics.median(values)
    return [
        Figure(name=f"{name}, p50", value=median, unit=unit, most=p50, note=note),
        Figure(name=f"{name}, p99", value=quantile(values, 0.99), unit=unit, most=p99, note=note),
    ]


def table(figures: Sequence[Figure]) -> str:
    """The figures as lines: mark, name, value, what it must reach, note."""
    lines = []
    for figure in figures:
        mark = {True: "ok  ", False: "MISS", None: "    "}[figure.reached]
        goal = ""
        if figure.most is not None:
            goal = f"≤ {figure.most:,g} {figure.unit}"
        elif figure.least is not None:
            goal = f"≥ {figure.least:,g} {figure.unit}"
        value = f"{figure.value:,.2f} {figure.unit}"
        lines.append(f"{mark} {figure.name:<52} {value:>18}   {goal:<20} {figure.note}")
    return "\n".join(lines)
