"""Agents written in the browser: planned, saved, compared, and never overwritten unsaid."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from e2e.conftest import SignIn
from e2e.studio import Studio

TEXT = """name: scribe
description: Writes.
instructions: |
  Write notes.
  Be brief.
model:
  provider: scripted
tools:
  - name: notify_team
    kind: http
    method: POST
    url: https://chat.example.org/notes
    input: {type: object}
"""


@pytest.fixture
def scribe(studio: Studio) -> dict[str, Any]:
    """An agent in a version of its own."""
    manifest = {
        "name": "scribe", "instructions": "Write notes.\nBe brief.",
        "model": {"provider": "scripted"}, "limits": {"steps": 9},
    }  # fmt: skip
    studio.api.agents.save("scribe", manifest)
    return studio.api.agents.show("scribe")["manifest"]


def plan(page: Page) -> None:
    page.locator("#agent-form").get_by_role("button", name="Plan", exact=True).last.click()


def text_of(page: Page) -> str:
    return page.get_by_label(re.compile("^Manifest, as")).input_value()


@pytest.mark.parametrize("scripts", [True, False])
def test_an_agent_is_written_planned_and_saved(
    studio: Studio, sign_in: SignIn, scripts: bool
) -> None:
    page = sign_in(studio, java_script_enabled=scripts)
    name = f"scribe-{'with' if scripts else 'without'}"
    page.goto(f"{studio.url}/agents")
    page.get_by_role("link", name="New agent").click()
    page.get_by_label("Manifest, as YAML").fill(TEXT.replace("scribe", name))

    plan(page)
    expect(page.get_by_role("region", name="Plan")).to_contain_text("saved as version 1")
    page.get_by_role("button", name="Save as version 1").click()

    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    assert studio.api.agents.show(name)["manifest"]["instructions"] == "Write notes.\nBe brief.\n"


@pytest.mark.parametrize("scripts", [True, False])
def test_faults_have_lines_and_what_was_typed_stays(
    studio: Studio, sign_in: SignIn, scripts: bool
) -> None:
    page = sign_in(studio, java_script_enabled=scripts)
    typed = TEXT.replace("scripted", "none at all").replace("POST", "SHOUT")
    page.goto(f"{studio.url}/agents/new")
    page.get_by_label("Manifest, as YAML").fill(typed)

    plan(page)

    faults = page.get_by_role("alert").get_by_role("listitem")
    expect(faults).to_have_count(2)
    expect(faults.first).to_contain_text("line 7: model.provider")
    expect(faults.last).to_contain_text("line 11: tools[0].method")
    assert text_of(page).strip() == typed.strip()


def test_fields_and_text_say_the_same(
    studio: Studio, sign_in: SignIn, scribe: dict[str, Any]
) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/agents/scribe/edit")

    page.get_by_role("button", name="In fields").click()
    expect(page.get_by_label("Instructions")).to_have_value(scribe["instructions"])
    page.get_by_label("Steps").fill("12")
    page.get_by_role("button", name="As text").click()
    expect(page.get_by_label("Manifest, as YAML")).to_have_value(re.compile("steps: 12"))
    page.get_by_role("button", name="JSON", exact=True).click()
    expect(page.get_by_label("Manifest, as JSON")).to_have_value(re.compile('"steps": 12'))

    plan(page)
    expect(page.get_by_role("region", name="Plan")).to_contain_text("from 9 to 12")


def test_who_saved_meanwhile_is_named_with_what_they_changed(
    studio: Studio, sign_in: SignIn, scribe: dict[str, Any]
) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/agents/scribe/edit")
    mine = text_of(page).replace("steps: 9", "steps: 33")
    studio.api.agents.save("scribe", {**scribe, "description": "Theirs"})
    page.get_by_label("Manifest, as YAML").fill(mine)

    plan(page)

    expect(page.get_by_role("alert")).to_contain_text("was saved meanwhile")
    expect(page.get_by_role("heading", name="Saved meanwhile")).to_contain_text("key:")
    expect(page.locator("main")).to_contain_text("Theirs")
    assert text_of(page).strip() == mine.strip()
    page.get_by_role("button", name=re.compile("^Plan mine on top")).click()
    page.get_by_role("button", name=re.compile("^Save as version")).click()
    expect(page.get_by_role("heading", name="scribe", level=1)).to_be_visible()
    assert studio.api.agents.show("scribe")["manifest"]["limits"] == {"steps": 33}


@pytest.mark.parametrize("scripts", [True, False])
def test_two_versions_are_compared(
    studio: Studio, sign_in: SignIn, scribe: dict[str, Any], scripts: bool
) -> None:
    tool = {"name": "page", "kind": "http", "method": "POST", "url": "https://a.example/",
            "input": {"type": "object"}}  # fmt: skip
    told = scribe["instructions"].replace("brief", "very brief")
    studio.api.agents.save("scribe", {**scribe, "instructions": told, "tools": [tool]})
    page = sign_in(studio, java_script_enabled=scripts)
    page.goto(f"{studio.url}/agents/scribe/versions")

    page.get_by_role("button", name="Compare the two").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("scribe: v")
    expect(page.get_by_role("region", name="Instructions").locator("mark")).to_have_text(["very "])
    expect(page.get_by_role("region", name="Tools")).to_contain_text("added")
    verdicts = page.get_by_role("region", name="What the policy says of each tool")
    expect(verdicts.get_by_role("row").last).to_contain_text("not there")
    expect(verdicts.get_by_role("row").last).to_contain_text("asks")


def test_a_session_on_an_older_version_leads_to_the_difference(
    studio: Studio, sign_in: SignIn, scribe: dict[str, Any]
) -> None:
    session_id = studio.api.sessions.start("scribe", title="Pinned")["session_id"]
    for steps in (50, 51):
        studio.api.agents.save("scribe", {**scribe, "limits": {"steps": steps}})
    page = sign_in(studio)
    page.goto(f"{studio.url}/sessions/{session_id}")

    page.locator("#header").get_by_role("link", name="2 newer").click()

    expect(page.get_by_role("region", name="Limits")).to_contain_text("51")
    page.get_by_role("link", name=re.compile("^New session with v")).click()
    expect(page.get_by_label("Agent")).to_have_value("scribe")
