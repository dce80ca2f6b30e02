"""One answer for several cards: each a decision of its own, each told of truthfully."""

from typing import Any

import pytest

from studio.core.rules.access import Person
from studio.core.store import tables
from tests.web import html
from tests.web.conftest import Studio, Visitor

URL = "/approvals/decisions"
BOB = Person(id="bob", role="operator")


async def held(studio: Studio, arguments: Any = None, **more: Any) -> tuple[str, str]:
    """A held call in a session of its own; its effect and its wait."""
    session_id = await studio.story.session("Release 4.2")
    await studio.story.message(session_id)
    call = {"tool": "publish_release", "arguments": arguments or {"release": "4.2"}}
    (effect_id,) = await studio.story.reply(session_id, "", call)
    return effect_id, await studio.story.hold(session_id, effect_id, **more)


async def ticks(visitor: Visitor) -> dict[str, str]:
    """What each tick on the open list would send, by wait."""
    page = await visitor.open("/approvals?show=50")
    values = [box.attrs["value"] for box in page.all("input", name="ticked")]
    return {value.split(" ")[0]: value for value in values}


async def answer(
    visitor: Visitor, choice: str, values: list[str], reason: str = "", status: int = 200
) -> html.Element:
    sent = {"ticked": values, "decision": choice, "reason": reason}
    found = await visitor.post(URL, sent)
    assert found.status_code == status, found.text[:2000]
    return html.read(found.text)


def rows(page: html.Element) -> list[str]:
    return [row.text for row in page.all("tr", data_row="")]


async def states(studio: Studio, effects: list[str]) -> list[str]:
    return [(await studio.reader.call(BOB, effect_id)).state for effect_id in effects]


async def decisions(studio: Studio, wait_id: str) -> list[tuple[str, str, str]]:
    """Who decided this wait, how and why, as recorded."""
    wait = (await studio.reader.wait(BOB, wait_id)).wait
    facts = await studio.reader.events(BOB, wait.session_id)
    return [
        (fact.payload["by"], fact.payload["choice"], fact.payload["reason"])
        for fact in facts
        if fact.type == "decision.recorded"
    ]


async def test_several_are_approved_each_by_a_decision_of_its_own(
    studio: Studio, bob: Visitor
) -> None:
    calls = [await held(studio) for _ in range(3)]
    left = await held(studio)
    values = await ticks(bob)

    page = await answer(bob, "approve", [values[wait] for _, wait in calls], reason="begun")

    assert [("approved" in row, "It runs." in row) for row in rows(page)] == [(True, True)] * 3
    assert await states(studio, [effect for effect, _ in calls]) == ["ready"] * 3
    assert await states(studio, [left[0]]) == ["held"]
    for _, wait in calls:
        assert await decisions(studio, wait) == [("bob", "approve", "")]


async def test_several_are_denied_with_one_reason(studio: Studio, bob: Visitor) -> None:
    calls = [await held(studio) for _ in range(2)]
    values = await ticks(bob)

    page = await answer(bob, "deny", list(values.values()), reason="Not at night")

    assert "2 denied" in page.one("h1").text
    assert await states(studio, [effect for effect, _ in calls]) == ["denied"] * 2
    for _, wait in calls:
        assert await decisions(studio, wait) == [("bob", "deny", "Not at night")]
        assert page.all("a", href=f"/approvals/{wait}")


async def test_what_is_refused_is_told_and_the_rest_goes_on(
    studio: Studio, alice: Visitor, bob: Visitor
) -> None:
    deadline = studio.story.clock.now() + 60_000
    first, late, good = (
        await held(studio),
        await held(studio, deadline=deadline),
        await held(studio),
    )
    values = await ticks(bob)
    theirs = await ticks(alice)
    await answer(alice, "deny", [theirs[first[1]]], reason="no")
    studio.story.clock.told += 120_000

    page = await answer(bob, "approve", [values[wait] for _, wait in (first, late, good)])

    told = rows(page)
    assert "1 approved, 2 refused" in page.one("h1").text
    assert "refused Already denied by alice" in told[0]
    assert "expired before your answer came" in told[1]
    assert "It runs." in told[2]
    assert await decisions(studio, first[1]) == [("alice", "deny", "no")]


@pytest.mark.parametrize("change", ["token", "digest", "swapped", "missing"])
async def test_each_call_needs_its_own_token_and_digest(
    studio: Studio, bob: Visitor, change: str
) -> None:
    one, other = await held(studio), await held(studio)
    values = await ticks(bob)
    (wait, digest, token), (_, _, foreign) = (values[w].split(" ") for _, w in (one, other))
    sent = {
        "token": f"{wait} {digest} forged", "digest": f"{wait} {'0' * 64} {token}",
        "swapped": f"{wait} {digest} {foreign}", "missing": wait,
    }[change]  # fmt: skip

    page = await answer(bob, "approve", [sent, values[other[1]]])

    assert "1 approved, 1 refused" in page.one("h1").text
    assert await states(studio, [one[0], other[0]]) == ["held", "ready"]
    assert token not in page.text


