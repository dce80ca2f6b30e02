"""Traces from outside: a list, a read-only turn, one span in full."""

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


async def test_pages_of_the_list_follow_each_other(studio: Studio, charlie: Visitor) -> None:
    spans = [sent(studio, 1, 0, 10, 5, trace_id=f"{n:032x}") for n in range(1, 61)]
    await studio.runtime.take_spans(SENDER, iter(spans))

    first = await charlie.open("/traces/outside")
    (older,) = first.role("link", "Older")
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
    assert "3 by GenAI, 1 by no known convention" in text
    assert "40 in, 9 out" in text
    assert page.one("main").all("form", method="post") == []


async def test_a_span_shows_what_it_says_in_full(studio: Studio, charlie: Visitor) -> None:
    await one_trace(studio)

    model = (await charlie.open(f"/traces/{TRACE}?span={span_id(2)}")).one("aside", id="span").text
    tool = (await charlie.open(f"/traces/{TRACE}?span={span_id(3)}")).one("aside", id="span").text
    lost = (await charlie.open(f"/traces/{TRACE}?span={span_id(4)}")).one("aside", id="span").text

    assert "What is the weather?" in model
    assert "10 MB; SHA-256" in model
    assert "it did not come" in tool
    assert "Timeout" in tool
    assert "3 values more were left out" in tool
    assert "never came; it stands under the root" in lost


async def test_rows_are_found_by_words_kind_and_fault(studio: Studio, charlie: Visitor) -> None:
    await one_trace(studio)

    for query, name in (("q=weath", "execute_tool weather"), ("kind=model", "chat small"),
                        ("wrong=1", "execute_tool weather")):  # fmt: skip
        page = await charlie.open(f"/traces/{TRACE}?{query}")
        (row,) = page.all("li", data_row="")
        assert row.one("a").text == name
    assert "No span fits" in (await charlie.open(f"/traces/{TRACE}?q=zebra")).one("main").text


async def test_rows_come_in_windows(studio: Studio, charlie: Visitor) -> None:
    spans = [sent(studio, n, 1 if n > 1 else 0, 900 - n, 5) for n in range(1, 451)]
    await studio.runtime.take_spans(SENDER, iter(spans))

    page = await charlie.open(f"/traces/{TRACE}")
    more = page.one("li", id="rows-more").one("a")
    rest = await charlie.get(more.attrs["hx-get"])

    assert len(page.all("li", data_row="")) == 200
    assert more.text == "250 spans more"
    assert rest.text.count("wf__row") == 200
    assert "<html" not in rest.text


async def test_a_span_that_comes_later_is_seen_at_the_next_look(
    studio: Studio, charlie: Visitor
) -> None:
    await studio.runtime.take_spans(SENDER, iter([sent(studio, 2, 1, 50, 5)]))
    before = await charlie.open(f"/traces/{TRACE}")

    await studio.runtime.take_spans(SENDER, iter([sent(studio, 1, 0, 60, 5)]))
    after = await charlie.open(f"/traces/{TRACE}")

    assert "incomplete" in before.one("main").text
    assert "incomplete" not in after.one("main").text
    assert len(after.all("li", data_row="")) == 2


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
