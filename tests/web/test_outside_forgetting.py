"""Traces from outside on pages: room for a sender, what is forgotten, a cost nobody knows."""

from dataclasses import replace

import pytest

from studio.core.rules.access import Person
from studio.core.store import facts, raw
from studio.web.format import iso
from tests.core.rules.outside.spans import TRACE
from tests.web import html
from tests.web.conftest import Studio, Visitor
from tests.web.outside_cases import SENDER, one_trace, sent

ADA = Person(id="ada", role="admin")
OTHER, LATE = "cd" * 16, "ef" * 16
REMOVAL = "/traces/outside/removal?sent_by=application%3Aexporter"


async def test_an_admin_forgets_a_trace_for_good(studio: Studio, ada: Visitor) -> None:
    await one_trace(studio)
    page = await ada.open(f"/traces/{TRACE}")

    answer = await ada.press(page.form(f"/traces/{TRACE}/removal"))

    assert (answer.status_code, answer.headers["location"]) == (303, "/traces/outside")
    await ada.open(f"/traces/{TRACE}", status=410)
    told = await studio.db.read(
        lambda conn: raw.every(
            conn, "SELECT actor FROM events WHERE type = 'outside_trace.forgotten'"
        )
    )
    assert [tuple(one) for one in told] == [("operator:ada",)]


async def test_its_address_says_who_forgot_it_and_when_to_everybody(
    studio: Studio, charlie: Visitor
) -> None:
    await one_trace(studio)
    await studio.runtime.forget_outside_trace(ADA, TRACE)
    (fact,) = await studio.db.read(lambda conn: facts.facts(conn, "outside"))

    page = await charlie.open(f"/traces/{TRACE}?q=weather", status=410)
    part = await charlie.get(f"/traces/{TRACE}?region=trace&q=weather")
    span = await charlie.get(f"/traces/{TRACE}?region=span")

    main = page.one("main")
    assert "This trace was forgotten By ada" in main.text
    assert [time.attrs["datetime"] for time in main.all("time")] == [iso(fact.time)]
    assert main.all(class_="wf__row") == main.all("form") == []
    assert page.one("title").text == "Forgotten trace · Studio"
    assert part.status_code == 200
    assert html.read(part.text).one(id="missing").text in main.text
    assert '<input type="hidden" name="q" value="weather" data-place>' in part.text
    assert span.status_code == 410


async def test_a_trace_nobody_knows_is_not_found_and_shown_once_it_comes(
    studio: Studio, charlie: Visitor
) -> None:
    missing = await charlie.open(f"/traces/{TRACE}", status=404)
    await charlie.open("/traces/anything", status=404)
    await one_trace(studio)
    part = await charlie.get(f"/traces/{TRACE}?region=trace")

    assert "There is no such trace" in missing.one("main").text
    assert missing.one(id="trace").attrs["hx-get"] == f"/traces/{TRACE}?region=trace"
    assert "invoke_agent clerk" in part.text


async def test_others_are_not_offered_it_and_may_not(studio: Studio, bob: Visitor) -> None:
    await one_trace(studio)
    page = await bob.open(f"/traces/{TRACE}")

    answer = await bob.post(f"/traces/{TRACE}/removal")

    assert "Forget" not in page.one("main").text
    assert answer.status_code == 403
    await bob.open(f"/traces/{TRACE}")


async def test_who_keeps_what_is_told_to_an_admin_who_names_nobody(
    studio: Studio, ada: Visitor
) -> None:
    empty = (await ada.open("/traces/outside/removal")).one("main").text
    await one_trace(studio)

    page = (await ada.open("/traces/outside/removal")).one("main")
    (link,) = [a for a in page.one("table").all("a")]
    asked = (await ada.open(link.attrs["href"])).one("main")

    assert "Nothing from outside is kept here" in empty
    assert page.one("tbody").text.startswith("application:exporter 4 ")
    assert "1 trace that application:exporter began" in asked.text


async def test_an_admin_forgets_a_senders_traces_as_the_page_said(
    studio: Studio, ada: Visitor
) -> None:
    await one_trace(studio)
    await studio.runtime.take_spans(SENDER, iter([sent(studio, 1, 0, 50, 5, trace_id=OTHER)]))
    trace = await ada.open(f"/traces/{TRACE}")
    (link,) = [a for a in trace.all("a") if "of this sender" in a.text]

    page = await ada.open(link.leads)
    older = await ada.open(f"{REMOVAL}&days=7")
    studio.story.clock.told += 1_000
    await studio.runtime.take_spans(SENDER, iter([sent(studio, 1, 0, 50, 5, trace_id=LATE)]))
    answer = await ada.press(page.form("/traces/outside/removal"))

    assert "2 traces that application:exporter began, with 5 spans, " in page.one("main").text
    assert page.role("button", "Forget 2 traces")
    assert "Nothing to forget" in older.one("main").text
    assert (answer.status_code, answer.headers["location"]) == (303, "/traces/outside")
    for gone in (TRACE, OTHER):
        await ada.open(f"/traces/{gone}", status=410)
    await ada.open(f"/traces/{LATE}")


@pytest.mark.parametrize("query", ["days=a+week", "days=2"])
async def test_a_time_that_is_not_understood_forgets_nothing(
    studio: Studio, ada: Visitor, query: str
) -> None:
    await one_trace(studio)
    page = await ada.open(f"{REMOVAL}&{query}", status=422)
    answer = await ada.post(REMOVAL, {"sent_by": "application:exporter", "before": "x"})

    assert "is no number of days" in page.one("main").text
    assert "Forget 1 trace" not in page.text
    assert page.one("tbody").text.startswith("application:exporter")  # "is shown without it"
    assert answer.status_code == 422


async def test_others_may_not_forget_a_senders_traces(studio: Studio, bob: Visitor) -> None:
    await one_trace(studio)

    await bob.open(REMOVAL, status=403)
    answer = await bob.post(REMOVAL, {"sent_by": "application:exporter", "before": "9" * 15})

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
    assert "tokens unknown cost unknown" in shown.text