async def test_a_call_that_changed_since_is_not_denied_again_unseen(
    studio: Studio, bob: Visitor
) -> None:
    _effect, wait_id = await held(studio)
    secret = studio.tokens.read_cookie(bob.http.cookies["studio"])
    token = studio.runtime.decision_token(bob.person, wait_id, "0" * 64, str(secret))

    page = await answer(bob, "deny", [f"{wait_id} {'0' * 64} {token}"], "because", status=409)

    assert "changed since you looked" in rows(page)[0]
    assert page.all("input", name="ticked") == []
    assert "because" in page.one("pre").text


async def test_a_refused_reason_is_kept_and_can_be_sent_again(studio: Studio, bob: Visitor) -> None:
    calls = [await held(studio) for _ in range(2)]
    values = await ticks(bob)

    page = await answer(bob, "deny", list(values.values()), "x" * 5_000, status=413)

    form = page.form("/decisions")
    again = [box.attrs["value"] for box in form.all("input", name="ticked")]
    assert form.fields()["reason"] == "x" * 5_000
    assert await states(studio, [effect for effect, _ in calls]) == ["held"] * 2
    await answer(bob, "deny", again, "shorter")
    assert await states(studio, [effect for effect, _ in calls]) == ["denied"] * 2


async def test_one_of_two_people_is_told_that_another_is_waited_for(
    studio: Studio, alice: Visitor, bob: Visitor
) -> None:
    effect_id, _wait = await held(studio, approvers=2)
    values, theirs = await ticks(bob), await ticks(alice)

    first = await answer(bob, "approve", list(values.values()))
    twice = await answer(bob, "approve", list((await ticks(bob)).values()), status=403)
    assert await states(studio, [effect_id]) == ["held"]
    last = await answer(alice, "approve", list(theirs.values()))

    assert "1 of 2" in rows(first)[0]
    assert "waits for another person" in rows(first)[0]
    assert "You approved this already" in rows(twice)[0]
    assert "It runs." in rows(last)[0]


async def test_whoever_may_not_approve_may_tick_to_deny(studio: Studio, alice: Visitor) -> None:
    effect_id, _wait = await held(studio, not_own=True)
    page = await alice.open("/approvals")
    (box,) = page.all("input", name="ticked")

    refused = await answer(alice, "approve", [box.attrs["value"]], status=403)

    assert box.attrs["data-tick"] == "deny"
    assert "your own session" in rows(refused)[0]
    assert await states(studio, [effect_id]) == ["held"]


async def test_what_the_list_does_not_show_whole_is_not_approved_from_it(
    studio: Studio, bob: Visitor
) -> None:
    large, _ = await held(studio, {"text": "x" * 200_000})
    hidden, _ = await held(studio, {"file": "invoice\u202efdp.exe"})
    plain, _ = await held(studio)
    page = await bob.open("/approvals")
    boxes = page.all("input", name="ticked")

    told = rows(await answer(bob, "approve", [boxes[0].attrs["value"]], status=409))

    assert ["disabled" in box.attrs for box in boxes] == [True, True, False]
    assert [box.attrs["data-tick"] for box in boxes] == ["deny", "approve", "approve"]
    whys = [item.text for item in page.all("p", class_="card__alone")]
    assert whys == [
        "Answered on its own card alone: its arguments are longer than the card shows.",
        "Answered on its own card alone: its arguments hide or mislead.",
    ]
    assert "longer than the card shows" in told[0]
    assert await states(studio, [large, hidden, plain]) == ["held"] * 3


async def test_what_misleads_is_approved_from_the_list_only_when_it_was_read(
    studio: Studio, bob: Visitor
) -> None:
    hidden, wait_id = await held(studio, {"file": "invoice\u202efdp.exe"})
    (value,) = (await ticks(bob)).values()
    sent = {"ticked": [value], "decision": "approve", "read": ["wai_other"]}

    refused = await bob.post(URL, sent)
    between = await states(studio, [hidden])
    taken = await bob.post(URL, {**sent, "read": [wait_id]})

    assert refused.status_code == 409
    assert "its arguments hide or mislead. Approve it on its own card." in refused.text
    assert between == ["held"]
    assert taken.status_code == 200
    assert await states(studio, [hidden]) == ["ready"]


