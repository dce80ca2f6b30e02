from typing import Any

import pytest

from studio.core.reader import Reader
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from tests.core.projections.story import ASKS, START, Story

ALLOWS = {"effect": "allow", "tool": "read_*"}
ASKING = {"effect": "ask", "tool": "publish_*", "reason": "Look twice."}


async def save(story: Story, version: int, *rules: dict[str, Any], note: str = "") -> None:
    saved = e.PolicySaved(version=version, rules=list(rules), by="ada", note=note)
    await story.journal.commit_other(
        "policy", lambda _: [saved], at=START + version, actor="operator:ada"
    )


async def test_store_without_a_policy_has_the_empty_one(
    story: Story, reader: Reader, charlie: Person
) -> None:
    view = await reader.policy(charlie)

    assert (view.version, view.latest, view.rules, view.json) == (0, 0, (), [])


async def test_rules_are_shown_in_words_beside_their_json(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await save(story, 1, ALLOWS, ASKING, note="First.")

    view = await reader.policy(charlie)

    assert [(rule.number, rule.effect, rule.words, rule.reason) for rule in view.rules] == [
        (1, "allow", "allows tool read_*", None),
        (2, "ask", "asks for tool publish_*", "Look twice."),
    ]
    assert [rule.rule for rule in view.rules] == view.json == [ALLOWS, ASKING]
    assert (view.by, view.time, view.note) == ("ada", START + 1, "First.")


async def test_rule_tells_when_a_call_last_met_it_in_this_version(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await save(story, 1, ALLOWS, ASKING)
    session_id = await story.session()
    await story.message(session_id)
    earlier = e.Ruling(verdict="ask", policy_version=0, rules=(ASKS,))
    await story.reply(session_id, "", {"tool": "publish_release"})
    met = story.clock.told
    await story.reply(session_id, "", {"tool": "publish_release", "ruling": earlier})

    view = await reader.policy(charlie)

    assert [rule.used for rule in view.rules] == [None, met]


async def test_earlier_version_is_kept_as_it_was(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await save(story, 1, ALLOWS)
    await save(story, 2, ASKING, note="Stricter.")

    view = await reader.policy(charlie, 1)

    assert (view.version, view.latest, view.json) == (1, 2, [ALLOWS])
    assert [(row.version, row.note) for row in view.versions] == [(2, "Stricter."), (1, "")]


async def test_version_that_never_was_is_not_found(
    story: Story, reader: Reader, charlie: Person
) -> None:
    with pytest.raises(NotFound):
        await reader.policy(charlie, 7)
