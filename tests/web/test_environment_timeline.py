"""The timeline of an environment: what happened on one axis and as a list, in a stretch of time."""

import pytest

from studio.core.projections import environment_times
from studio.core.rules import contents
from studio.core.rules import events as e
from studio.web.pages.environments import timeline
from tests.web import environments as env
from tests.web.conftest import Studio, Visitor

HOUR = 3_600_000


async def lived(studio: Studio) -> str:
    """An environment in which there was a turn, a version, a fork, and a host that was refused."""
    desk = await env.make(studio)
    await env.busy(studio, desk, "Release <b>")
    await env.keep(studio, desk)
    await env.record(
        studio, desk, env.tried("evil.example"), e.SetupFinished(ok=False, problem="no network"),
        e.EnvironmentReset(by="ada"),
        e.EnvironmentForked(into="env_other", name="copy", version=1, by="ada"),
    )  # fmt: skip
    return desk


async def test_every_mark_leads_to_what_it_stands_for(studio: Studio, alice: Visitor) -> None:
    desk = await lived(studio)

    page = await alice.open(f"/environments/{desk}?tab=timeline")
    links = [a.attrs["href"] for a in page.one("figure").all("a")]
    listed = [a.attrs["href"] for a in page.one("tbody").all("a")]

    assert set(listed) == set(links)
    assert f"/environments/{desk}/disk/1" in links
    assert "/environments/env_other" in links
    assert f"/environments/{desk}?tab=setup" in links
    assert any(link.endswith("/turns/1") for link in links)
    assert "evil.example refused" in page.one("tbody").text


async def test_a_setup_tells_how_long_its_commands_took(studio: Studio, alice: Visitor) -> None:
    desk = await env.make(studio)
    now = studio.story.clock.now()
    run = e.SetupRun(run="make", exit=0, seconds=3, output=contents.of_text(""), began=now - 2_000)
    await env.record(
        studio, desk, e.SetupStarted(commands=1), e.SetupFinished(ok=True, runs=(run,))
    )

    page = await alice.open(f"/environments/{desk}?tab=timeline")

    (row,) = [row for row in page.one("tbody").all("tr") if "Set up" in row.text]
    assert row.one("td", data_label="Took").text == "3 s"


async def test_a_stretch_stands_in_the_address_and_leads_to_its_neighbours(
    studio: Studio, alice: Visitor
) -> None:
    desk = await lived(studio)
    now = studio.story.clock.now()
    since, until = timeline.written(now + HOUR), timeline.written(now + 2 * HOUR)
    url = f"/environments/{desk}?tab=timeline"

    page = await alice.open(f"{url}&from={since}&to={until}")
    earlier = next(a for a in page.all("a") if a.text == "Earlier")
    junk = await alice.open(f"{url}&from=zebra&to=99999&span=eon")
    turned = await alice.open(f"{url}&from={until}&to={since}")

    assert "Nothing in this stretch" in page.text
    assert "evil.example" in (await alice.open(earlier.attrs["href"])).text
    assert "evil.example" in junk.text
    assert page.one("input", name="from").attrs["value"] == since[:16]
    assert (
        turned.one("input", name="to").attrs["value"]
        == timeline.written(now + HOUR + timeline.MINUTE)[:16]
    )


async def test_private_turns_are_not_there_for_a_stranger(
    studio: Studio, ada: Visitor, charlie: Visitor
) -> None:
    desk = await env.make(studio)
    session_id = await env.busy(studio, desk, "Hidden work", private=True)

    assert session_id in (await ada.get(f"/environments/{desk}?tab=timeline")).text
    told = (await charlie.get(f"/environments/{desk}?tab=timeline")).text
    assert session_id not in told
    assert "Hidden work" not in told


async def test_many_tries_are_counted_in_stretches(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment_times, "TRIES", 3)
    desk = await env.make(studio)
    await env.record(studio, desk, *[env.tried(outcome="allowed") for _ in range(3)])
    await env.record(studio, desk, *[env.tried() for _ in range(2)])

    found = await studio.reader.environment_times(alice.person, desk)

    assert sum(one.count for one in found.tries) == 5
    assert [one.host for one in found.tries] == ["", ""]
    assert found.complete
    assert "3 allowed tries" in (await alice.open(f"/environments/{desk}?tab=timeline")).text


async def test_only_the_newest_are_there_and_the_page_says_so(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment_times, "MOST", 2)
    desk = await lived(studio)

    page = await alice.open(f"/environments/{desk}?tab=timeline")

    assert "Only the newest of this stretch are there." in page.text
    assert "Forked into copy" in page.text


async def test_nothing_happening_ends_the_stretch_where_the_last_thing_was(
    studio: Studio, alice: Visitor
) -> None:
    desk = await env.make(studio)
    studio.story.clock.told += 10 * HOUR

    found = await studio.reader.environment_times(alice.person, desk)

    assert found.until == found.made + 1
    assert not found.is_moving
    assert [one.type for one in found.milestones] == ["environment.made"]


async def test_the_moments_in_the_form_hold_what_is_shown(studio: Studio, alice: Visitor) -> None:
    url = f"/environments/{await lived(studio)}?tab=timeline"
    page = await alice.open(url)

    since, until = (page.one("input", name=name).attrs["value"] for name in ("from", "to"))
    again = await alice.open(f"{url}&from={since}&to={until}")

    assert again.one("tbody").text == page.one("tbody").text


async def test_a_moment_that_is_not_understood_is_said(studio: Studio, alice: Visitor) -> None:
    desk = await lived(studio)
    url = f"/environments/{desk}?tab=timeline"

    junk = (await alice.open(f"{url}&from=zebra&to=9999-99-99&span=eon")).one("main")
    turned = (await alice.open(f"{url}&from=2026-02-01T00:00&to=2026-01-01T00:00")).one("main")
    again = (await alice.open(f"{url}&from=zebra&region=all")).text

    assert "“zebra” is no moment" in junk.text
    assert "“9999-99-99” is no moment" in junk.text
    assert "“eon” is no stretch: choose hour, day, week or all." in junk.text
    assert "“2026-02-01T00:00” is not before “2026-01-01T00:00”." in turned.text
    assert "“zebra” is no moment" in again
