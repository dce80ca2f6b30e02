"""Filters in the address: what is not understood is said beside its field, and stays in it."""

from urllib.parse import urlencode

import pytest

from tests.web import html
from tests.web.conftest import Studio, Visitor

WRONG = [
    ("/traces", "seconds", "abc", "is no number of seconds"),
    ("/traces", "under", "1e9", "is no number of seconds"),
    ("/traces", "cost", "-1", "is no number of dollars"),
    ("/traces", "since", "2026-13-45", "is no day"),
    ("/traces", "until", "soon", "is no day"),
    ("/traces", "days", "week", "is no number of days"),
    ("/traces", "status", "lost", "is no state"),
    ("/traces", "tool", "x" * 201, "is too long"),
    ("/sessions", "status", "lost", "is no state: choose queued, running"),
    ("/sessions", "q", "x" * 201, "is too long"),
    ("/approvals", "kind", "nonsense", "is no kind: choose approval, question or uncertain"),
    ("/approvals", "age", "2h", "is no age"),
    ("/environments", "kind", "cloud", "is no kind"),
    ("/environments", "label", "nonsense", "is no label: write key=value"),
    ("/traces/outside", "state", "odd", "is no state"),
    ("/traces/outside", "days", "2", "is no number of days"),
    ("/usage", "since", "soon", "must be a day"),
]
WITHOUT_A_FIELD = [
    ("/sessions?needs=nobody", "is no need of a person"),
    ("/approvals?state=odd", "is no state: choose open or closed"),
    ("/approvals?show=7", "is no number of cards"),
    ("/environments?state=odd", "is no state"),
    ("/usage?by=moon", "is no group"),
    ("/usage?measure=joy", "is no measure"),
    ("/usage?days=abc", "is no number of days"),
]
LISTS = ["/traces", "/sessions", "/approvals", "/environments", "/traces/outside"]


def described(page: html.Element, field: html.Element) -> str:
    assert field.attrs["aria-invalid"] == "true"
    return page.one(id=field.attrs["aria-describedby"]).text


@pytest.mark.parametrize("path, name, typed, words", WRONG)
async def test_what_is_not_understood_stays_in_its_field_with_what_is_wrong(
    studio: Studio, ada: Visitor, path: str, name: str, typed: str, words: str
) -> None:
    await studio.story.held("Held")
    status = 422 if path == "/usage" else 200

    page = await ada.open(f"{path}?{urlencode({name: typed})}", status)

    forms = [form for form in page.all("form") if form.attrs.get("action") == path]
    (field,) = [item for form in forms for item in form.all() if item.attrs.get("name") == name
                and item.attrs.get("type") != "hidden"][-1:]  # fmt: skip
    shown = field.one("option", selected="") if field.tag == "select" else field
    assert shown.attrs["value"] == typed
    assert field.attrs.get("type") not in ("number", "date")  # a browser would empty those
    assert words in described(page, field)


@pytest.mark.parametrize("address, words", WITHOUT_A_FIELD)
async def test_a_filter_without_a_field_is_said_too(
    studio: Studio, ada: Visitor, address: str, words: str
) -> None:
    status = 422 if address.startswith("/usage") else 200

    page = await ada.open(address, status)

    assert words in page.one("p", class_="toolbar__wrong").text


async def test_the_list_is_that_without_the_filter(studio: Studio, ada: Visitor) -> None:
    await studio.story.held("Held")
    whole, wrong = [
        (await ada.open(path)).one(id="list") for path in ("/traces", "/traces?seconds=abc")
    ]

    assert wrong.text == whole.text
    assert wrong.attrs["hx-get"] == whole.attrs["hx-get"]
    assert (await ada.open("/traces?seconds=abc")).one("details", class_="toolbar__more").attrs[
        "open"
    ] == ""


@pytest.mark.parametrize("path", LISTS)
async def test_a_cursor_of_another_filter_begins_the_list_anew_and_says_so(
    studio: Studio, ada: Visitor, path: str
) -> None:
    await studio.story.held("Held")

    page = await ada.open(f"{path}?cursor=nonsense", 422)

    assert "with other filters. The list begins anew" in page.one(id="wrong-cursor").text
    assert "cursor=nonsense" not in page.one(id="main").text
    assert all("nonsense" not in item.attrs.get("hx-get", "") for item in page.walk())


async def test_days_that_end_before_they_begin_are_said(ada: Visitor) -> None:
    page = await ada.open("/traces?since=2026-11-30&until=2026-11-01")

    assert page.one("input", name="since").attrs["value"] == "2026-11-30"
    assert page.one("input", name="until").attrs["value"] == "2026-11-01"
    assert "is before “2026-11-30”" in described(page, page.one("input", name="until"))


@pytest.mark.parametrize(
    "path", ["/exports/turns?seconds=abc", "/exports/sessions?status=lost", "/usage/export?by=moon"]
)
async def test_no_file_holds_more_than_was_asked_for(ada: Visitor, path: str) -> None:
    page = await ada.open(f"{path}&format=jsonl", 422)

    assert "A filter is not understood" in page.text


async def test_an_agent_that_is_not_there_is_still_what_the_list_is_narrowed_to(
    studio: Studio, ada: Visitor
) -> None:
    for path in ("/traces", "/sessions", "/approvals"):
        page = await ada.open(f"{path}?agent=nobody")
        assert page.one("select", name="agent").one("option", selected="").text == "nobody"
