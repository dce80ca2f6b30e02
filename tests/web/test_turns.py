"""The page of a turn: rows, filters, one span looked at, and who may see it."""

from dataclasses import replace

from studio.core.rules import events as e
from studio.web.narrowed import ROWS
from tests.web import environments as env
from tests.web.conftest import Studio, Visitor
from tests.web.html import Element

LOOK = {"tool": "look"}


async def told(studio: Studio, **more: bool) -> tuple[str, str]:
    """A session with a turn: a reply with a held call that was let run; the call's id."""
    story = studio.story
    session_id = await story.session("Plans", **more)
    await story.message(session_id)
    (effect_id,) = await story.reply(session_id, "Looking.", {"tool": "publish_it"})
    await story.hold(session_id, effect_id)
    return session_id, effect_id


async def test_a_turn_shows_its_spans(studio: Studio, alice: Visitor) -> None:
    session_id, _ = await told(studio)

    page = await alice.open(f"/sessions/{session_id}/turns/1")

    names = [
        link.text for link in page.one(id="rows").all("a") if link.attrs.get("data-open") == ""
    ]
    assert names == ["invoke_agent helper", "chat steady", "wait approval"]
    assert "1 call" in page.one("div", **{"class": "head__facts"}).text
    assert "tokens in" in page.one("div", **{"class": "head__facts"}).text
    assert page.one("figure").all("rect")


async def test_a_span_is_looked_at_without_scripts(studio: Studio, alice: Visitor) -> None:
    session_id, effect_id = await told(studio)
    page = await alice.open(f"/sessions/{session_id}/turns/1")
    (link,) = [a for a in page.one(id="rows").all("a") if a.text == "wait approval"]

    looked = await alice.open(link.leads)

    side = looked.one(id="span")
    assert side.one("h2").text == "wait approval"
    assert side.role("link", "Open the card")
    assert f"/calls/{effect_id}" in [a.attrs["href"] for a in side.all("a")]
    assert looked.one("input", id="looked").attrs["value"]


async def test_filters_narrow_the_rows_and_say_so(studio: Studio, alice: Visitor) -> None:
    session_id, _ = await told(studio)

    models = await alice.open(f"/sessions/{session_id}/turns/1?kind=model")

    assert "1 span of 3" in models.one(id="spans-title").text
    for name in ("plugin", "kind"):
        nothing = await alice.open(f"/sessions/{session_id}/turns/1?{name}=zebra")
        assert "No span fits" in nothing.one("main").text
        assert nothing.one("select", name=name).one("option", selected="").text == "zebra"


async def test_what_is_folded_is_never_said_not_to_be_there(studio: Studio, alice: Visitor) -> None:
    session_id, _ = await told(studio)
    url = f"/sessions/{session_id}/turns/1"

    found = await alice.open(f"{url}?steps=1&q=publish")
    fits = await alice.open(f"{url}?steps=1&kind=wait")

    assert "Not counting what is folded." in found.one("p", id="hits").text
    assert "Nothing in this turn that is not folded is like that." in fits.one("main").text
    for page, query in ((found, "?q=publish"), (fits, "?kind=wait")):
        (unfold,) = page.role("link", "Unfold all")
        assert unfold.attrs["href"].endswith(query)
        asking = page.one("form", role="search", aria_label="Spans")
        assert [one.attrs["name"] for one in asking.all("input", type="hidden")] == []


async def test_a_word_of_a_payload_is_found_and_its_row_marked(
    studio: Studio, alice: Visitor
) -> None:
    session_id, effect_id = await told(studio)
    await studio.story.run(session_id, effect_id, {"text": "The Zebra\nis \u00fcber all"})
    base = f"/sessions/{session_id}/turns/1"

    page = await alice.open(f"{base}?q=zebra")

    assert "1 hit" in page.one(id="hits").text
    (row,) = [li for li in page.one(id="rows").all("li") if "data-hit" in li.attrs]
    assert "execute_tool publish_it" in row.text
    found = await alice.open(page.role("link", "Next n")[0].leads)
    assert "1 of 1 hit" in found.one(id="hits").text
    assert found.one(id="span").one("h2").text == "execute_tool publish_it"
    for word, hits in (("sha256", 0), ("stored", 0), ("text", 1), ("\u00fcber", 1), ("2.4", 1)):
        page = await alice.open(f"{base}?q={word}")
        assert ("data-hit" in str(page)) == bool(hits), word


