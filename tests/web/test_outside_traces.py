"""Traces from outside: a list, a read-only turn, one span in full."""

from dataclasses import replace

import pytest

from studio.web.narrowed import ROWS
from tests.core.rules.outside.spans import TRACE, span_id
from tests.web import html
from tests.web.conftest import Studio, Visitor
from tests.web.outside_cases import SENDER, one_trace, sent


async def test_an_empty_list_says_where_traces_come_from(charlie: Visitor) -> None:
    page = (await charlie.open("/traces/outside")).one("main")

    assert "Point an OpenTelemetry exporter at /v1/otlp" in page.text


async def test_the_list_leads_to_the_trace_and_says_what_was_refused(
    studio: Studio, charlie: Visitor
) -> None:
    await one_trace(studio)

    page = await charlie.open("/traces/outside")
    row, refused = page.all("tbody")

    assert row.one("a").attrs["href"] == f"/traces/{TRACE}"
    assert "clerk" in row.text
    assert "1 model call, 1 tool call, 1 error" in row.text
    assert "its clock stands before the year 2000" in refused.text
    assert "“from 1970”" in refused.text
    assert "application:exporter" in refused.text


async def test_filters_stand_in_the_address(studio: Studio, charlie: Visitor) -> None:
    await one_trace(studio)

    fits = await charlie.open("/traces/outside?service=shop&agent=clerk&state=completed&days=7")
    junk = await charlie.open("/traces/outside?state=zebra&days=x")
    none = await charlie.open("/traces/outside?state=failed")

    assert len(fits.all("tr", **{"data-row": ""})) == len(junk.all("tr", **{"data-row": ""})) == 1
    assert "No trace fits" in none.one("main").text


@pytest.mark.parametrize("query", ["", "?days=7"])
async def test_pages_of_the_list_follow_each_other(
    studio: Studio, charlie: Visitor, query: str
) -> None:
    spans = [sent(studio, 1, 0, 10, 5, trace_id=f"{n:032x}") for n in range(1, 61)]
    await studio.runtime.take_spans(SENDER, iter(spans))

    first = await charlie.open(f"/traces/outside{query}")
    (older,) = first.role("link", "Older")
    studio.story.clock.told += 1_000
    second = await charlie.open(older.attrs["href"])

    seen = [row.attrs["id"] for page in (first, second) for row in page.all("tr", data_row="")]
    assert len(seen) == len(set(seen)) == 60


async def test_a_trace_is_a_tree_of_rows_and_says_whose_claim_it_is(
    studio: Studio, charlie: Visitor
) -> None:
    await one_trace(studio)

    page = await charlie.open(f"/traces/{TRACE}")

    rows = [(row.attrs["data-depth"], row.one("a").text) for row in page.all("li", data_row="")]
    assert rows == [
        ("0", "invoke_agent clerk"), ("1", "chat small"), ("1", "execute_tool weather"),
        ("1", "lost"),
    ]  # fmt: skip
    text = page.one("main").text
    assert "Read-only" in text
    assert "was sent by application:exporter" in text
    assert "3 spans by GenAI, 1 span by no known convention" in text
    assert "Scope: tests" in text
    assert "40 tokens in, 9 out" in text
    assert page.one("main").all("form", method="post") == []


async def test_a_span_shows_what_it_says_in_full(studio: Studio, charlie: Visitor) -> None:
    await one_trace(studio)

    model = (await charlie.open(f"/traces/{TRACE}?span={span_id(2)}")).one("aside", id="span").text
    tool = (await charlie.open(f"/traces/{TRACE}?span={span_id(3)}")).one("aside", id="span").text
    lost = (await charlie.open(f"/traces/{TRACE}?span={span_id(4)}")).one("aside", id="span").text

    assert "What is the weather?" in model
    assert "gen_ai.input.messages had 10 MB and was cut; SHA-256 abab" in model
    assert "it did not come" in tool
    assert "Timeout" in tool
    assert "exception after" in tool
    assert "3 values more were left out" in tool
    assert "never came; it stands under the root" in lost


def rows(page: html.Element) -> list[str]:
    """The names of the rows of a trace."""
    links = page.one(id="rows").all("a")
    return [link.text for link in links if link.attrs.get("data-open") == ""]


