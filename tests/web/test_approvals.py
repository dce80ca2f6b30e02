"""Approvals: what a card shows and binds, who may answer it, and how an answer is refused."""

from typing import Any

import pytest

from studio.core.rules import events as e
from studio.core.rules.access import Person
from tests.web import html
from tests.web.conftest import Studio, Visitor

CHOICE = {"type": "object", "properties": {"channel": {"enum": ["staging", "production"]}},
          "required": ["channel"]}  # fmt: skip
SHOWN = (
    "publish_release", "mcp", "ledger", "release-kit", "2.4", "asks for tool publish_*",
    "Release 4.2", "helper v1", "Any operator may decide",
)  # fmt: skip
BOB = Person(id="bob", role="operator")


async def asked(studio: Studio, schema: Any = CHOICE) -> tuple[str, str]:
    """A session whose agent asks a question; the session and the wait."""
    story = studio.story
    session_id = await story.session()
    await story.message(session_id)
    origin = e.Origin(kind="platform")
    (effect_id,) = await story.reply(session_id, "", {"tool": "ask_person", "origin": origin})
    wait_id = await story.hold(
        session_id, effect_id, kind="question", prompt="Which channel?", schema=schema
    )
    return session_id, wait_id


async def card(visitor: Visitor, wait_id: str) -> html.Element:
    return (await visitor.open(f"/approvals/{wait_id}")).one("article")


async def test_a_card_shows_what_would_run_and_why(studio: Studio, bob: Visitor) -> None:
    _session, _effect, wait_id = await studio.story.held("Release 4.2")

    shown = await card(bob, wait_id)

    assert shown.attrs["data-state"] == "held"
    for words in SHOWN:
        assert words in shown.text


async def test_nothing_of_the_agents_stands_above_the_arguments(
    studio: Studio, bob: Visitor
) -> None:
    session_id = await studio.story.session("TITLE BY A PERSON")
    await studio.story.message(session_id)
    calls = {"tool": "publish_release", "arguments": {"note": "ARGUMENT"}}
    (effect_id,) = await studio.story.reply(session_id, "HARMLESS SUMMARY", calls)
    wait_id = await studio.story.hold(session_id, effect_id)

    text = (await card(bob, wait_id)).text

    assert "HARMLESS SUMMARY" not in text
    assert "ARGUMENT" in text


async def test_approving_releases_the_call(studio: Studio, bob: Visitor) -> None:
    _session, effect_id, wait_id = await studio.story.held()
    form = (await card(bob, wait_id)).form("/decision")

    answer = await bob.press(form, "decision", "approve")

    assert answer.status_code == 303
    assert (await card(bob, wait_id)).attrs["data-state"] == "approved"
    assert (await studio.reader.call(BOB, effect_id)).state == "ready"


async def test_an_open_page_gets_the_decided_card(studio: Studio, bob: Visitor) -> None:
    _session, _effect, wait_id = await studio.story.held()
    form = (await card(bob, wait_id)).form("/decision")

    sent = form.fields() | {"decision": "deny", "reason": "Use the staging DB"}
    answer = await bob.post(form.attrs["action"], sent, HX_Request="true")

    shown = html.read(answer.text).one("article")
    assert answer.status_code == 200
    assert shown.attrs["data-state"] == "denied"
    assert "Use the staging DB" in shown.text
    assert shown.all("form") == []


async def test_opening_a_card_decides_nothing(studio: Studio, bob: Visitor) -> None:
    _session, effect_id, wait_id = await studio.story.held()

    for path in ("", "/card", "/whole", "/edit", "?decision=approve"):
        await bob.open(f"/approvals/{wait_id}{path}")

    assert (await studio.reader.call(BOB, effect_id)).state == "held"


@pytest.mark.parametrize("change", [{"token": ""}, {"token": "forged"}, {"token": "other"}])
async def test_a_decision_without_the_cards_own_token_is_refused(
    studio: Studio, alice: Visitor, bob: Visitor, change: dict[str, str]
) -> None:
    _session, effect_id, wait_id = await studio.story.held()
    _other, _effect, other_wait = await studio.story.held()
    form = (await card(bob, wait_id)).form("/decision")
    if change["token"] == "other":
        change = {"token": (await card(bob, other_wait)).form("/decision").fields()["token"]}

    answer = await bob.press(form, "decision", "approve", **change)

    assert answer.status_code == 403
    assert "token" not in html.read(answer.text).text.split("What you sent")[0].split()
    assert (await studio.reader.call(BOB, effect_id)).state == "held"


