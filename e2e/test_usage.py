"""Usage: where the tokens and the money went, on a page and in files."""

import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect

from e2e.acts import STAGING, begin, ends
from e2e.conftest import SignIn
from e2e.studio import Studio, until


@pytest.fixture
def spent(studio: Studio) -> str:
    """A session whose usage is in the sums."""
    session_id = begin(studio, "Compare 4.1.0 and 4.2.0.")
    ends(studio, session_id)
    until(lambda: studio.api.usage.show()["total"]["attempts"], what="the usage")
    return session_id


@pytest.mark.parametrize("scripts", [True, False])
def test_usage_is_read_group_by_group(
    studio: Studio, sign_in: SignIn, spent: str, scripts: bool
) -> None:
    page = sign_in(studio, java_script_enabled=scripts)
    page.goto(f"{studio.url}/usage")
    groups = page.get_by_role("navigation", name="Groups")

    for by, first in (
        ("By agent", "release-assistant"), ("By model", "scripted"), ("By plugin", "release-kit"),
        ("By session", "Compare 4.1.0"), ("By day", re.compile("20[0-9]{2}-")),
    ):  # fmt: skip
        groups.get_by_role("link", name=by).click()
        expect(groups.get_by_role("link", name=by)).to_have_attribute("aria-current", "page")
        table = page.get_by_role("region", name="In groups").get_by_role("table")
        expect(table).to_contain_text(first)


def test_the_range_stands_in_the_address(studio: Studio, sign_in: SignIn, spent: str) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/usage")

    page.get_by_role("link", name="7 days").click()
    expect(page).to_have_url(re.compile("days=7"))
    expect(page.locator(".chart__bar")).to_have_count(7)
    page.get_by_label("From").fill("2020-01-01")
    page.get_by_label("to", exact=True).fill("2020-01-31")
    page.get_by_role("button", name="Show").click()

    expect(page).to_have_url(re.compile("since=2020-01-01&until=2020-01-31"))
    expect(page.locator("main")).to_contain_text("Nothing was used in these days")


def test_the_files_say_what_the_page_says(studio: Studio, sign_in: SignIn, spent: str) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/usage?by=session")

    with page.expect_download() as coming:
        page.get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(coming.value.path().read_text("utf-8"))))
    with page.expect_download() as coming:
        page.get_by_role("link", name="JSON").click()
    found = json.loads(coming.value.path().read_text("utf-8"))

    assert {row["session"] for row in rows} == {one["session"] for one in found["items"]}
    assert spent in {row["session"] for row in rows}


def test_private_usage_is_its_owners(studio: Studio, sign_in: SignIn) -> None:
    name = studio.api.agents.list()["items"][0]["name"]
    session_id = studio.api.sessions.start(name, title="Hidden", message=STAGING, private=True)
    until(
        lambda: any(
            row["key"] == session_id["session_id"]
            for row in studio.api.usage.show("session", limit=200)["items"]
        ),
        what="the usage",
    )

    page = sign_in(studio, "vera", "viewer")
    page.goto(f"{studio.url}/usage?by=session")

    expect(page.locator("main")).not_to_contain_text("Hidden")


def test_two_keys_lead_to_usage(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.goto(studio.url)

    page.keyboard.press("g")
    page.keyboard.press("u")

    expect(page.get_by_role("heading", name="Usage", level=1)).to_be_visible()