@pytest.mark.parametrize("choice", ["approve", "deny"])
async def test_a_fault_midway_hides_nothing_that_was_recorded(
    studio: Studio, bob: Visitor, choice: str, caplog: pytest.LogCaptureFixture
) -> None:
    calls = [await held(studio) for _ in range(3)]
    values = await ticks(bob)
    broken = tables.waits.update().where(tables.waits.c.id == calls[1][1])
    await studio.db.touch(lambda conn: conn.execute(broken.values(approved_by="no JSON")))

    page = await answer(bob, choice, [values[wait] for _, wait in calls])

    told, done = rows(page), {"approve": "It runs.", "deny": "It does not run."}[choice]
    assert done in told[0]
    assert done in told[2]
    assert "A call that cannot be shown now" in told[1]
    assert page.all("a", href=f"/approvals/{calls[1][1]}")
    is_recorded = choice == "deny"
    assert (done in told[1]) is is_recorded
    assert ("Your answer was not recorded." in told[1]) is not is_recorded
    after = {"approve": ["ready", "held", "ready"], "deny": ["denied"] * 3}[choice]
    assert await states(studio, [effect for effect, _ in calls]) == after
    assert "JSONDecodeError" in caplog.text


@pytest.mark.parametrize(
    "choice, many, status",
    [("approve", 0, 422), ("", 1, 422), ("ran", 1, 422), ("deny", 51, 413)],
)
async def test_what_is_no_answer_to_several_decides_nothing_and_keeps_the_reason(
    studio: Studio, bob: Visitor, choice: str, many: int, status: int
) -> None:
    effect_id, wait_id = await held(studio)
    values = [*(await ticks(bob)).values(), *(f"wai_{n} d t" for n in range(50))][:many]

    page = await answer(bob, choice, values, "typed at night", status=status)

    assert page.one("div", role="alert", data_kind="bad").text
    assert page.form("/decisions").fields()["reason"] == "typed at night"
    assert await states(studio, [effect_id]) == ["held"]
    assert wait_id in str(page.one("input", name="ticked").attrs["value"])


async def test_a_get_and_another_site_decide_nothing(studio: Studio, bob: Visitor) -> None:
    effect_id, _wait = await held(studio)
    (value,) = (await ticks(bob)).values()

    by_link = await bob.http.get(URL, params={"ticked": value, "decision": "approve"})
    foreign = await bob.http.post(
        URL, data={"ticked": value, "decision": "approve"},
        headers={"Sec-Fetch-Site": "cross-site"},
    )  # fmt: skip

    assert (by_link.status_code, foreign.status_code) == (303, 403)
    assert by_link.headers["location"] == "/approvals"
    assert value.split(" ")[2] not in foreign.text
    assert await states(studio, [effect_id]) == ["held"]


async def test_a_viewer_has_no_ticks_and_is_refused(
    studio: Studio, bob: Visitor, charlie: Visitor
) -> None:
    effect_id, _wait = await held(studio)
    (value,) = (await ticks(bob)).values()

    page = await charlie.open("/approvals")
    refused = await charlie.post(URL, {"ticked": value, "decision": "approve"})

    assert page.all("input", name="ticked") == []
    assert page.all("form", id="bulk") == []
    assert refused.status_code == 403
    assert await states(studio, [effect_id]) == ["held"]


async def test_a_strangers_private_call_is_not_told_of(studio: Studio, bob: Visitor) -> None:
    _session, _effect, wait_id = await studio.story.held("Secret plan", private=True)

    page = await answer(bob, "deny", [f"{wait_id} {'0' * 64} t"], status=404)

    assert "Secret plan" not in page.text
    assert "no such wait" in rows(page)[0]


async def test_a_call_ticked_twice_is_answered_once(studio: Studio, bob: Visitor) -> None:
    await held(studio)
    (value,) = (await ticks(bob)).values()

    assert len(rows(await answer(bob, "approve", [value, value]))) == 1


async def test_filters_stay_and_fifty_stand_on_a_page(studio: Studio, bob: Visitor) -> None:
    for _ in range(17):
        await held(studio)

    few = await bob.open("/approvals?tool=publish_release")
    many = await bob.open("/approvals?tool=publish_release&show=50")

    assert len(few.all("input", name="ticked")) == 15
    assert few.one("a", href="/approvals?tool=publish_release&show=50").text == "50 on a page"
    assert len(many.all("input", name="ticked")) == 17
    assert many.one("form", id="bulk").attrs["action"].endswith("tool=publish_release&show=50")


async def test_the_words_of_others_are_text_in_the_results(studio: Studio, bob: Visitor) -> None:
    session_id = await studio.story.session("<form action=/evil><b data-evil>")
    await studio.story.message(session_id)
    call = {"tool": "publish_release", "arguments": {"note": "</td><script data-evil>1</script>"}}
    (effect_id,) = await studio.story.reply(session_id, "", call)
    await studio.story.hold(session_id, effect_id)

    page = await answer(bob, "deny", list((await ticks(bob)).values()), "<b data-evil>no")

    assert "<form action=/evil><b data-evil>" in rows(page)[0]
    assert page.all(data_evil="") == []
    assert page.all("form", action="/evil") == []
