"""The policy: read in words, tried before it is saved, and nothing typed is lost."""

import json

import pytest

from tests.web import html
from tests.web.conftest import RULES, Studio, Visitor

DENY = {"effect": "deny", "tool": "publish_*", "reason": "Not at all."}


async def test_rules_are_read_in_words(alice: Visitor) -> None:
    text = (await alice.open("/policy")).one(id="main").text

    assert "asks for tool publish_*" in text
    assert "Look twice." in text


@pytest.mark.parametrize("path", ["/policy/edit", "/keys"])
async def test_only_admins_change_it(alice: Visitor, path: str) -> None:
    assert (await alice.get(path)).status_code == 403
    assert path not in [a.attrs["href"] for a in (await alice.open("/policy")).role("link")]


async def test_a_draft_is_tried_on_recorded_calls(studio: Studio, ada: Visitor) -> None:
    _session, effect_id, _wait = await studio.story.held()
    form = (await ada.open("/policy/edit")).form("/policy")

    sent = form.fields() | {"rules": json.dumps([DENY]), "step": "try"}
    answer = await ada.post("/policy/draft", sent)

    page = html.read(answer.text)
    assert "1 would have been denied instead of held" in page.one(id="main").text
    assert page.role("link", "publish_release")[0].attrs["href"] == f"/calls/{effect_id}"
    assert (await studio.reader.policy(ada.person)).version == 1


async def test_a_tried_draft_is_saved_as_the_next_version(studio: Studio, ada: Visitor) -> None:
    form = (await ada.open("/policy/edit")).form("/policy")

    answer = await ada.press(form, rules=json.dumps([DENY]), note="Too risky")

    saved = await studio.reader.policy(ada.person)
    assert answer.status_code == 303
    assert (saved.version, saved.note) == (2, "Too risky")


@pytest.mark.parametrize(
    "rules,words",
    [
        ("[{", "line 1"), ('[{"effect": "maybe"}]', "must be one of"), ("{}", "needed"),
        ("[" * 5_000, "nested"),
    ],
)  # fmt: skip
async def test_a_wrong_draft_is_kept_and_marked(ada: Visitor, rules: str, words: str) -> None:
    form = (await ada.open("/policy/edit")).form("/policy")

    answer = await ada.press(form, rules=rules)

    page = html.read(answer.text)
    assert answer.status_code == 422
    assert page.form("/policy").fields()["rules"] == rules
    assert words in page.one(id="main").one(role="alert").text


async def test_a_policy_that_moved_meanwhile_is_not_overwritten(
    studio: Studio, ada: Visitor
) -> None:
    form = (await ada.open("/policy/edit")).form("/policy")
    await studio.runtime.save_policy(ada.person, RULES, expect=1)

    answer = await ada.press(form, rules=json.dumps([DENY]))

    page = html.read(answer.text)
    assert answer.status_code == 409
    assert "Not at all." in page.form("/policy").fields()["rules"]
    assert (await studio.reader.policy(ada.person)).version == 2


async def test_a_rule_is_added_to_the_draft_by_fields(studio: Studio, ada: Visitor) -> None:
    form = (await ada.open("/policy/edit")).form("/policy")

    sent = form.fields() | {"step": "add", "rule-effect": "deny", "rule-tool": "delete_*"}
    answer = await ada.post("/policy/draft", sent)

    drafted = json.loads(html.read(answer.text).form("/policy").fields()["rules"])
    assert drafted[-1] == {"effect": "deny", "tool": "delete_*"}
    assert (await studio.reader.policy(ada.person)).version == 1


async def test_removing_a_rule_is_a_draft_first(studio: Studio, ada: Visitor) -> None:
    form = (await ada.open("/policy/edit?without=1")).form("/policy")

    assert json.loads(form.fields()["rules"]) == []
    assert (await studio.reader.policy(ada.person)).version == 1