async def test_a_token_of_somebody_else_is_refused(
    studio: Studio, alice: Visitor, bob: Visitor
) -> None:
    _session, effect_id, wait_id = await studio.story.held()
    form = (await card(alice, wait_id)).form("/decision")

    answer = await bob.press(form, "decision", "approve")

    assert answer.status_code == 403
    assert (await studio.reader.call(BOB, effect_id)).state == "held"


async def test_a_call_that_changed_since_is_refused(studio: Studio, bob: Visitor) -> None:
    _session, effect_id, wait_id = await studio.story.held()
    shown = "0" * 64
    secret = studio.tokens.read_cookie(bob.http.cookies["studio"])
    token = studio.runtime.decision_token(bob.person, wait_id, shown, str(secret))
    sent = {"token": token, "digest": shown, "decision": "approve"}

    answer = await bob.post(f"/approvals/{wait_id}/decision", sent)

    assert answer.status_code == 409
    assert "changed since you looked" in html.read(answer.text).one("article").text
    assert (await studio.reader.call(BOB, effect_id)).state == "held"


async def test_the_second_decision_is_told_who_was_first(
    studio: Studio, alice: Visitor, bob: Visitor
) -> None:
    _session, _effect, wait_id = await studio.story.held()
    late = (await card(bob, wait_id)).form("/decision")
    await alice.press((await card(alice, wait_id)).form("/decision"), "decision", "deny")

    answer = await bob.press(late, "decision", "approve")

    shown = html.read(answer.text).one("article")
    assert answer.status_code == 409
    assert shown.attrs["data-state"] == "denied"
    assert "Already denied by alice" in shown.text


async def test_an_answer_after_the_deadline_is_gone(studio: Studio, bob: Visitor) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    (effect_id,) = await studio.story.reply(session_id, "", {"tool": "publish_release"})
    deadline = studio.story.clock.now() + 60_000
    wait_id = await studio.story.hold(session_id, effect_id, deadline=deadline)
    form = (await card(bob, wait_id)).form("/decision")
    studio.story.clock.told += 120_000

    answer = await bob.press(form, "decision", "approve", reason="Yes please")

    assert answer.status_code == 410
    assert "expired before your answer came" in html.read(answer.text).one("article").text


async def test_a_refused_denial_keeps_the_reason(
    studio: Studio, alice: Visitor, bob: Visitor
) -> None:
    _session, _effect, wait_id = await studio.story.held()
    form = (await card(bob, wait_id)).form("/decision")

    answer = await bob.press(form, "decision", "deny", reason="x" * 5_000)

    kept = html.read(answer.text).form("/decision").fields()
    assert answer.status_code == 413
    assert kept["reason"] == "x" * 5_000


async def test_a_viewer_reads_and_is_told_why_not_more(studio: Studio, charlie: Visitor) -> None:
    _session, _effect, wait_id = await studio.story.held()

    shown = await card(charlie, wait_id)
    answer = await charlie.post(f"/approvals/{wait_id}/decision", {"decision": "approve"})

    assert shown.all("form") == []
    assert "needs the role operator" in shown.text
    assert answer.status_code == 403


async def test_a_strangers_card_is_not_there(studio: Studio, charlie: Visitor) -> None:
    _session, _effect, wait_id = await studio.story.held(private=True)

    for path in ("", "/card", "/whole", "/edit"):
        await charlie.open(f"/approvals/{wait_id}{path}", status=404)


# Editing --------------------------------------------------------------------------------------


async def test_edited_arguments_run_as_edited(studio: Studio, bob: Visitor) -> None:
    _session, effect_id, wait_id = await studio.story.held()
    form = (await bob.open(f"/approvals/{wait_id}/edit")).form("/decision")
    (name,) = [name for name, value in form.fields().items() if '"2.4"' in value]

    answer = await bob.press(form, "decision", "approve", **{name: '{"release": "2.5"}'})

    call = await studio.reader.call(BOB, effect_id)
    assert answer.status_code == 303
    assert call.arguments is not None
    assert call.arguments.value == {"release": "2.5"}
    assert call.edited_by == "bob"


