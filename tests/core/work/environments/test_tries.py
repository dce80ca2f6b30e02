"""Tries that come to nothing are facts up to a bound, and counted beyond it."""

from typing import Any

from studio.core.rules import events as e
from studio.core.work.environments import tries
from studio.core.work.environments.tries import Tries


def tried(host: str = "no.test", port: int = 443, outcome: Any = "refused") -> e.EgressTried:
    return e.EgressTried(host=host, port=port, outcome=outcome, reason="It is not on the list.")


def test_every_try_is_a_fact_up_to_the_bound_and_the_rest_are_one() -> None:
    found = Tries()

    listed = [found.is_listed(tried(), "eff_1") for _ in range(250)]

    assert listed == [True] * 100 + [False] * 150
    assert found.is_listed(tried(port=80), "eff_1")  # another place
    assert found.is_listed(tried(), "eff_2")  # another command
    (told,) = found.over("eff_1")
    assert (told.host, told.port, told.outcome, told.tries) == ("no.test", 443, "refused", 150)
    assert told.reason == (
        "It is not on the list. 150 more tries by this command, counted and not listed one by one."
    )
    assert found.over("eff_1") == []
    assert found.over("eff_2") == []


def test_what_was_allowed_is_always_a_fact() -> None:
    found = Tries()

    assert all(found.is_listed(tried(outcome="allowed"), "eff_1") for _ in range(2_000))
    assert found.over("eff_1") == []


def test_many_hosts_are_bounded_too() -> None:
    found = Tries()

    listed = [found.is_listed(tried(f"h{n}.test"), "eff_1") for n in range(1_500)]

    assert sum(listed) == tries.MOST_OF_A_COMMAND
    (told,) = found.over("eff_1")
    assert (told.host, told.port, told.tries) == ("", 0, 500)
    assert "500 more tries of many other hosts" in told.reason


def test_commands_long_past_are_told_before_they_are_forgotten() -> None:
    found = Tries()
    for _ in range(101):
        found.is_listed(tried(), "eff_old")

    for number in range(tries.MOST_COMMANDS):
        found.is_listed(tried(), f"eff_{number}")

    (told,) = found.forgotten()
    assert told.tries == 1
    assert "1 more try by this command" in told.reason
