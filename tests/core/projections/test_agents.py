from typing import Any

import pytest

from studio.core.reader import AgentView, Reader, ToolView
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.store import listings
from tests.core.projections.story import AGENT, START, Story

LISTED = {
    "name": "publish_release", "description": "Publish.", "schema": {"type": "object"},
    "kind": "mcp", "server": "ledger", "plugin": "release-kit", "plugin_version": "1.2.0",
    "destination": "ledger", "read_only": False, "repeatable": True, "hash": "3" * 64,
}  # fmt: skip


async def save(story: Story, version: int = 1, **changes: Any) -> None:
    manifest = {**AGENT, **changes}
    saved = e.AgentSaved(
        name=manifest["name"], version=version, manifest=manifest, digest=f"d{version}", by="ada"
    )
    await story.journal.commit_other(
        "agents", lambda _: [saved], at=START + version, actor="operator:ada"
    )


async def rule(story: Story, *rules: dict[str, Any]) -> None:
    saved = e.PolicySaved(version=1, rules=list(rules), by="ada")
    await story.journal.commit_other("policy", lambda _: [saved], at=START, actor="operator:ada")


def tool(view: AgentView, name: str) -> ToolView:
    return next(tool for tool in view.tools if tool.name == name)


async def test_agents_are_listed_by_name_in_their_newest_version(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await save(story, name="scribe", tools=[], servers=[], plugins=[])
    await save(story)
    await save(story, 2, description="Helps better.")

    helper, scribe = await reader.agents(charlie)

    assert (helper.name, helper.version, helper.description) == ("helper", 2, "Helps better.")
    assert (helper.provider, helper.model, helper.by) == ("scripted", "steady", "ada")
    assert (helper.tools, helper.servers, helper.plugins) == (1, 1, ("release-kit",))
    assert (scribe.name, scribe.tools, scribe.servers) == ("scribe", 0, 0)


async def test_agent_no_worker_has_listed_shows_what_its_manifest_describes(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await save(story)

    view = await reader.agent(charlie, "helper")

    assert [(item.name, item.kind, item.destination) for item in view.tools] == [
        ("notify_team", "http", "POST https://chat.example/notes")
    ]
    assert view.tools[0].schema == {"type": "object"}
    assert [gap.source for gap in view.gaps] == ["server ledger", "plugin release-kit"]
    assert view.listed is None


async def test_agent_shows_the_tools_a_worker_found_and_what_was_missing(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await save(story)
    gap = {"source": "server remote", "message": "It does not answer."}
    await story.db.touch(lambda conn: listings.save(conn, "helper", 1, [LISTED], [gap], START))

    view = await reader.agent(charlie, "helper")

    found = tool(view, "publish_release")
    assert found.origin == "server ledger of plugin release-kit"
    assert (found.plugin_version, found.repeatable, found.read_only) == ("1.2.0", True, False)
    assert [(gap.source, gap.message) for gap in view.gaps] == [
        ("server remote", "It does not answer.")
    ]
    assert view.listed == START


async def test_older_listing_does_not_undo_a_newer_one(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await save(story)
    for at, tools in ((START + 1, [LISTED]), (START, [])):
        await story.db.touch(
            lambda conn, at=at, tools=tools: listings.save(conn, "helper", 1, tools, [], at)
        )

    view = await reader.agent(charlie, "helper")

    assert (len(view.tools), view.listed) == (1, START + 1)


@pytest.mark.parametrize(
    "rules, verdict, words",
    [
        ([], "ask", "default policy"),
        ([{"effect": "allow", "tool": "notify_*"}], "allow", "rule 1"),
        ([{"effect": "deny", "kind": "http"}], "deny", "rule 1"),
        (
            [
                {"effect": "allow", "tool": "*"},
                {"effect": "ask", "when": [{"field": "channel", "op": "equals", "value": "all"}]},
            ],
            "depends",
            "rule 2",
        ),
    ],
)  # fmt: skip
async def test_tool_shows_what_the_policy_would_say_and_why(
    small_story: Story, asked: tuple[Reader, Any], charlie: Person,
    rules: list[dict[str, Any]], verdict: str, words: str,
) -> None:  # fmt: skip
    await save(small_story)
    await rule(small_story, *rules)

    view = await asked[0].agent(charlie, "helper")

    assert tool(view, "notify_team").verdict == verdict
    assert words in tool(view, "notify_team").sentence


async def test_earlier_version_of_an_agent_is_kept_as_it_was(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await save(story)
    await save(story, 2, instructions="Help more.")

    view = await reader.agent(charlie, "helper", 1)

    assert (view.version, view.latest, view.digest) == (1, 2, "d1")
    assert view.manifest["instructions"] == "Help."
    assert [(row.version, row.by) for row in view.versions] == [(2, "ada"), (1, "ada")]


async def test_agent_or_version_that_never_was_is_not_found(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await save(story)

    for name, version in (("nobody", None), ("helper", 3)):
        with pytest.raises(NotFound) as missing:
            await reader.agent(charlie, name, version)
        assert missing.value.code == "agent.not_found"


async def test_a_plugin_that_a_version_adds_is_judged_by_what_another_agent_was_listed_with(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await save(story, plugins=[])
    await save(story, name="other", plugins=["release-kit"])
    await save(story, 2, plugins=["release-kit"])
    await story.db.touch(lambda conn: listings.save(conn, "other", 1, [LISTED], [], START))

    found = await reader.agent_diff(charlie, "helper", 1, 2)

    rows = {row.tool: (row.change, row.before, row.after) for row in found.verdicts}
    assert rows["publish_release"] == ("added", "", "ask")
