"""Environments made and forked, and sessions started on them: nothing typed is lost."""

import pytest

from tests.web import environments as env
from tests.web import html
from tests.web.conftest import Studio, Visitor


async def make_form(visitor: Visitor, query: str = "") -> html.Element:
    return (await visitor.open(f"/environments/new{query}")).form("/environments")


async def planned(visitor: Visitor, id: str, **typed: str) -> html.Element:
    form = (await visitor.open(f"/environments/{id}/fork")).one(id="fork-form")
    answer = await visitor.press(form, "step", "plan", **typed)
    assert answer.status_code == 200, html.read(answer.text).one(id="main").text
    return html.read(answer.text)


async def test_one_is_made_from_a_manifest(studio: Studio, alice: Visitor) -> None:
    await env.save(studio)

    answer = await alice.press(
        await make_form(alice, "?manifest=python"), name="web/one", labels="team=web",
        owner="alice",
    )  # fmt: skip

    page = await alice.open(answer.headers["location"])
    row = (await studio.reader.environment(alice.person, "web/one")).row
    assert "It is made." in page.text
    assert (row.manifest, row.manifest_version, row.labels, row.owner) == (
        "python", 1, {"team": "web"}, "alice")  # fmt: skip


async def test_an_earlier_version_can_be_asked_for(studio: Studio, alice: Visitor) -> None:
    await env.save(studio)
    await env.save(studio, description="Newer.")

    form = await make_form(alice, "?manifest=python@1")

    assert form.fields()["manifest"] == "python@1"


@pytest.mark.parametrize(
    "typed, field, words",
    [({"name": "../x"}, "name", "each part between"), ({"labels": "x"}, "labels", "key=value"),
     ({"labels": "team=a\nteam=b"}, "labels", "twice")],
)  # fmt: skip
async def test_what_is_refused_stays_as_typed(
    studio: Studio, alice: Visitor, typed: dict[str, str], field: str, words: str
) -> None:
    await env.save(studio)
    given = {"name": "fine", "labels": "team=web", "owner": "alice", **typed}

    answer = await alice.press(await make_form(alice), **given)

    form = html.read(answer.text).form("/environments")
    assert answer.status_code == 422
    assert words in form.one(id=f"field-{field}-error").text
    assert given.items() <= form.fields().items()


async def test_a_definition_is_an_admin_s_to_write(
    studio: Studio, ada: Visitor, alice: Visitor
) -> None:
    text = "kind: sandbox\nlimits:\n  memory_mib: 1\n"
    form = await make_form(ada)
    refused = await ada.press(form, name="own", definition=text)
    page = html.read(refused.text)

    answer = await ada.press(page.form("/environments"), definition="kind: none\n")

    assert "line 3 : limits.memory_mib" in page.one(id="main").one(role="alert").text
    assert page.form("/environments").fields()["definition"] == text
    assert answer.status_code == 303
    assert (await alice.open("/environments/new")).all("textarea", name="definition") == []
    sent = {"name": "other", "manifest": "-", "definition": "kind: none"}
    assert (await alice.post("/environments", sent)).status_code == 403


async def test_another_one_of_that_name_is_refused_with_what_differs(
    studio: Studio, alice: Visitor
) -> None:
    await env.save(studio)
    await env.make(studio, "desk", manifest="python", labels={"team": "web"})

    answer = await alice.press(await make_form(alice), name="desk", labels="team=api")

    assert answer.status_code == 409
    assert (
        "with other values: labels" in html.read(answer.text).one(id="main").one(role="alert").text
    )


# Forks --------------------------------------------------------------------------------------------


async def test_a_fork_is_planned_as_a_checklist_then_made(studio: Studio, alice: Visitor) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python", labels={"team": "web"})
    await env.keep(studio, id)
    await studio.runtime.set_environment_secret(env.ADA, id, "CRM_TOKEN", env.VALUE)
    await studio.runtime.set_environment_secret(env.ADA, id, "DEPLOY_KEY", "abcdefgh\nijkl\n")

    page = await planned(alice, id, name="desk-2", secrets="CRM_TOKEN")

    plan = page.one(id="plan")
    for words in ("version 1 of desk : 3 files, 2.0 kB", "python@1", "secrets copied CRM_TOKEN",
                  "left behind DEPLOY_KEY", "team web", "everybody"):  # fmt: skip
        assert words in plan.text, words
    answer = await alice.press(page.one(id="fork-form"), "step", "make")
    made = await studio.reader.environment(alice.person, "desk-2")
    assert answer.headers["location"] == f"/environments/{made.row.id}?saved=made"
    assert (made.row.coverage.filled, made.row.version) == (1, 1)
    assert made.forked_from is not None


