"""Approvals: what was shown is what is decided, once, and everybody else is told."""

from typing import Any

import pytest

import api_client
from api_client.shapes import Approval
from tests.api.conftest import PAY, Studio
from tests.api.test_sessions import refusal
from tests.fakes import tool


async def decide(studio: Studio, wait: Approval, choice: str, person: str = "bob", **more: Any):
    digest = more.pop("digest", wait["digest"])
    return await studio.client(person).approvals.decide(wait["id"], choice, digest=digest, **more)


async def test_a_held_call_is_listed_with_where_it_comes_from(studio: Studio):
    await studio.held()

    (wait,) = await studio.approvals()

    assert (wait["kind"], wait["state"], wait["tool"]) == ("approval", "open", "pay")
    assert (wait["plugin"], wait["agent"], wait["owner"]) == ("ledger", "helper", "key:bob")
    assert wait["call"]["peek"] == '{"amount": 5}'


async def test_a_wait_shows_exactly_what_would_run(studio: Studio):
    wait = await studio.held()

    detail = await studio.client("bob").approvals.show(wait["id"])

    assert detail["arguments"] == {"amount": 5}
    assert detail["proposed"] == {"amount": 5}
    assert detail["schema"] == PAY
    assert detail["rules"]
    assert detail["may_decide"] is True
    assert detail["decided"] is None


async def test_the_entity_tag_of_a_wait_is_its_digest(studio: Studio):
    wait = await studio.held()

    response = await studio.raw("GET", f"/v1/approvals/{wait['id']}")

    assert response.headers["etag"] == f'"{wait["digest"]}"'


async def test_a_viewer_sees_that_they_may_not_decide_and_may_not(studio: Studio):
    wait = await studio.held()

    detail = await studio.client("charlie").approvals.show(wait["id"])
    error = await refusal(decide(studio, wait, "approve", "charlie"))

    assert detail["may_decide"] is False
    assert detail["why_not"]
    assert error.status == 403


async def test_an_approval_without_if_match_is_told_what_to_send(studio: Studio):
    wait = await studio.held()

    response = await studio.raw(
        "POST", f"/v1/approvals/{wait['id']}/decision", json={"choice": "approve"}
    )

    assert response.status_code == 428
    assert response.json()["error"]["code"] == "if_match.missing"
    assert "digest" in response.json()["error"]["message"]


@pytest.mark.parametrize("tag", ["*", 'W/"{0}"', "{0}", '"{0}", "{0}"', '"', ""])
async def test_if_match_must_name_the_one_digest(studio: Studio, tag):
    wait = await studio.held()

    response = await studio.raw(
        "POST", f"/v1/approvals/{wait['id']}/decision", json={"choice": "approve"},
        headers={"If-Match": tag.format(wait["digest"])},
    )  # fmt: skip

    assert response.status_code == 422
    assert response.json()["error"]["code"] == "if_match.invalid"


async def test_an_old_digest_decides_nothing(studio: Studio):
    wait = await studio.held()

    error = await refusal(decide(studio, wait, "approve", digest="0" * 64))

    assert isinstance(error, api_client.DecisionChanged)
    assert error.status == 409
    assert error.details == {"shown": "0" * 64, "current": wait["digest"]}
    assert (await studio.approvals())[0]["state"] == "open"


async def test_an_approved_call_runs_as_it_was_shown(studio: Studio):
    wait = await studio.held()
    pay = studio.core.catalog.tools["pay"]

    decided = await decide(studio, wait, "approve")
    await studio.over(wait["session_id"])

    assert decided == {
        "wait_id": wait["id"], "session_id": wait["session_id"], "choice": "approve",
        "closed": True, "approvals": 1, "needed": 1,
    }  # fmt: skip
    assert [arguments for arguments, _ in pay.calls] == [{"amount": 5}]  # type: ignore[attr-defined]


async def test_a_denied_call_never_runs(studio: Studio):
    wait = await studio.held()
    pay = studio.core.catalog.tools["pay"]

    await decide(studio, wait, "deny", reason="too much")
    await studio.over(wait["session_id"])

    assert pay.calls == []  # type: ignore[attr-defined]
    detail = await studio.client("bob").approvals.show(wait["id"])
    assert detail["decided"] is not None
    assert (detail["decided"]["by"], detail["decided"]["reason"]) == ("key:bob", "too much")


async def test_edited_arguments_run_instead(studio: Studio):
    wait = await studio.held()
    pay = studio.core.catalog.tools["pay"]

    await decide(studio, wait, "approve", arguments={"amount": 3})
    await studio.over(wait["session_id"])

    assert [arguments for arguments, _ in pay.calls] == [{"amount": 3}]  # type: ignore[attr-defined]


async def test_edited_arguments_that_do_not_fit_are_refused_by_their_fields(studio: Studio):
    wait = await studio.held()

    error = await refusal(decide(studio, wait, "approve", arguments={"amount": "much"}))

    assert (error.status, error.code) == (422, "arguments.invalid")
    assert list(error.fields) == ["amount"]


async def test_null_arguments_are_an_edit_and_not_its_absence(studio: Studio):
    wait = await studio.held()

    error = await refusal(decide(studio, wait, "approve", arguments=None))

    assert (error.status, error.code) == (422, "arguments.invalid")