async def test_rows_are_narrowed_by_kind_fault_and_what_is_found(
    studio: Studio, charlie: Visitor
) -> None:
    await one_trace(studio)

    for query, names in (("kind=model", ["chat small"]), ("kind=other", ["lost"]),
                         ("wrong=1", ["execute_tool weather"]),
                         ("q=weather&only=1", ["chat small", "execute_tool weather"])):  # fmt: skip
        assert rows(await charlie.open(f"/traces/{TRACE}?{query}")) == names, query
    nothing = await charlie.open(f"/traces/{TRACE}?q=zebra&only=1")
    assert "No span fits" in nothing.one("main").text
    assert (
        "agent model tool other"
        in (await charlie.open(f"/traces/{TRACE}")).one("select", name="kind").text
    )


async def test_a_word_is_found_in_attributes_and_events_and_hits_lead_on(
    studio: Studio, charlie: Visitor
) -> None:
    await one_trace(studio)

    event = await charlie.open(f"/traces/{TRACE}?q=Exception.Type")
    said = await charlie.open(f"/traces/{TRACE}?q=what+is")
    looked = await charlie.open(said.role("link", "Next n")[0].leads)
    shop = await charlie.open(f"/traces/{TRACE}?q=service.name")

    assert [li.attrs["id"] for li in event.all("li", data_hit="")] == [f"row-{span_id(3)}"]
    assert "1 hit" in said.one(id="hits").text
    assert looked.one(id="span-title").text == "chat small"
    assert "Nothing here has that." in shop.one(id="hits").text  # a resource is of every span


async def test_what_went_in_is_searched(studio: Studio, charlie: Visitor) -> None:
    await one_trace(studio)

    page = await charlie.open(f"/traces/{TRACE}?span={span_id(2)}&find=weather")

    side = page.one(id="span")
    assert "1 place" in side.text
    assert [mark.text for mark in side.all("mark")] == ["weather"]
    assert side.all("a", download="") == []


async def test_a_subtree_folds_and_a_span_is_zoomed_to(studio: Studio, charlie: Visitor) -> None:
    await studio.runtime.take_spans(SENDER, iter([
        sent(studio, 1, 0, 900, 5, name="root"), sent(studio, 2, 1, 800, 600, name="chain"),
        sent(studio, 3, 2, 790, 700, name="inner"), sent(studio, 4, 1, 500, 5, name="last"),
    ]))  # fmt: skip
    page = await charlie.open(f"/traces/{TRACE}")

    (fold,) = [a for a in page.all("a") if a.text == "Fold what is below chain"]
    folded = await charlie.open(fold.leads)
    looked = await charlie.open(f"/traces/{TRACE}?span={span_id(3)}")
    (zoom,) = [a for a in looked.all("a") if "data-zoom" in a.attrs]
    zoomed = await charlie.open(zoom.leads)

    assert rows(folded) == ["root", "chain", "last"]
    assert "1 row folded" in folded.one(id="rows").text
    assert rows(zoomed) == ["root", "chain", "inner"]
    assert "Back to the whole trace" in zoomed.one("main").text


async def test_rows_come_in_windows(studio: Studio, charlie: Visitor) -> None:
    spans = [sent(studio, n, 1 if n > 1 else 0, 900 - n, 5) for n in range(1, 451)]
    await studio.runtime.take_spans(SENDER, iter(spans))

    page = await charlie.open(f"/traces/{TRACE}")
    more = page.one("li", id="rows-more").one("a")
    rest = await charlie.get(more.attrs["hx-get"])

    assert len(page.all("li", data_row="")) == ROWS
    assert more.text == f"{450 - ROWS} rows more"
    assert rest.text.count("data-row ") == ROWS
    assert "<html" not in rest.text
    assert len(page.one("nav", **{"aria-label": "The whole trace: parts of its time"}).all("a")) > 9
    looked = await charlie.open(f"/traces/{TRACE}?span={span_id(300)}")
    assert looked.one("li", id=f"row-{span_id(300)}").attrs["aria-current"] == "true"


async def test_a_span_that_comes_later_is_seen_at_the_next_look(
    studio: Studio, charlie: Visitor
) -> None:
    await studio.runtime.take_spans(SENDER, iter([sent(studio, 2, 1, 50, 5)]))
    before = await charlie.open(f"/traces/{TRACE}")

    await studio.runtime.take_spans(SENDER, iter([sent(studio, 1, 0, 60, 5)]))
    after = await charlie.open(f"/traces/{TRACE}")

    assert "incomplete" in before.one("main").text
    assert before.one(id="spans-title").text == "1 span"  # and a root that nobody sent
    assert "incomplete" not in after.one("main").text
    assert len(after.all("li", data_row="")) == 2


