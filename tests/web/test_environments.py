"""The list of environments and the page of one: what they show, to whom, and what they refuse."""

import pytest

from studio.core.rules import contents
from studio.core.rules import events as e
from tests.web import environments as env
from tests.web import html
from tests.web.conftest import Studio, Visitor
from tests.web.streams import listening


async def opened(visitor: Visitor, id: str, query: str = "") -> html.Element:
    return (await visitor.open(f"/environments/{id}{query}")).one(id="main")


def rows(page: html.Element) -> list[str]:
    return [link.text for link in page.all("a", class_="table__link")]


# The list -----------------------------------------------------------------------------------------


async def test_an_empty_list_says_what_an_environment_is_and_how_to_make_one(
    alice: Visitor, charlie: Visitor
) -> None:
    page = await alice.open("/environments")

    assert "An environment is a place for agents to act in" in page.text
    assert page.all("a", href="/environments/new")
    assert (await charlie.open("/environments")).all("a", href="/environments/new") == []


async def test_a_row_says_what_it_is_and_how_it_stands(studio: Studio, alice: Visitor) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python", labels={"team": "web"}, owner="alice")
    await env.keep(studio, id)
    await env.save(studio, description="Other.", limits={"memory_mib": 600})

    row = (await alice.open("/environments")).one(id=f"row-{id}")

    for words in ("desk", "sandbox, python@1, 1 newer", "of alice", "team web", "made",
                  "0 of 2 set, 1 required missing", "2.0 kB", "v1"):  # fmt: skip
        assert words in row.text, words


async def test_who_works_in_it_is_named_but_not_a_private_session(
    studio: Studio, alice: Visitor, ada: Visitor
) -> None:
    id = await env.make(studio)
    await env.busy(studio, id, "Secret plans", private=True)

    assert "a private session" in (await alice.open("/environments")).text
    assert "Secret plans" not in (await alice.open("/environments")).text
    assert "Secret plans" in (await ada.open("/environments")).one(id=f"row-{id}").text


async def test_labels_state_kind_and_name_narrow_the_list(studio: Studio, alice: Visitor) -> None:
    await env.make(studio, "one", labels={"team": "web", "stage": "dev"})
    await env.make(studio, "two", labels={"team": "web"})
    await env.make(studio, "vault", definition={"kind": "none"})

    for query, names in {
        "label=team%3Dweb": ["two", "one"], "label=team%3Dweb&label=stage%3Ddev": ["one"],
        "kind=none": ["vault"], "name=tw": ["two"], "state=running": [], "manifest=none": [],
        "": ["vault", "two", "one"],
    }.items():  # fmt: skip
        assert rows(await alice.open(f"/environments?{query}")) == names, query


async def test_a_label_is_added_and_taken_away_by_links(studio: Studio, alice: Visitor) -> None:
    await env.make(studio, "one", labels={"team": "web", "stage": "dev"})

    page = await alice.open("/environments?label=team%3Dweb&kind=sandbox")

    more = "/environments?label=team%3Dweb&label=stage%3Ddev&kind=sandbox"
    assert page.one("a", href=more).text == "stage dev"
    assert page.all("a", href="/environments?kind=sandbox")


async def test_a_label_that_is_none_is_said_so(studio: Studio, alice: Visitor) -> None:
    await env.make(studio)

    page = await alice.open("/environments?label=nonsense")

    assert "“nonsense” is no label" in page.text
    assert rows(page) == ["desk"]


async def test_a_cursor_of_another_filter_is_refused(alice: Visitor) -> None:
    await alice.open("/environments?cursor=nonsense", 422)


async def test_hostile_words_stay_words(studio: Studio, alice: Visitor) -> None:
    id = await env.make(studio, labels={"team": '"><script>alert(1)</script>'})
    await env.record(studio, id, env.tried(host="<b>x</b>.example"))

    for path in ("/environments", f"/environments/{id}", f"/environments/{id}?tab=network"):
        answer = await alice.get(path)
        assert "<script>alert" not in answer.text
        assert "<b>x</b>" not in answer.text


# One ----------------------------------------------------------------------------------------------


async def test_the_overview_says_what_it_is_pinned_to(studio: Studio, charlie: Visitor) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")

    page = await opened(charlie, id)

    for words in ("make <all>", "in src", "notes.md", "pypi.org", "port 443", "STAGE", "512 MiB",
                  "CRM_TOKEN", "bearer for https://crm.example/api", "known once it has started",
                  "never by itself"):  # fmt: skip
        assert words in page.text, words
    assert page.all("form") == []
    assert "Start a session" not in page.text


