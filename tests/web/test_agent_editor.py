"""Agents written in the browser: planned before they are saved, nothing typed is lost."""

from typing import Any

import pytest

from studio.core import manifests
from tests.web import html
from tests.web.conftest import Studio, Visitor

TEXT = "name: scribe\nmodel:\n  provider: scripted\ninstructions: Write.\n"


async def begin(ada: Visitor, path: str = "/agents/new") -> html.Element:
    return (await ada.open(path)).one(id="agent-form")


async def planned(ada: Visitor, form: html.Element, **typed: str) -> html.Element:
    answer = await ada.post("/agents/draft", form.fields() | {"step": "plan"} | typed)
    assert answer.status_code == 200, html.read(answer.text).one(id="main").text
    return html.read(answer.text)


async def test_an_agent_is_planned_then_saved(studio: Studio, ada: Visitor) -> None:
    page = await planned(ada, await begin(ada), text=TEXT)
    assert "It would be saved as version 1." in page.one(id="plan").text

    answer = await ada.press(page.one(id="agent-form"))

    assert (answer.status_code, answer.headers["location"]) == (303, "/agents/scribe")
    agent = await studio.reader.agent(ada.person, "scribe")
    assert (agent.version, agent.manifest["instructions"]) == (1, "Write.")


async def test_what_was_not_planned_is_planned_first(studio: Studio, ada: Visitor) -> None:
    page = await planned(ada, await begin(ada), text=TEXT)

    answer = await ada.press(page.one(id="agent-form"), text=TEXT + "description: Other\n")

    assert answer.status_code == 200
    assert "not the one that was planned" in html.read(answer.text).one(id="main").text
    assert [row.name for row in await studio.reader.agents(ada.person)] == ["helper"]


async def test_faults_come_with_their_lines_and_the_text_stays(ada: Visitor) -> None:
    text = "name: scribe\nmodel:\n  provider: scripted\n  colour: no\ntools: 5\n"
    form = await begin(ada)

    answer = await ada.post("/agents/draft", form.fields() | {"step": "plan", "text": text})

    page = html.read(answer.text)
    faults = [item.text for item in page.one(id="faults").all("li")]
    assert answer.status_code == 422
    assert [words.split(" ")[1].strip(":") for words in faults] == ["4", "5"]
    assert "model.colour is not a known field" in faults[0]
    assert page.one(id="agent-form").fields()["text"].strip() == text.strip()


@pytest.mark.parametrize("text", ["a: [", '{"name": ', "", "a: 1\na: 2", "- 1"])
async def test_a_text_that_cannot_be_read_is_kept(ada: Visitor, text: str) -> None:
    form = await begin(ada)

    for path, step in (("/agents/draft", "fields"), ("/agents/draft", "json"), ("/agents", "")):
        answer = await ada.post(path, form.fields() | {"step": step, "text": text})

        fields = html.read(answer.text).one(id="agent-form").fields()
        assert answer.status_code in (200, 422)
        assert manifests_of(fields["text"]) == manifests_of(text)


def manifests_of(text: str) -> Any:
    try:
        return manifests.read(text).value
    except Exception:  # noqa: BLE001 - it is compared as it is
        return text.strip()


async def test_fields_are_written_into_the_text(studio: Studio, ada: Visitor) -> None:
    form = await begin(ada, "/agents/helper/edit")
    answer = await ada.post("/agents/draft", form.fields() | {"step": "fields"})
    fields = html.read(answer.text).one(id="agent-form")

    page = await planned(
        ada, fields, **{"f-instructions": "Help more.\nAlways.", "f-steps": "7", "f-model": ""}
    )
    await ada.press(page.one(id="agent-form"))

    agent = await studio.reader.agent(ada.person, "helper")
    before = (await studio.reader.agent(ada.person, "helper", 1)).manifest
    assert agent.manifest["instructions"] == "Help more.\nAlways."
    assert agent.manifest["limits"]["steps"] == 7
    assert agent.manifest["tools"] == before["tools"]


async def test_a_field_that_is_wrong_stays_as_typed(ada: Visitor) -> None:
    form = await begin(ada, "/agents/helper/edit")
    answer = await ada.post("/agents/draft", form.fields() | {"step": "fields"})
    fields = html.read(answer.text).one(id="agent-form").fields()

    answer = await ada.post("/agents/draft", fields | {"step": "plan", "f-steps": "many"})

    page = html.read(answer.text)
    assert answer.status_code == 422
    assert "limits.steps must be a whole number" in page.one(id="faults").text
    assert page.one(id="agent-form").fields()["f-steps"] == "many"


async def test_text_is_written_as_json_and_back(ada: Visitor) -> None:
    form = await begin(ada)

    answer = await ada.post("/agents/draft", form.fields() | {"step": "json"})
    fields = html.read(answer.text).one(id="agent-form").fields()

    assert fields["text"].lstrip().startswith("{")
    again = await ada.post("/agents/draft", fields | {"step": "yaml"})
    yaml = html.read(again.text).one(id="agent-form").fields()["text"]
    assert manifests.read(yaml).value == manifests.read(fields["text"]).value