async def test_the_difference_is_shown_before_anything_is_decided(
    studio: Studio, bob: Visitor
) -> None:
    _session, effect_id, wait_id = await studio.story.held()
    form = (await bob.open(f"/approvals/{wait_id}/edit")).form("/decision")
    (name,) = [name for name, value in form.fields().items() if '"2.4"' in value]

    answer = await bob.post(
        f"/approvals/{wait_id}/edit", form.fields() | {name: '{"release": "2.5"}'}
    )

    page = html.read(answer.text)
    assert "2.4" in page.one("del").text
    assert "2.5" in page.one("ins").text
    assert (await studio.reader.call(BOB, effect_id)).state == "held"


async def test_a_wrong_edit_is_marked_and_kept(studio: Studio, bob: Visitor) -> None:
    _session, effect_id, wait_id = await studio.story.held()
    form = (await bob.open(f"/approvals/{wait_id}/edit")).form("/decision")
    (name,) = [name for name, value in form.fields().items() if '"2.4"' in value]

    answer = await bob.press(form, "decision", "approve", **{name: '{"release": '})

    page = html.read(answer.text)
    assert answer.status_code == 422
    assert page.form("/decision").fields()[name] == '{"release": '
    assert page.all("textarea", aria_invalid="true")
    assert (await studio.reader.call(BOB, effect_id)).state == "held"


async def test_a_decided_call_has_no_edit_form(studio: Studio, bob: Visitor) -> None:
    session_id, _effect, wait_id = await studio.story.held()
    await studio.story.decide(session_id, wait_id, "deny", by="alice")

    page = await bob.open(f"/approvals/{wait_id}/edit", status=409)

    assert page.one("article").attrs["data-state"] == "denied"


# Large arguments --------------------------------------------------------------------------------


async def large(studio: Studio) -> tuple[str, str]:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    calls = {"tool": "publish_release", "arguments": {"text": "x" * 200_000, "last": "THE END"}}
    (effect_id,) = await studio.story.reply(session_id, "", calls)
    return effect_id, await studio.story.hold(session_id, effect_id)


async def test_arguments_that_are_cut_cannot_be_approved_from_the_card(
    studio: Studio, bob: Visitor
) -> None:
    effect_id, wait_id = await large(studio)
    shown = await card(bob, wait_id)

    answer = await bob.press(shown.form("/decision"), "decision", "approve")

    assert shown.all("button", value="approve") == []
    assert answer.status_code == 409
    assert (await studio.reader.call(BOB, effect_id)).state == "held"


async def test_the_whole_arguments_are_on_a_page_that_can_approve(
    studio: Studio, bob: Visitor
) -> None:
    effect_id, wait_id = await large(studio)
    page = await bob.open(f"/approvals/{wait_id}/whole")

    answer = await bob.press(page.form("/decision"), "decision", "approve")

    assert "THE END" in page.one("article").text
    assert answer.status_code == 303
    assert (await studio.reader.call(BOB, effect_id)).state == "ready"


async def test_hidden_characters_are_marked(studio: Studio, bob: Visitor) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    calls = {"tool": "publish_release", "arguments": {"file": "invoice\u202efdp.exe"}}
    (effect_id,) = await studio.story.reply(session_id, "", calls)
    wait_id = await studio.story.hold(session_id, effect_id)

    shown = await card(bob, wait_id)

    assert shown.all("span", class_="mark-char", data_code="U+202E")
    assert "hidden character" in shown.text
    (mark,) = shown.all("span", data_code="U+202E")
    assert shown.text.count("\u202e") == mark.text.count("\u202e")


async def test_what_nobody_can_read_can_only_be_denied(studio: Studio, bob: Visitor) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    calls = {"tool": "publish_release", "arguments": {"text": "a\u202e" * 50_000}}
    (effect_id,) = await studio.story.reply(session_id, "", calls)
    wait_id = await studio.story.hold(session_id, effect_id)

    shown = (await bob.open(f"/approvals/{wait_id}/whole")).one("article")
    answer = await bob.press(shown.form("/decision"), "decision", "approve")

    assert shown.all("button", value="approve") == []
    assert shown.all("button", value="deny") != []
    assert answer.status_code == 409
    assert (await studio.reader.call(BOB, effect_id)).state == "held"