async def test_a_fork_that_lets_a_secret_reach_more_is_ticked_first(
    studio: Studio, alice: Visitor
) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")
    await studio.runtime.set_environment_secret(env.ADA, id, "DEPLOY_KEY", "abcdefgh\nijkl\n")
    await env.save(studio, network={"allow": [{"host": "pypi.org"}, {"host": "more.example"}]})

    page = await planned(
        alice, id, name="desk-2", secrets="DEPLOY_KEY", manifest="python@2"
    )  # fmt: skip
    again = await alice.press(page.one(id="fork-form"), "step", "make")
    made = await alice.press(page.one(id="fork-form"), "step", "make", wider="1")

    assert "DEPLOY_KEY could now reach more.example:443" in page.one(id="plan").text
    assert "Tick that the secrets may reach more" in html.read(again.text).text
    assert made.status_code == 303


async def test_what_is_missing_is_said_before(studio: Studio, alice: Visitor) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")

    plan = (await planned(alice, id, name="desk-2")).one(id="plan")

    assert "CRM_TOKEN : no session can start on it" in plan.text


async def test_what_was_not_planned_is_planned_first(studio: Studio, alice: Visitor) -> None:
    id = await env.make(studio)
    page = await planned(alice, id, name="desk-2")
    await env.keep(studio, id)

    answer = await alice.press(page.one(id="fork-form"), "step", "make")

    assert "This is not what was planned." in html.read(answer.text).text
    names = [row.name for row in (await studio.reader.environments(alice.person)).items]
    assert names == ["desk"]


async def test_a_busy_source_is_not_forked_and_the_form_stays(
    studio: Studio, alice: Visitor
) -> None:
    id = await env.make(studio)
    page = await planned(alice, id, name="desk-2")
    await env.busy(studio, id, "Release")
    page = html.read((await alice.press(page.one(id="fork-form"), "step", "plan")).text)

    answer = await alice.press(page.one(id="fork-form"), "step", "make")

    shown = html.read(answer.text)
    assert answer.status_code == 409
    assert "turn 1 of the session “Release”" in shown.one(id="main").one(role="alert").text
    assert shown.one(id="fork-form").fields()["name"] == "desk-2"


async def test_a_taken_name_is_refused(studio: Studio, alice: Visitor) -> None:
    id = await env.make(studio)
    form = (await alice.open(f"/environments/{id}/fork?version=0")).one(id="fork-form")
    assert form.fields()["version"] == "0"

    answer = await alice.press(form, "step", "plan", name="desk")

    assert answer.status_code == 409
    assert "Choose another name." in html.read(answer.text).one(id="main").one(role="alert").text


# Sessions -----------------------------------------------------------------------------------------


async def test_a_session_is_started_on_one_and_leads_back(studio: Studio, alice: Visitor) -> None:
    await env.save(studio, secrets=[])
    id = await env.make(studio, "web/desk", manifest="python")
    form = (await alice.open(f"/sessions/new?environment={id}")).form("/sessions")
    assert form.fields()["environment"] == id

    answer = await alice.press(form, message="Begin.")

    page = await alice.open(answer.headers["location"])
    assert page.one(id="header").one("a", href=f"/environments/{id}").text == "environment web/desk"
    listed = await alice.open(f"/sessions?environment={id}")
    assert len(listed.all("a", class_="table__link")) == 1
    other = await alice.open("/sessions?environment=env_none")
    assert other.all("a", class_="table__link") == []


async def test_what_cannot_be_started_on_is_said_and_kept(studio: Studio, alice: Visitor) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")
    form = (await alice.open("/sessions/new")).form("/sessions")
    assert "0 of 2 set, 1 required missing" in form.text

    answer = await alice.press(form, environment=id, message="Begin.")

    shown = html.read(answer.text)
    assert answer.status_code == 409
    assert "CRM_TOKEN" in shown.one(id="main").one(role="alert").text
    assert shown.form("/sessions").fields()["environment"] == id


async def test_what_is_another_s_alone_is_not_offered(
    studio: Studio, alice: Visitor, bob: Visitor
) -> None:
    id = await env.make(studio, owner="alice")

    assert (await alice.open("/sessions/new")).all("option", value=id)
    assert (await bob.open("/sessions/new")).all("option", value=id) == []