async def test_who_saved_meanwhile_is_named_and_the_text_stays(
    studio: Studio, ada: Visitor
) -> None:
    form = await begin(ada, "/agents/helper/edit")
    text = form.fields()["text"] + "\noutput_schema: {type: object}\n"
    manifest = (await studio.reader.agent(ada.person, "helper")).manifest
    await studio.runtime.save_agent(ada.person, {**manifest, "instructions": "Theirs."})

    answer = await ada.press(form, text=text)

    page = html.read(answer.text)
    main = page.one(id="main").text
    assert answer.status_code == 409
    assert "saved meanwhile: version 2, by ada" in main
    assert "Theirs." in main
    assert "output_schema: {type" in page.one(id="agent-form").fields()["text"]

    fields = page.one(id="agent-form").fields() | {"step": "onto"}
    plan = html.read((await ada.post("/agents/draft", fields)).text)
    assert "It would be saved as version 3." in plan.one(id="plan").text
    await ada.press(plan.one(id="agent-form"))
    assert (await studio.reader.agent(ada.person, "helper")).manifest["output_schema"]


async def test_a_new_agent_does_not_take_the_place_of_another(ada: Visitor) -> None:
    form = await begin(ada)

    answer = await ada.post(
        "/agents/draft", form.fields() | {"step": "plan", "text": TEXT.replace("scribe", "helper")}
    )

    assert answer.status_code == 409
    assert "looked when there was none" in html.read(answer.text).one(id="main").text


async def test_the_page_of_one_agent_saves_no_other(ada: Visitor) -> None:
    form = await begin(ada, "/agents/helper/edit")

    answer = await ada.post("/agents/draft", form.fields() | {"step": "plan", "text": TEXT})

    assert answer.status_code == 422
    assert "must stay helper" in html.read(answer.text).one(id="faults").text


async def test_an_older_version_can_be_gone_back_to(studio: Studio, ada: Visitor) -> None:
    manifest = (await studio.reader.agent(ada.person, "helper")).manifest
    await studio.runtime.save_agent(ada.person, {**manifest, "instructions": "Worse."})

    page = await planned(ada, await begin(ada, "/agents/helper/edit?version=1"))
    await ada.press(page.one(id="agent-form"))

    agent = await studio.reader.agent(ada.person, "helper")
    assert (agent.version, agent.manifest) == (3, manifest)


async def test_nothing_to_save_is_said(ada: Visitor) -> None:
    page = await planned(ada, await begin(ada, "/agents/helper/edit"))

    assert "Nothing differs from version 1." in page.one(id="plan").text
    assert "Save as version" not in page.one(id="main").text


async def test_only_admins_write_agents(alice: Visitor) -> None:
    for path in ("/agents/new", "/agents/helper/edit"):
        await alice.open(path, status=403)
    for path in ("/agents", "/agents/draft"):
        assert (await alice.post(path, {"text": TEXT})).status_code == 403
    assert "/agents/new" not in str((await alice.get("/agents")).text)


async def test_versions_say_what_each_changed(studio: Studio, ada: Visitor) -> None:
    manifest = (await studio.reader.agent(ada.person, "helper")).manifest
    await studio.runtime.save_agent(ada.person, {**manifest, "instructions": "More."})

    page = await ada.open("/agents/helper/versions")

    rows = [row.text for row in page.one("tbody").all("tr")]
    assert "instructions changed" in rows[0]
    assert "new agent" in rows[1]


async def test_two_versions_side_by_side(studio: Studio, ada: Visitor) -> None:
    manifest = (await studio.reader.agent(ada.person, "helper")).manifest
    tools = [{**manifest["tools"][0], "read_only": True}, *manifest["tools"][1:]]
    await studio.runtime.save_agent(ada.person, {**manifest, "tools": tools, "instructions": "<b>"})

    main = (await ada.open("/agents/helper/diff?old=1&new=2")).one(id="main").text

    assert "<b>" in main
    assert "read_only" in main
    assert "What the policy says of each tool" in main
    await ada.open("/agents/helper/diff?old=1&new=9", status=404)
    await ada.open("/agents/nobody/diff", status=404)


async def test_a_session_leads_to_what_is_newer(studio: Studio, ada: Visitor) -> None:
    session_id = await studio.story.session("Pinned")
    manifest = (await studio.reader.agent(ada.person, "helper")).manifest
    await studio.runtime.save_agent(ada.person, {**manifest, "instructions": "More."})
    await studio.runtime.save_agent(ada.person, {**manifest, "instructions": "Even more."})

    page = await ada.open(f"/sessions/{session_id}")

    link = page.one(id="header").one("a", **{"class": "badge badge--label"})
    assert link.text.strip() == "2 newer"
    assert link.attrs["href"].startswith("/agents/helper/diff?old=1&new=3")
    diff = await ada.open(link.attrs["href"])
    assert "New session with v3" in diff.one(id="main").text