async def test_what_a_span_carries_is_shown_searched_and_taken_away(
    studio: Studio, alice: Visitor
) -> None:
    session_id, effect_id = await told(studio)
    await studio.story.run(session_id, effect_id, "needle " + "hay " * 20_000 + "Needle")

    page = await alice.open(f"/sessions/{session_id}/turns/1?of={effect_id}&find=needle")

    side = page.one(id="span")
    assert "2 places" in side.text
    assert [mark.text for mark in side.all("mark")] == ["needle", "Needle"]
    assert "The first 50 kB." in side.text
    (link,) = [a for a in side.all("a") if a.attrs["href"].endswith("/result")]
    taken = await alice.get(link.attrs["href"])
    assert len(taken.content) == int(taken.headers["content-length"]) == 80_015
    assert taken.headers["content-disposition"].startswith("attachment")
    assert taken.headers["content-type"] == "application/octet-stream"
    assert "sandbox" in taken.headers["content-security-policy"]


async def test_a_long_turn_comes_in_windows_with_a_map(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Long")
    await studio.story.message(session_id)
    for _ in range(130):
        (effect_id,) = await studio.story.reply(session_id, "", LOOK)
        await studio.story.run(session_id, effect_id)

    page = await alice.open(f"/sessions/{session_id}/turns/1")

    rows = [li for li in page.one(id="rows").all("li") if "data-row" in li.attrs]
    assert len(rows) == ROWS
    assert f"{261 - ROWS} rows more" in page.one(id="rows-more").text
    assert len(page.one("nav", **{"aria-label": "The whole turn: parts of its time"}).all("a")) > 9
    more = await alice.open(page.one(id="rows-more").one("a").attrs["href"])
    assert len([li for li in more.one(id="rows").all("li") if "data-row" in li.attrs]) == ROWS
    folded = await alice.open(f"/sessions/{session_id}/turns/1?steps=1")
    assert "131 spans of 261" in folded.one(id="spans-title").text
    assert more.one(id="rows-earlier").role("link", f"{ROWS} rows before these")


async def test_the_region_alone_is_given_to_an_open_page(studio: Studio, alice: Visitor) -> None:
    session_id, _ = await told(studio)

    answer = await alice.get(f"/sessions/{session_id}/turns/1?region=trace", HX_Request="true")

    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert "chat steady" in answer.text


async def test_a_turn_that_is_not_there_and_a_strangers_are_nowhere(
    studio: Studio, alice: Visitor, charlie: Visitor
) -> None:
    session_id, _ = await told(studio, private=True)

    await alice.open(f"/sessions/{session_id}/turns/9", status=404)
    await alice.open(f"/sessions/{session_id}/turns/zebra", status=404)
    await charlie.open(f"/sessions/{session_id}/turns/1", status=404)


async def test_the_session_leads_to_its_turns(studio: Studio, alice: Visitor) -> None:
    session_id, _ = await told(studio)

    page = await alice.open(f"/sessions/{session_id}")

    assert f"/sessions/{session_id}/turns/1" in [a.attrs.get("href") for a in page.all("a")]


def behind(side: Element) -> list[tuple[str, str]]:
    """The facts behind a span looked at, with where each leads."""
    links = [a for a in side.all("a") if "#event-" in a.attrs.get("href", "")]
    return [(a.text.partition(" ")[2], a.attrs["href"]) for a in links]


async def test_the_turn_itself_has_its_own_facts_behind_it(studio: Studio, alice: Visitor) -> None:
    session_id, _ = await told(studio)
    page = await alice.open(f"/sessions/{session_id}/turns/1")
    (link,) = [a for a in page.one(id="rows").all("a") if a.text == "invoke_agent helper"]

    side = (await alice.open(link.leads)).one(id="span")

    assert behind(side)[0][0] == "message.accepted"
    assert not any("model" in name or "call" in name for name, _ in behind(side))


async def test_what_an_environment_did_has_its_facts_behind_it(
    studio: Studio, alice: Visitor
) -> None:
    desk = await env.make(studio)
    session_id = await env.busy(studio, desk)
    turn_id = (await studio.reader.trace(env.ADA, session_id, "1")).turn.id
    ref = e.TurnRef(session_id=session_id, turn_id=turn_id)
    await env.record(studio, desk, e.SetupStarted(commands=0, turn_id=turn_id))
    await env.record(
        studio, desk, e.SetupFinished(turn_id=turn_id, ok=False, problem="no network"),
        replace(env.tried("evil.example"), turns=(ref,)),
    )  # fmt: skip
    page = await alice.open(f"/sessions/{session_id}/turns/1")

    found = {}
    for link in page.one(id="rows").all("a"):
        if link.text in ("setup", "CONNECT evil.example"):
            looked = await alice.open(link.leads)
            found[link.text] = behind(looked.one(id="span"))

    assert [name for name, _ in found["setup"]] == ["setup.started", "setup.finished"]
    ((name, url),) = found["CONNECT evil.example"]
    assert name == "egress.tried"
    there = await alice.open(url.partition("#")[0])
    assert "evil.example" in there.one(id=url.partition("#")[2]).text
