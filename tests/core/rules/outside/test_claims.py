"""What is refused of a span, and how that is told."""

from typing import Any

import pytest

from studio.core.rules.outside.claims import DAY, REASONS, SECOND, Refusal, plain, told, wrong_with
from tests.core.rules.outside.spans import NOW, claim


def test_a_sound_span_is_taken() -> None:
    assert wrong_with(claim(2, 1), NOW) == ""


@pytest.mark.parametrize(
    "code,changes",
    [
        ("trace_id", {"trace_id": "0" * 32}),
        ("trace_id", {"trace_id": "ab"}),
        ("trace_id", {"trace_id": ""}),
        ("span_id", {"span_id": "0" * 16}),
        ("span_id", {"span_id": "ab" * 9}),
        ("parent_id", {"parent_id": "ab"}),
        ("early", {"start": 0}),
        ("early", {"start": 5 * SECOND}),
        ("early", {"end": 1}),
        ("late", {"start": 2**64 - 1}),
        ("late", {"end": 2**64 - 1}),
        ("late", {"start": NOW + DAY + 1}),
    ],
)
def test_what_cannot_be_is_refused_by_its_reason(code: str, changes: dict[str, Any]) -> None:
    assert wrong_with(claim(**changes), NOW) == code


def test_an_end_that_was_not_said_is_no_fault() -> None:
    assert wrong_with(claim(end=0), NOW) == ""


def test_reasons_are_told_with_counts_and_some_names() -> None:
    refused = [Refusal("late", f"“s{n}” {n}") for n in range(5)] + [Refusal("too_many", count=70)]

    words = told(refused)

    assert words == (
        f"70 refused because {REASONS['too_many']}; "
        f"5 refused because {REASONS['late']} (“s0” 0, “s1” 1, “s2” 2, …)"
    )


def test_what_no_store_can_hold_is_replaced() -> None:
    assert plain("a\0b\ud800c", 4) == "a�b?"
    assert plain(" \t\u00a0\u3000") == ""
