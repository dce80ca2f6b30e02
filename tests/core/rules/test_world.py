"""Whatever happens, in whatever order: what must always hold of a turn holds."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.rules.world import begin


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_turn_keeps_its_promises_whatever_happens(data: st.DataObject) -> None:
    world = begin(lambda below: data.draw(st.integers(0, below - 1)))

    for _ in range(data.draw(st.integers(0, 60))):
        world.act()

    world.finish()
    world.check_whole()


@pytest.mark.parametrize("seed", range(100))
def test_long_session_keeps_its_promises_and_comes_to_an_end(seed: int) -> None:
    world = begin(Random(seed).randrange)

    for _ in range(150):
        world.act()

    world.crash()
    world.finish()
    world.check_whole()