async def test_the_axis_holds_what_outlives_the_root(studio: Studio, charlie: Visitor) -> None:
    spans = [sent(studio, 1, 0, 8_000, 7_900, name="request"),
             sent(studio, 2, 1, 10_000, 0, name="in the background")]  # fmt: skip
    await studio.runtime.take_spans(SENDER, iter(spans))

    page = await charlie.open(f"/traces/{TRACE}?span={span_id(1)}")

    (root, child) = (row.all("rect")[0].attrs for row in page.all("li", data_row=""))
    assert [tick.text for tick in page.one("svg", class_="wf__ticks").all("text")] == [
        "0 ms", "5 s", "10 s",
    ]  # fmt: skip
    assert (root["x"], root["width"]) == ("200.0", "10.0")
    assert (child["x"], child["width"]) == ("0.0", "1000.0")
    assert "2 s into the trace" in page.one("aside", id="span").text


async def test_a_later_window_counts_from_where_the_trace_begins(
    studio: Studio, charlie: Visitor
) -> None:
    spans = [sent(studio, 1, 0, 8_000, 7_900), sent(studio, 2, 1, 10_000, 9_990)]
    spans += [sent(studio, n, 1, 5_000, 0) for n in range(3, 2 * ROWS)]
    await studio.runtime.take_spans(SENDER, iter(spans))

    page = await charlie.open(f"/traces/{TRACE}?from={ROWS}")

    assert page.one("svg", class_="wf__ticks").all("text")[0].text == "5 s"


async def test_a_span_that_never_ended_says_so(studio: Studio, charlie: Visitor) -> None:
    await studio.runtime.take_spans(
        SENDER,
        iter([sent(studio, 1, 0, 90, 5), replace(sent(studio, 2, 1, 80, 5, name="open"), end=0)]),
    )

    page = await charlie.open(f"/traces/{TRACE}?span={span_id(2)}")

    assert "never ended" in page.one("li", id=f"row-{span_id(2)}").text
    assert "never ended" in page.one(id="span").text


async def test_orphans_and_rings_are_marked_in_their_rows_and_counted_above(
    studio: Studio, charlie: Visitor
) -> None:
    spans = [
        sent(studio, 1, 0, 90, 5), sent(studio, 2, 99, 80, 5), sent(studio, 3, 98, 70, 5),
        sent(studio, 4, 5, 60, 5), sent(studio, 5, 4, 50, 5), sent(studio, 6, 1, 40, 5),
    ]  # fmt: skip
    await studio.runtime.take_spans(SENDER, iter(spans))

    page = await charlie.open(f"/traces/{TRACE}")

    words = {
        number: [mark.text for mark in page.one(id=f"row-{span_id(number)}").all("small")]
        for number in range(1, 7)
    }
    assert words == {1: [], 2: ["orphan"], 3: ["orphan"], 4: ["ring"], 5: [], 6: []}
    mark = page.one(id=f"row-{span_id(2)}").one("small")
    assert mark.attrs["title"] == "Its parent never came; it stands under the root."
    assert len(mark.all("svg")) == 1
    head = page.one("main").one("h1").text + page.one("main").text
    assert "2 orphans" in head
    assert "1 ring" in head
    await studio.runtime.take_spans(SENDER, iter([sent(studio, 1, 0, 9, 5, trace_id="cd" * 16)]))
    assert "orphan" not in (await charlie.get(f"/traces/{'cd' * 16}")).text


async def test_a_filter_that_looked_at_a_part_says_so(
    studio: Studio, charlie: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.core.projections.outside.LOOKED", 2)
    for number in range(1, 6):
        service = "desk" if number == 1 else "shop"
        trace = f"{number:032x}"
        await studio.runtime.take_spans(
            SENDER, iter([sent(studio, 1, 0, 9, 5, trace_id=trace, service=service)])
        )

    page = await charlie.open("/traces/outside?service=desk")
    assert "None of these fits" in page.one("main").text
    for _ in range(2):
        page = await charlie.open(page.role("link", "Search older")[0].attrs["href"])

    assert len(page.all("tr", data_row="")) == 1


async def test_what_is_not_there_is_not_found(charlie: Visitor) -> None:
    for path in (f"/traces/{TRACE}", "/traces/zebra", "/traces/%00"):
        assert (await charlie.get(path)).status_code in (404, 422), path


async def test_hostile_names_are_only_text(studio: Studio, charlie: Visitor) -> None:
    name = "<script>alert(1)</script>\u202egnp"
    await studio.runtime.take_spans(
        SENDER, iter([sent(studio, 1, 0, 50, 5, name=name, service=name)])
    )

    for path in (f"/traces/{TRACE}?span={span_id(1)}", "/traces/outside"):
        page = await charlie.get(path)
        assert "<script>alert" not in page.text
        assert "\u202e" not in html.read(page.text).text
