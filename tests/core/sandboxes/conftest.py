"""Boxes on a disk of their own."""

from collections.abc import AsyncIterator, Callable

import pytest

from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.box.probe import Machine, machine
from studio.core.sandboxes.contract import Limits
from studio.core.sandboxes.sandbox import Box

MakeBox = Callable[..., Box]


@pytest.fixture(scope="session")
def boxed() -> Machine:
    """This machine with bubblewrap."""
    return machine("bubblewrap", "for tests")


@pytest.fixture
async def launcher() -> AsyncIterator[Launcher]:
    found = Launcher()
    yield found
    await found.close()


@pytest.fixture
async def make_box(tmp_path, launcher, boxed) -> AsyncIterator[MakeBox]:
    """Make boxes; they are stopped at the end."""
    made: list[Box] = []

    def make(
        name: str = "disk", held: Machine = boxed, limits: Limits | None = None, **given
    ) -> Box:
        found = Box(
            tmp_path / name, machine=held, launcher=launcher, limits=limits, free=0, **given
        )
        made.append(found)
        return found

    yield make
    for found in made:
        await found.stop()


@pytest.fixture
def box(make_box) -> Box:
    return make_box()