async def test_arguments_too_large_for_a_form_are_not_edited(studio: Studio, bob: Visitor) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    calls = {"tool": "publish_release", "arguments": {"text": "x" * 300_000}}
    (effect_id,) = await studio.story.reply(session_id, "", calls)
    wait_id = await studio.story.hold(session_id, effect_id)

    page = await bob.open(f"/approvals/{wait_id}/edit", status=409)

    assert page.one("article").all("a", data_key="e") == []


# Questions and uncertain calls ------------------------------------------------------------------


async def test_a_question_is_answered_by_its_own_fields(studio: Studio, bob: Visitor) -> None:
    _session, wait_id = await asked(studio)
    form = (await card(bob, wait_id)).form("/decision")

    answer = await bob.press(form, "decision", "answer", **{f"{wait_id}.channel": '"staging"'})

    shown = await card(bob, wait_id)
    assert answer.status_code == 303
    assert shown.attrs["data-state"] == "answered"
    assert '"channel": "staging"' in shown.text


async def test_an_answer_that_does_not_fit_is_marked(studio: Studio, bob: Visitor) -> None:
    _session, wait_id = await asked(studio)
    form = (await card(bob, wait_id)).form("/decision")

    answer = await bob.press(form, "decision", "answer")

    assert answer.status_code == 422
    assert html.read(answer.text).all("select", aria_invalid="true")


async def test_an_uncertain_call_is_settled_by_a_person(studio: Studio, bob: Visitor) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    (effect_id,) = await studio.story.reply(session_id, "", {"tool": "charge_card"})
    wait_id = await studio.story.lose(session_id, effect_id)
    shown = await card(bob, wait_id)

    answer = await bob.press(shown.form("/decision"), "decision", "ran", reason="I saw it")

    assert shown.attrs["data-state"] == "uncertain"
    assert [x.text for x in shown.role("button")][:2] == ["It ran", "It did not run"]
    assert answer.status_code == 303
    assert "settled: it ran" in (await card(bob, wait_id)).text.lower()


# The list ---------------------------------------------------------------------------------------


async def test_the_oldest_stands_first(studio: Studio, bob: Visitor) -> None:
    await studio.story.held("First")
    await studio.story.held("Second")

    page = await bob.open("/approvals")

    titles = [item.text for item in page.one(id="list").all("p", class_="card__from")]
    assert ["First" in titles[0], "Second" in titles[1]] == [True, True]


async def test_open_and_decided_stand_apart(studio: Studio, bob: Visitor) -> None:
    session_id, _effect, wait_id = await studio.story.held("Done")
    await studio.story.decide(session_id, wait_id, "deny", reason="Not today")
    await studio.story.held("Waiting")

    opened = (await bob.open("/approvals")).one(id="list").text
    closed = (await bob.open("/approvals?state=closed")).one(id="list").text

    assert ("Waiting" in opened, "Done" in opened) == (True, False)
    assert ("Waiting" in closed, "Done" in closed, "Not today" in closed) == (False, True, True)


@pytest.mark.parametrize(
    "query,found",
    [
        ("agent=helper", True), ("agent=other", False), ("tool=publish_release", True),
        ("tool=other", False), ("plugin=release-kit", True), ("plugin=other", False),
        ("kind=approval", True), ("kind=question", False), ("q=2.4", True), ("q=zebra", False),
        ("age=1h", False),
    ],
)  # fmt: skip
async def test_the_list_is_narrowed_by_the_address(
    studio: Studio, bob: Visitor, query: str, found: bool
) -> None:
    await studio.story.held()

    page = await bob.open(f"/approvals?{query}")

    assert bool(page.one(id="list").all("article")) is found


async def test_a_cursor_of_another_list_is_refused_in_words(studio: Studio, bob: Visitor) -> None:
    answer = await bob.get("/approvals?cursor=nonsense")

    assert answer.status_code == 422
    assert "<h1>" in answer.text
