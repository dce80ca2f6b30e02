"""Traces from outside on pages: room for a sender, one that is forgotten, a cost nobody knows."""

from dataclasses import replace

from studio.core.store import raw
from tests.core.rules.outside.spans import TRACE
from tests.web.conftest import Studio, Visitor
from tests.web.outside_cases import SENDER, one_trace, sent


async def test_an_admin_forgets_a_trace_for_good(studio: Studio, ada: Visitor) -> None:
    await one_trace(studio)
    page = await ada.open(f"/traces/{TRACE}")

    answer = await ada.press(page.form(f"/traces/{TRACE}/removal"))

    assert (answer.status_code, answer.headers["location"]) == (303, "/traces/outside")
    await ada.open(f"/traces/{TRACE}", status=404)
    told = await studio.db.read(
        lambda conn: raw.every(
            conn, "SELECT actor FROM events WHERE type = 'outside_trace.forgotten'"
        )
    )
    assert [tuple(one) for one in told] == [("operator:ada",)]


async def test_others_are_not_offered_it_and_may_not(studio: Studio, bob: Visitor) -> None:
    await one_trace(studio)
    page = await bob.open(f"/traces/{TRACE}")

    answer = await bob.post(f"/traces/{TRACE}/removal")

    assert "Forget" not in page.one("main").text
    assert answer.status_code == 403
    await bob.open(f"/traces/{TRACE}")


async def test_the_list_says_what_makes_room_for_a_sender(studio: Studio, charlie: Visitor) -> None:
    await one_trace(studio)
    studio.runtime.outside = replace(studio.runtime.outside, sender_bytes=2_000)
    many = (sent(studio, n, 1, 50, 5) for n in range(20, 60))
    await studio.runtime.take_spans(SENDER, many)

    page = (await charlie.open("/traces/outside")).one("main")

    assert "its sender has as many bytes here as are kept of one sender" in page.text
    assert "STUDIO_OUTSIDE_SENDER_MIB" in page.text
    (link,) = [a for a in page.all("a") if a.text == "Its oldest trace"]
    assert link.attrs["href"] == f"/traces/{TRACE}"


async def test_a_trace_without_model_calls_costs_nobody_knows_what_on_both_pages(
    studio: Studio, charlie: Visitor
) -> None:
    await studio.runtime.take_spans(SENDER, iter([sent(studio, 1, 0, 50, 5)]))

    listed = (await charlie.open("/traces/outside")).one("td", **{"data-label": "Cost"})
    shown = (await charlie.open(f"/traces/{TRACE}")).one("main")

    assert listed.text.strip() == "unknown"
    assert "cost unknown" in shown.text
