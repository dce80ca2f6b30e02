"""The policy: read in words, tried on recorded calls, replaced only by who saw the last one."""

import pytest

from tests.api.conftest import Studio
from tests.api.test_sessions import refusal

DENY = {"effect": "deny", "tool": "pay", "reason": "no payments"}


async def test_the_first_policy_is_empty(studio: Studio):
    policy = await studio.client("charlie").policy.show()

    assert (policy["version"], policy["rules"]) == (0, [])


async def test_a_saved_policy_is_read_in_words(studio: Studio):
    saved = await studio.client("alice").policy.save([DENY], version=0, note="quiet week")

    policy = await studio.client("bob").policy.show()
    assert (saved["version"], policy["version"], policy["note"]) == (1, 1, "quiet week")
    assert policy["rules"][0]["words"]
    assert policy["rules"][0]["rule"]["tool"] == "pay"


async def test_an_old_version_can_be_read_again(studio: Studio):
    alice = studio.client("alice")
    await alice.policy.save([DENY], version=0)
    await alice.policy.save([], version=1)

    assert (await alice.policy.show(version=1))["rules"][0]["effect"] == "deny"
    assert (await refusal(alice.policy.show(version=9))).status == 404


async def test_a_policy_that_moved_on_is_not_overwritten(studio: Studio):
    alice = studio.client("alice")
    await alice.policy.save([DENY], version=0)

    error = await refusal(alice.policy.save([], version=0))

    assert (error.status, error.code) == (409, "policy.changed")
    assert (await alice.policy.show())["version"] == 1


async def test_a_policy_is_not_saved_blindly(studio: Studio):
    response = await studio.raw("PUT", "/v1/policy", person="alice", json={"rules": []})

    assert response.status_code == 428


async def test_only_an_admin_saves_the_policy(studio: Studio):
    error = await refusal(studio.client("bob").policy.save([], version=0))

    assert error.status == 403


@pytest.mark.parametrize(
    "rule", [{}, {"effect": "maybe"}, {"effect": "ask", "colour": "red"}, 5, {"effect": 1}]
)
async def test_a_faulty_rule_is_told_by_its_path(studio: Studio, rule):
    error = await refusal(studio.client("alice").policy.save([{"effect": "ask"}, rule], version=0))

    assert error.status == 422
    assert all("1" in path for path in error.fields)
    assert error.fields


async def test_a_policy_is_tried_on_recorded_calls(studio: Studio):
    wait = await studio.held()

    tried = await studio.client("alice").policy.dry_run([DENY])

    assert (tried["total"], tried["changes"]) == (1, 1)
    (change,) = tried["items"]
    assert (change["effect_id"], change["before"], change["after"]) == (
        wait["effect_id"], "ask", "deny",
    )  # fmt: skip
    assert "denied" in tried["sentence"]
    assert (await studio.client("alice").policy.show())["version"] == 0


async def test_trying_a_policy_shows_nobody_a_private_call(studio: Studio):
    await studio.held(private=True)

    tried = await studio.client("dora").policy.dry_run([DENY])

    assert tried["items"] == []
