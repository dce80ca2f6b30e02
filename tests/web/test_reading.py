"""What people and agents write, as pages show it: nothing hides, nothing ordinary is hurt."""

# ruff: noqa: RUF001 - letters of other scripts are what it is about

import time
from html import unescape

import pytest

from studio.web import reading
from studio.web.markdown import markdown
from studio.web.topics import draft_partial
from tests.web import html
from tests.web.conftest import Studio, Visitor

TURNED = "invoice \u202efdp.exe"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
HEBREW = "שלום עולם, hello"


def codes(element: html.Element) -> list[str]:
    return [mark.attrs["data-code"] for mark in element.all("span", class_="mark-char")]


async def test_a_message_and_its_answer_show_what_turns_them_round(
    studio: Studio, alice: Visitor
) -> None:
    session_id = await studio.story.session(f"Title {TURNED}")
    await studio.story.message(session_id, f"<b>{TURNED}</b>")
    await studio.story.reply(session_id, f"**See** [{TURNED}](https://evil.example) `p\u0430ypal`")

    page = await alice.open(f"/sessions/{session_id}")
    person, agent = page.all("div", class_="said__text")[:2]

    assert codes(person) == ["U+202E"]
    assert "<b>invoice" in person.text
    assert codes(agent) == ["U+202E", "look-alike"]
    assert codes(agent.one("a")) == ["U+202E"]
    assert person.attrs["dir"] == agent.attrs["dir"] == "auto"
    for heading in ("h1", "title"):
        assert "\\u202efdp.exe" in page.all(heading)[0].text
        assert "\u202e" not in page.all(heading)[0].text


async def test_ordinary_text_from_right_to_left_and_joined_emoji_are_left_alone(
    studio: Studio, alice: Visitor
) -> None:
    session_id = await studio.story.session(f"{HEBREW} {FAMILY}")
    await studio.story.message(session_id, f"{HEBREW} {FAMILY}")
    await studio.story.reply(session_id, f"{FAMILY} *{HEBREW}*")

    page = await alice.open(f"/sessions/{session_id}")

    assert codes(page.one(id="timeline")) == []
    assert f"{HEBREW} {FAMILY}" in page.one("h1").text
    assert FAMILY in page.all("div", class_="said__text")[1].text


def test_a_draft_is_shown_as_its_line_will_be() -> None:
    draft = html.read(draft_partial(("eff_1", TURNED)))

    assert codes(draft) == ["U+202E"]


@pytest.mark.parametrize(
    "text", ['"\u202e" onmouseover="x', "<i>\u202e</i>", "&lt;\u202e&gt;", "a > b \u202e < c & d"]
)
def test_what_is_marked_is_escaped_once(text: str) -> None:
    plain, rich = (html.read(str(shown)) for shown in (reading.revealed(text), markdown(text)))

    assert plain.text.replace(" ", "") == text.replace(" ", "")
    assert [element.tag for element in plain.walk()] == ["document", "span"]
    assert [element.tag for element in rich.walk()] == ["document", "p", "span"]
    assert rich.text.replace(" ", "") == unescape(text).replace(" ", "")


def test_a_text_of_nothing_but_tricks_stays_small() -> None:
    shown = str(reading.revealed("\u202ea" * 10_000))

    assert "<span" not in shown
    assert shown.startswith("\\u202ea\\u202ea")


def test_behind_a_very_long_text_what_hides_is_still_an_escape() -> None:
    shown = str(reading.revealed("a " * reading.LOOKED + TURNED))

    assert shown.endswith("invoice \\u202efdp.exe")


@pytest.mark.parametrize(
    "piece", ["می\u200cخواهم ", "אבג ", "\u202eab", "p\u0430ypal ", "日本語。"]
)
def test_a_message_of_the_longest_kind_is_shown_soon(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    before = time.process_time()

    reading.revealed(text)

    assert time.process_time() - before < 3
