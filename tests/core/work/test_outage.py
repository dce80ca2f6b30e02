"""What is in hand outlasts a store that is away, and nothing else is tried again."""

import logging

import pytest

from studio.core.rules.errors import Refused, StudioError, Unavailable
from studio.core.work import outage
from studio.core.work.outage import Outage


class Store:
    """Fails as often as it is told to, then answers."""

    def __init__(self, *failures: StudioError) -> None:
        self.failures = list(failures)
        self.asked = 0

    async def answer(self) -> str:
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "RETRY_SECONDS", 0.0)


def away(code: str = "store.full") -> Unavailable:
    return Unavailable("The disk is full.", code=code)


async def test_what_failed_is_tried_again_until_it_is_done(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Store(away(), away("store.busy"), away())

    with caplog.at_level(logging.INFO, "studio.worker"):
        done = await Outage().outlast(store.answer)

    assert (done, store.asked) == ("done", 4)
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


@pytest.mark.parametrize(
    "error",
    [
        away("store.unsure"),
        away("store.closed"),
        Unavailable("The model is away.", code="model.unreachable"),
        Refused("No.", code="turn.running"),
    ],
)
async def test_what_may_have_been_recorded_or_was_refused_is_not_tried_again(
    error: StudioError,
) -> None:
    store = Store(error)

    with pytest.raises(type(error)):
        await Outage().outlast(store.answer)

    assert store.asked == 1


async def test_it_waits_until_the_lease_is_good_again() -> None:
    store, answers = Store(away()), iter([False, False, True])

    assert await Outage().outlast(store.answer, ready=lambda: next(answers)) == "done"
    assert next(answers, None) is None