async def test_a_newer_manifest_is_a_link_to_what_changed(studio: Studio, alice: Visitor) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")
    await env.save(studio, limits={"memory_mib": 600})

    page = await opened(alice, id)

    link = page.one("a", href="/environments/manifests/python/diff?old=1&new=2")
    assert link.text == "1 newer"


@pytest.mark.parametrize("word", ["none", "env_00000000000000000000000000"])
async def test_what_is_not_there_is_not_found(alice: Visitor, word: str) -> None:
    await alice.open(f"/environments/{word}", 404)


async def test_a_name_finds_it_too(studio: Studio, alice: Visitor) -> None:
    id = await env.make(studio)

    page = await alice.open("/environments/desk")

    assert page.one(id="environment").attrs["hx-get"].startswith(f"/environments/{id}?")


async def test_every_try_to_reach_out_is_listed_and_filtered(
    studio: Studio, alice: Visitor
) -> None:
    id = await env.make(studio)
    await env.record(studio, id, env.tried(), env.tried("pypi.org", outcome="allowed"))

    page = await opened(alice, id, "?tab=network")
    refused = await opened(alice, id, "?tab=network&outcome=refused")

    assert "evil.example :443 refused It is not on the allow-list." in page.text
    assert "10 B, 2.0 kB" in page.text
    assert "pypi.org" not in refused.text


async def test_a_refused_place_is_proposed_as_a_change_of_the_manifest(
    studio: Studio, ada: Visitor, alice: Visitor
) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")
    await env.record(studio, id, env.tried(), env.tried("10.0.0.1"), env.tried("pypi.org"))
    target = "/environments/manifests/python/edit?allow=evil.example%3A443"

    page = await opened(ada, id, "?tab=network")

    proposed = [link.attrs["href"] for link in page.all("a") if "allow=" in link.attrs["href"]]
    assert proposed == [target]
    plan = (await ada.open(target)).one(id="plan")
    assert "network evil.example added" in plan.text
    assert "Propose" not in (await opened(alice, id, "?tab=network")).text


async def test_a_failed_setup_stands_on_top_with_its_output(studio: Studio, alice: Visitor) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")
    told = contents.of_text("No such <target>.\n")
    runs = (
        e.SetupRun(run="python3 -m venv .venv", exit=0, seconds=1.5, output=contents.of_text("")),
        e.SetupRun(run="make <all>", exit=2, seconds=0.2, output=told),
    )
    await env.record(
        studio, id, e.SetupStarted(commands=2), e.SetupFinished(ok=False, runs=runs, failed=2)
    )

    page = await opened(alice, id, "?tab=setup")

    assert "Command 2 of 2 failed." in page.one(role="alert").text
    assert [one.attrs["id"] for one in page.all("details", class_="env__run")] == ["run-2", "run-1"]
    assert "No such <target>." in page.one(id="run-2").text
    assert "exit 2" in page.one(id="run-2").text
    answer = await alice.get(f"/environments/{id}/setup/2")
    assert (answer.content, "attachment" in answer.headers["content-disposition"]) == (
        b"No such <target>.\n", True)  # fmt: skip
    await alice.open(f"/environments/{id}/setup/3", 404)


async def test_sessions_and_events_are_tabs(studio: Studio, alice: Visitor) -> None:
    id = await env.make(studio)
    await env.busy(studio, id, "In the open")
    await env.busy(studio, id, "Hidden", private=True)

    assert rows(await opened(alice, id, "?tab=sessions")) == ["In the open"]
    assert "environment.made" in (await opened(alice, id, "?tab=events")).text


async def test_what_was_asked_of_the_disk_is_told_until_it_is_over(
    studio: Studio, alice: Visitor
) -> None:
    id = await env.make(studio)
    asked = await studio.runtime.reset_environment(alice.person, id)
    waiting = await opened(alice, id)
    await env.record(studio, id, e.OperationStarted(operation_id=asked, worker="w"))
    running = await opened(alice, id)
    failed = e.OperationEnded(operation_id=asked, ok=False, code="x", message="The disk is full.")
    await env.record(studio, id, failed)

    over = await opened(alice, id)

    assert "reset the disk asked for by alice" in waiting.text
    assert "resetting the disk" in running.text
    assert "nothing changed: The disk is full." in over.text


# What is edited in place --------------------------------------------------------------------------


