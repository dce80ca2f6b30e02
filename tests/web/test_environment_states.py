"""How an environment stands is one word, on every page that says it."""

import pytest

from studio.core.rules import events as e
from tests.web import environments as env
from tests.web.conftest import Studio, Visitor
from tests.web.html import Element

STARTED = (e.EnvironmentStarted(isolation="bubblewrap", worker="w"), e.SetupStarted(commands=1))
FAILED = (*STARTED, e.SetupFinished(ok=False, runs=(), problem="The disk is full."))


def states(element: Element) -> list[str]:
    return [one.text for one in element.all("span", class_="state")]


@pytest.mark.parametrize("told, word", [(STARTED, "setting up"), (FAILED, "setup failed")])
async def test_a_setup_is_the_one_word_for_how_it_stands(
    studio: Studio, alice: Visitor, told: tuple[e.Event, ...], word: str
) -> None:
    id = await env.make(studio)
    await env.record(studio, id, *told)

    row = (await alice.open("/environments")).one(id=f"row-{id}")
    page = await alice.open(f"/environments/{id}")
    ending = await alice.open(f"/environments/{id}/stop")

    assert states(row) == states(ending.one(id="main")) == [word]
    assert states(page.one(id="main")) == [word, word]  # in its head, and in what is known of it
    assert "Setup" not in [name.text for name in page.all("dt")]


async def test_while_it_is_set_up_the_turn_that_waits_for_it_says_no_other_word(
    studio: Studio, alice: Visitor
) -> None:
    id = await env.make(studio)
    await env.busy(studio, id)
    await env.record(studio, id, *STARTED)

    head = (await alice.open(f"/environments/{id}")).all("div", class_="head")[0]

    assert states(head) == ["setting up"]
    assert "for turn 1 of Release" in head.text


async def test_a_disk_that_is_lost_is_not_said_to_be_set_up(studio: Studio, alice: Visitor) -> None:
    id = await env.make(studio)
    await env.record(studio, id, *FAILED, e.EnvironmentLost(reason="Its machine is gone."))

    assert states((await alice.open("/environments")).one(id=f"row-{id}")) == ["lost"]