@pytest.mark.parametrize(
    "choice, extra, field",
    [
        ("deny", {"arguments": {}}, "arguments"),
        ("approve", {"answer": 1}, "answer"),
        ("ran", {"answer": 1}, "answer"),
        ("answer", {"answer": 1}, "choice"),
        ("ran", {}, "choice"),
    ],
)
async def test_an_answer_that_does_not_fit_the_question_is_refused(studio, choice, extra, field):
    wait = await studio.held()

    error = await refusal(decide(studio, wait, choice, **extra))

    assert error.status == 422
    assert list(error.fields) == [field]


async def test_the_second_decision_is_told_who_was_first_and_when(studio: Studio):
    wait = await studio.held()
    await decide(studio, wait, "deny", "dora")

    error = await refusal(decide(studio, wait, "approve"))

    assert isinstance(error, api_client.Decided)
    assert error.status == 409
    assert (error.by, error.choice) == ("key:dora", "deny")
    assert error.at.endswith("Z")
    assert "key:dora" in error.message


async def test_a_repeated_decision_gets_its_first_answer_again(studio: Studio):
    wait = await studio.held()

    first = await decide(studio, wait, "approve", key="k1")
    again = await decide(studio, wait, "approve", key="k1")

    assert first == again


async def test_a_used_key_with_another_decision_is_refused(studio: Studio):
    wait = await studio.held()
    await decide(studio, wait, "approve", key="k1")

    error = await refusal(decide(studio, wait, "deny", key="k1"))

    assert isinstance(error, api_client.IdempotencyMismatch)


async def test_after_its_deadline_a_call_cannot_be_decided(studio: Studio):
    alice = studio.client("alice")
    rule = {"effect": "ask", "tool": "pay", "expires_seconds": 60}
    await alice.policy.save([rule], version=0)
    wait = await studio.held()
    studio.core.clock.pass_time(61_000)

    error = await refusal(decide(studio, wait, "approve"))

    assert isinstance(error, api_client.Expired)
    assert (error.status, error.code) == (410, "decision.expired")
    assert str(error.details["at"]).endswith("Z")


@pytest.mark.parametrize("more", [{"not_own": True}, {"approvers": 2}])
async def test_a_key_approves_nothing_that_wants_people_but_may_deny_it(studio: Studio, more):
    await studio.client("alice").policy.save([{"effect": "ask", "tool": "pay", **more}], version=0)
    wait = await studio.held()

    error = await refusal(decide(studio, wait, "approve", "dora"))
    denied = await decide(studio, wait, "deny", "dora")

    assert (error.status, error.code) == (403, "decision.key")
    assert denied["closed"] is True


async def test_a_wait_of_somebody_elses_private_session_is_not_found(studio: Studio):
    wait = await studio.held(private=True)

    shown = await refusal(studio.client("dora").approvals.show(wait["id"]))
    decided = await refusal(decide(studio, wait, "approve", "dora"))
    never = await refusal(studio.client("dora").approvals.show("wai_none"))

    assert shown.status == decided.status == 404
    assert (shown.code, shown.message) == (never.code, never.message)
    assert await studio.approvals(person="dora") == []


async def test_waits_are_filtered(studio: Studio):
    wait = await studio.held()

    found = {
        name: [one["id"] for one in await studio.approvals(**filters)]
        for name, filters in {
            "tool": {"tool": "pay"},
            "another tool": {"tool": "look"},
            "plugin": {"plugin": "ledger"},
            "another plugin": {"plugin": "other"},
            "agent": {"agent": "helper"},
            "kind": {"kind": "question"},
            "closed": {"state": "closed"},
            "old": {"older_than": 3_600},
            "text": {"q": "amount"},
        }.items()
    }

    assert found == {
        "tool": [wait["id"]], "another tool": [], "plugin": [wait["id"]], "another plugin": [],
        "agent": [wait["id"]], "kind": [], "closed": [], "old": [], "text": [wait["id"]],
    }  # fmt: skip


async def test_a_question_is_answered(studio: Studio):
    async with studio.core.working():
        session_id = await studio.session('call ask_person {"prompt": "Which one?"}')
        await studio.core.held(session_id)
    (wait,) = await studio.approvals(kind="question")

    decided = await decide(studio, wait, "answer", answer={"answer": "the second"})

    assert wait["prompt"] == "Which one?"
    assert (decided["choice"], decided["closed"]) == ("answer", True)


async def test_a_decision_of_a_wait_that_is_not_there_is_not_found(studio: Studio):
    error = await refusal(
        studio.client("bob").approvals.decide("wai_none", "approve", digest="0" * 64)
    )

    assert error.status == 404


async def test_a_large_argument_is_shown_whole(studio: Studio):
    text = "x" * 100_000
    studio.core.offer(tool("note"))
    async with studio.core.working():
        session_id = await studio.session(f'call note {{"text": "{text}"}}')
        await studio.core.held(session_id)
    (wait,) = await studio.approvals(session=session_id)

    detail = await studio.client("bob").approvals.show(wait["id"])

    assert detail["arguments"] == {"text": text}
    assert detail["readable"] is True