async def test_labels_are_saved_and_taken_back(studio: Studio, alice: Visitor) -> None:
    id = await env.make(studio, labels={"team": "web"})
    page = await opened(alice, id)

    answer = await alice.press(page.form("/labels"), labels="team=api\nstage=dev")

    page = (await alice.open(answer.headers["location"])).one(id="main")
    assert "The labels are saved. They were: team=web." in page.text
    assert page.all("a", href="/environments?label=stage%3Ddev")
    undo = next(form for form in page.all("form") if "Undo" in form.text)
    await alice.press(undo)
    row = (await studio.reader.environment(alice.person, id)).row
    assert row.labels == {"team": "web"}


@pytest.mark.parametrize(
    "typed, words",
    [("nonsense", "key=value"), ("a=1\na=2", "twice"), ("a b=1", "no name of a label")],
)
async def test_labels_that_are_refused_stay_as_typed(
    studio: Studio, alice: Visitor, typed: str, words: str
) -> None:
    id = await env.make(studio, labels={"team": "web"})

    answer = await alice.press((await opened(alice, id)).form("/labels"), labels=typed)

    form = html.read(answer.text).form("/labels")
    assert answer.status_code == 422
    assert words in form.text
    assert form.fields()["labels"] == typed


async def test_the_owner_is_given_and_guards(studio: Studio, alice: Visitor, bob: Visitor) -> None:
    id = await env.make(studio)
    await alice.press((await opened(alice, id)).form("/owner"), owner="alice")

    refused = await bob.press((await opened(bob, id)).form("/labels"), labels="a=1")

    assert refused.status_code == 409
    assert "alice's alone to use" in html.read(refused.text).text
    given = await alice.press((await opened(alice, id)).form("/owner"), owner="bob")
    assert given.status_code == 403
    assert "Only an admin gives" in html.read(given.text).text


# Secrets ------------------------------------------------------------------------------------------


async def test_a_secret_goes_in_and_is_never_shown(
    studio: Studio, ada: Visitor, alice: Visitor
) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")
    page = await opened(ada, id, "?tab=secrets")

    answer = await ada.press(page.form("/secrets/CRM_TOKEN"), value=env.VALUE)

    assert answer.status_code == 303
    shown = await ada.get(answer.headers["location"])
    assert env.VALUE not in shown.text
    page = html.read(shown.text).one(id="main")
    assert "CRM_TOKEN is set. Its value is shown nowhere." in page.text
    assert "1 of 2 set" in page.text
    assert "by ada , version 1. Not used yet." in page.one(id="slot-CRM_TOKEN").text
    assert (await opened(alice, id, "?tab=secrets")).all("form", autocomplete="off") == []


@pytest.mark.parametrize("value", ["q7x", "two words of it all", "aaaaaaaaaaaaaaaa"])
async def test_a_value_that_is_refused_does_not_come_back(
    studio: Studio, ada: Visitor, value: str
) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")
    form = (await opened(ada, id, "?tab=secrets")).form("/secrets/CRM_TOKEN")

    answer = await ada.press(form, value=value)

    slot = html.read(answer.text).one(id="slot-CRM_TOKEN")
    assert answer.status_code == 422
    assert slot.all(class_="field__error")
    assert slot.form("/secrets/CRM_TOKEN").fields()["value"] == ""
    assert value not in answer.text


async def test_a_slot_that_is_not_declared_and_a_stranger_are_refused(
    studio: Studio, ada: Visitor, alice: Visitor
) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")

    assert (await ada.post(f"/environments/{id}/secrets/OTHER", {"value": env.VALUE})
            ).status_code == 409  # fmt: skip
    refused = await alice.post(f"/environments/{id}/secrets/CRM_TOKEN", {"value": env.VALUE})
    assert refused.status_code == 403
    assert env.VALUE not in refused.text


async def test_a_secret_is_removed(studio: Studio, ada: Visitor) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")
    await studio.runtime.set_environment_secret(ada.person, id, "CRM_TOKEN", env.VALUE)

    form = (await opened(ada, id, "?tab=secrets")).form("/secrets/CRM_TOKEN/removal")
    answer = await ada.press(form)

    page = (await ada.open(answer.headers["location"])).one(id="main")
    assert "The value of CRM_TOKEN is removed." in page.text
    assert "required, missing" in page.one(id="slot-CRM_TOKEN").text


# Stop, reset, delete ------------------------------------------------------------------------------


async def test_what_deleting_loses_is_said_first(studio: Studio, ada: Visitor) -> None:
    id = await env.make(studio)
    await env.keep(studio, id)
    page = await ada.open(f"/environments/{id}/deletion")
    assert "Its disk with 1 kept version, the newest with 3 files and 2.0 kB." in page.text

    answer = await ada.press(page.form("/deletion"))

    shown = await ada.open(answer.headers["location"])
    assert "It was deleted" in shown.text
    assert shown.one(id="main").all("form") == []
    assert rows(await ada.open("/environments")) == []
    assert rows(await ada.open("/environments?state=deleted")) == ["desk"]


async def test_a_label_of_the_policy_says_so_and_is_an_admins(
    studio: Studio, ada: Visitor, alice: Visitor
) -> None:
    id = await env.make(studio)
    await studio.runtime.label_environment(env.ADA, id, {"stage": "prod"})
    version = (await studio.reader.policy(env.ADA)).version
    rules = [{"effect": "ask", "environment": "stage=prod"}]
    await studio.runtime.save_policy(env.ADA, rules, expect=version)

    page = await alice.open(f"/environments/{id}")
    refused = await alice.press(page.form("/labels"), labels="stage=test")

    assert "Only an admin changes it." in page.text
    assert page.one(id="main").all("a", href="/policy#rule-1")
    assert refused.status_code == 403
    assert "The policy asks about stage=prod (rule 1)" in html.read(refused.text).text
    mine = await ada.open(f"/environments/{id}")
    assert "Only an admin changes" not in mine.text
    assert (await ada.press(mine.form("/labels"), labels="stage=test")).status_code == 303


async def test_one_press_starts_it_and_leads_to_its_setup(studio: Studio, alice: Visitor) -> None:
    id = await env.make(studio)
    page = await alice.open(f"/environments/{id}")

    answer = await alice.press(page.form("/start"))

    assert answer.headers["location"] == f"/environments/{id}?tab=setup"
    shown = await alice.open(answer.headers["location"])
    assert "start it" in shown.one(id="main").text
    other = await env.make(studio, "other")
    session_id = await env.busy(studio, other)
    refused = await alice.press((await alice.open(f"/environments/{other}")).form("/start"))
    alert = html.read(refused.text).one(id="main").one(role="alert")
    assert refused.status_code == 409
    assert alert.all("a", href=f"/sessions/{session_id}")


@pytest.mark.parametrize("act", ["stop", "reset", "deletion"])
async def test_busy_is_refused_with_who_is_in_it(studio: Studio, ada: Visitor, act: str) -> None:
    id = await env.make(studio)
    session_id = await env.busy(studio, id, "Release <4.2>")
    page = await ada.open(f"/environments/{id}/{act}")
    assert "While it is not over this will be refused." in page.text

    answer = await ada.press(page.form(f"/{act}"))

    alert = html.read(answer.text).one(id="main").one(role="alert")
    assert answer.status_code == 409
    assert "turn 1 of the session “Release <4.2>” is" in alert.text
    assert alert.all("a", href=f"/sessions/{session_id}")


async def test_who_may_not_is_refused(studio: Studio, alice: Visitor, charlie: Visitor) -> None:
    id = await env.make(studio)

    await alice.open(f"/environments/{id}/deletion", 403)
    for act in ("start", "stop", "reset", "deletion", "labels", "owner", "fork"):
        assert (await charlie.post(f"/environments/{id}/{act}", {})).status_code == 403, act
    assert (await alice.post(f"/environments/{id}/deletion")).status_code == 403


# Live ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["labels", "session", "operation"])
async def test_an_open_page_is_told_to_look_again(studio: Studio, change: str) -> None:
    id, other = await env.make(studio), await env.make(studio, "other")
    secret, _ = await studio.runtime.sign_in(studio.runtime.link("alice", "operator"))
    after = str(await studio.reader.position())
    async with listening(studio, secret, ("environment", id), after=after) as ear:
        await ear.live()

        await studio.runtime.label_environment(env.ADA, other, {"not": "ours"})
        if change == "labels":
            await studio.runtime.label_environment(env.ADA, id, {"team": "web"})
        elif change == "session":
            await env.busy(studio, id)
        else:
            await studio.runtime.reset_environment(env.ADA, id)

        heard = await ear.until(lambda message: message.event == "look:environment")
        assert heard[-1].id == str(await studio.reader.position())
        assert all(not message.data for message in heard if message.event.startswith("look:"))


async def test_the_stream_of_what_is_not_there_is_not_found(alice: Visitor) -> None:
    answer = await alice.get("/live/environment/none", Accept="text/event-stream")

    assert answer.status_code == 404
