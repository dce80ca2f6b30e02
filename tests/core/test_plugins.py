"""Plugins as people use them: put here, used by an agent, updated while a call is held, removed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from studio import app
from studio.core.rules.errors import Denied, Gone, Invalid, NotFound, Refused
from studio.core.rules.session import Session
from studio.core.tools.plugins import Plugin, Plugins
from studio.core.work.plugins import KEPT_SECONDS, StoredPlugins
from tests.core.conftest import ALICE, BOB, CHARLIE, Core
from tests.core.packages import zips

ROOT = Path(__file__).parents[2]
AGENT = {
    "name": "kitted", "description": "Uses the kit.", "instructions": "Help.",
    "model": {"provider": "scripted", "name": "scripted"}, "plugins": ["kit"],
}  # fmt: skip
SERVER = {
    "name": "stand", "transport": "stdio", "timeout": 20, "env": {"PYTHONPATH": str(ROOT)},
    "command": ["${python}", "-m", "tests.standins.mcp_server", "--mode", "plain"],
}  # fmt: skip


def kit(version: str = "1.0", skill: str = zips.SKILL, **more: Any) -> bytes:
    files = zips.files(version=version, servers=[SERVER], **more)
    return zips.packed({**files, "skills/notes/SKILL.md": skill.encode()})


@asynccontextmanager
async def working(core: Core) -> AsyncIterator[None]:
    """A worker of the studio itself, with real hands."""
    worker = app.worker(core.parts)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        yield
        running.cancel()
    await worker.close()


@pytest.fixture
async def kitted(core: Core) -> Core:
    await core.runtime.put_plugin(ALICE, kit())
    await core.runtime.save_agent(ALICE, AGENT)
    return core


async def start(core: Core, message: str) -> str:
    done = await core.runtime.start_session(BOB, agent="kitted", message=message)
    return str(done.session_id)


def calls(session: Session) -> list[Any]:
    assert session.turn is not None
    return list(session.turn.calls.values())


async def test_a_skill_is_told_loaded_and_read_with_its_plugin_s_badge(kitted: Core) -> None:
    say = (
        'call load_skill {"skill": "notes"}\nthen\n'
        'call read_skill_resource {"skill": "notes", "path": "examples/long.md"}\nthen\nsay done'
    )
    async with working(kitted):
        session = await kitted.over(await start(kitted, say))

    load, read = calls(session)
    assert (load.state, read.state) == ("succeeded", "succeeded")
    assert (load.origin.kind, load.origin.plugin, load.origin.plugin_version) == (
        "platform", "kit", "1.0",
    )  # fmt: skip
    assert "# Notes" in load.result.value
    assert read.result.value.endswith("# An example\n")
    assert "the skill notes@" in load.destination
    rows = (await kitted.parts.reader.plugin_calls(BOB, "kit")).items
    assert [row.tool for row in rows] == ["read_skill_resource", "load_skill"]
    view = await kitted.parts.reader.plugin(BOB, "kit")
    assert (view.row.counts.calls, view.row.counts.succeeded) == (2, 2)
    assert [user.name for user in view.users] == ["kitted"]
    assert {tool["name"] for tool in view.servers[0].tools} >= {"echo"}


async def test_the_model_s_instructions_name_the_skill_and_the_preview_agrees(
    kitted: Core,
) -> None:
    async with working(kitted):
        session = await kitted.over(await start(kitted, "say hi"))
        preview = await kitted.runtime.preview_message(BOB, session.id, "say again")
        await kitted.runtime.send_message(BOB, session.id, "say again")
        session = await kitted.until(
            session.id, lambda s: s.turn is not None and s.turn.number == 2 and s.turn.is_over
        )

    assert "- notes: Writes notes." in preview.instructions
    asked = [f.event for f in await kitted.facts(session.id) if f.event.TYPE == "model.requested"]
    assert asked[-1].request_hash == preview.digest


async def test_a_held_call_of_an_updated_plugin_is_not_sent_and_is_told_why(kitted: Core) -> None:
    rules = [{"effect": "ask", "tool": "echo"}]
    await kitted.runtime.save_policy(ALICE, rules, expect=0)
    async with working(kitted):
        session = await kitted.held(await start(kitted, 'call echo {"text": "x"}\nthen\nsay done'))
        plan = await kitted.runtime.put_plugin(
            ALICE, kit("1.1", description="Helps more."), dry_run=True
        )
        assert any("1 held call of its tools" in words for words in plan.warnings)
        await kitted.runtime.put_plugin(ALICE, kit("1.1", description="Helps more."), expect=1)
        (wait,) = session.turn.open_waits() if session.turn else ()
        call = session.turn.calls[wait.effect_id] if session.turn else None
        assert call is not None
        await kitted.runtime.decide(ALICE, wait.id, "approve", digest=call.decided)
        session = await kitted.over(session.id)

    (call,) = calls(session)
    assert (call.state, call.code) == ("failed", "tool.changed")
    assert "its plugin kit was 1.0 and is 1.1" in call.message


async def test_an_agent_that_names_a_version_keeps_to_it(kitted: Core) -> None:
    await kitted.runtime.save_agent(ALICE, {**AGENT, "plugins": ["kit@1.0"]})
    await kitted.runtime.put_plugin(ALICE, kit("1.1"))
    async with working(kitted):
        session = await kitted.over(await start(kitted, 'call load_skill {"skill": "notes"}'))

    assert calls(session)[0].origin.plugin_version == "1.0"


async def test_everything_a_skill_needs_and_lacks_fails_the_turn_before_anything_is_asked(
    kitted: Core,
) -> None:
    needy = zips.SKILL.replace(
        "description: Writes notes.\n",
        "description: Writes notes.\nrequires: {tools: [fly], servers: [moon], secrets: [KEY]}\n",
    )
    await kitted.runtime.put_plugin(ALICE, kit("2.0", skill=needy))
    async with working(kitted):
        session = await kitted.over(await start(kitted, "say hi"))

    assert session.turn is not None
    assert (session.turn.status, session.turn.code) == ("failed", "skill.requires")
    types = await kitted.types(session.id)
    assert "model.requested" not in types
    failed = next(f.event for f in await kitted.facts(session.id) if f.event.TYPE == "turn.failed")
    for word in ("fly", "moon", "KEY", "3 things"):
        assert word in failed.message
    plan = await kitted.runtime.save_agent(ALICE, {**AGENT, "description": "x"}, dry_run=True)
    told = " ".join(plan.warnings)
    assert "the server moon" in told
    assert "the secret KEY" in told


async def test_two_workers_on_two_machines_make_the_same_folder(kitted: Core, tmp_path) -> None:
    async with working(kitted):
        await kitted.over(await start(kitted, 'call load_skill {"skill": "notes"}'))
    (made,) = (kitted.parts.settings.data / "packages" / "plugins").iterdir()
    before = {p.relative_to(made): p.read_bytes() for p in made.rglob("*") if p.is_file()}

    place = made / "skills" / "notes" / "SKILL.md"  # somebody writes into it, or a disk fails
    place.chmod(0o600)
    place.write_bytes(b"tampered")
    async with working(kitted):
        session = await kitted.over(await start(kitted, 'call load_skill {"skill": "notes"}'))

    after = {p.relative_to(made): p.read_bytes() for p in made.rglob("*") if p.is_file()}
    assert before == after
    assert calls(session)[0].state == "succeeded"


@pytest.mark.parametrize(
    "path, told",
    [("x.py", "its file x.py was changed"), ("json.py", "the file json.py was added to it")],
)
async def test_a_server_is_not_started_again_among_files_that_were_changed(
    kitted: Core, path: str, told: str
) -> None:
    await kitted.runtime.save_policy(ALICE, [{"effect": "allow"}], expect=0)
    async with working(kitted):
        dies = await start(kitted, "call dies {}\nthen\nsay done")
        await kitted.until(
            dies, lambda s: s.turn is not None and [c.state for c in calls(s)] == ["uncertain"]
        )
        (made,) = (kitted.parts.settings.data / "packages" / "plugins").iterdir()
        place = made / path
        if place.exists():
            place.chmod(0o600)
        place.write_bytes(b"print('helpo')\n")  # as long as it was
        await kitted.over(await start(kitted, 'call echo {"text": "x"}\nthen\nsay done'))

        (row,) = [row for row in await kitted.parts.reader.servers(ALICE) if row.name == "stand"]

    assert row.state == "down"
    assert row.error == (
        f"stand: Nothing of the plugin kit 1.0 is started: {told} since it was unpacked. "
        "Find out who did that; a restarted worker unpacks it anew."
    )


async def test_an_earlier_version_that_nobody_uses_is_cleared_and_made_again(
    kitted: Core, tmp_path: Path
) -> None:
    folder, clock = tmp_path / "other", kitted.clock
    shelf = StoredPlugins(
        db=kitted.parts.db, feed=kitted.parts.feed, clock=clock, folders=Plugins([]),
        folder=folder, machine="here",
    )  # fmt: skip
    await shelf.fresh()
    first = await shelf.find("kit@1.0")
    await kitted.runtime.put_plugin(ALICE, kit("1.1"))
    await shelf.fresh()
    second = await shelf.find("kit")
    assert isinstance(first, Plugin)
    assert isinstance(second, Plugin)
    (folder / "plugins" / ".half.of.it").mkdir()
    week = (KEPT_SECONDS + 60) * 1000

    clock.offset += week
    await shelf.tidy([first.folder])
    while_used = [p.folder.exists() for p in (first, second)]
    before = shelf.generation
    clock.offset += week
    await shelf.tidy([])

    assert while_used == [True, True]
    assert [p.name for p in (folder / "plugins").iterdir()] == [second.folder.name]
    assert shelf.generation > before
    again = await shelf.find("kit@1.0")
    assert isinstance(again, Plugin)
    assert again.unpacked is not None
    assert again.unpacked.refusal() == ""


async def test_a_plugin_in_use_is_not_removed(kitted: Core) -> None:
    with pytest.raises(Refused) as refused:
        await kitted.runtime.remove_plugin(ALICE, "kit")

    assert refused.value.code == "plugin.in_use"
    assert "the agent kitted" in refused.value.message

    await kitted.runtime.save_agent(ALICE, {**AGENT, "plugins": []})
    await kitted.runtime.remove_plugin(ALICE, "kit", expect=1)

    view = await kitted.parts.reader.plugin(ALICE, "kit")
    assert view.is_removed
    assert view.history[0].removed_by == "alice"
    with pytest.raises(NotFound):
        await kitted.runtime.remove_plugin(ALICE, "kit")


async def test_a_plan_shows_the_lines_of_a_skill_that_change(kitted: Core) -> None:
    other = zips.SKILL + "Sign every note.\n"

    plan = await kitted.runtime.put_plugin(ALICE, kit("1.1", skill=other), dry_run=True)

    assert [one.path for one in plan.texts] == ["skills/notes/SKILL.md", "plugin.json"]
    added = [line for line in plan.texts[0].lines if line.change == "added"]
    assert [text for line in added for text, _ in line.parts if text] == ["Sign every note."]


async def test_what_was_shown_is_what_is_installed(kitted: Core) -> None:
    draft, plan = await kitted.runtime.draft_plugin(ALICE, kit("1.1"))
    assert (plan.current, plan.revision, plan.creates) == (1, 2, True)
    await kitted.runtime.put_plugin(ALICE, kit("1.2"))

    with pytest.raises(Refused) as refused:
        await kitted.runtime.confirm_plugin(ALICE, draft, expect=plan.current)
    assert refused.value.code == "plugin.changed"

    again = await kitted.runtime.plan_draft(ALICE, draft)
    done = await kitted.runtime.confirm_plugin(ALICE, draft, expect=again.current)
    assert (done.revision, done.plugin.version) == (3, "1.1")
    with pytest.raises(Gone):
        await kitted.runtime.confirm_plugin(ALICE, draft, expect=3)
    history = (await kitted.parts.reader.plugin(ALICE, "kit")).history
    assert history[0].changes[0].words == "version 1.2 becomes 1.1"


async def test_the_same_files_again_change_nothing(kitted: Core) -> None:
    plan = await kitted.runtime.put_plugin(ALICE, kit())

    assert (plan.creates, plan.revision, plan.changes) == (False, 1, ())


async def test_a_hostile_archive_leaves_nothing_behind(kitted: Core) -> None:
    before = await kitted.parts.db.read(_size)
    data = zips.zipped([*zips.files(version="9").items(), ("../evil", b"x")])

    with pytest.raises(Invalid):
        await kitted.runtime.put_plugin(ALICE, data)
    with pytest.raises(Invalid):
        await kitted.runtime.draft_plugin(ALICE, data)

    assert await kitted.parts.db.read(_size) == before


async def test_only_admins_change_plugins(kitted: Core) -> None:
    for person in (BOB, CHARLIE):
        with pytest.raises(Denied):
            await kitted.runtime.put_plugin(person, kit("3"))
        with pytest.raises(Denied):
            await kitted.runtime.remove_plugin(person, "kit")
        with pytest.raises(Denied):
            await kitted.runtime.save_skill(person, zips.packed({"SKILL.md": b"x"}))


async def test_another_plugin_is_not_put_under_a_name(kitted: Core) -> None:
    with pytest.raises(Invalid) as refused:
        await kitted.runtime.put_plugin(ALICE, kit(), name="other")

    assert refused.value.code == "plugin.other_name"


async def test_a_plugin_of_a_folder_keeps_its_name(kitted: Core) -> None:
    async with working(kitted):
        await kitted.over(await start(kitted, "say hi"))
        release = json.loads((ROOT / "studio/demo/plugin/release-kit/plugin.json").read_text())
        files = zips.files({**release, "servers": [], "skills": []})

        with pytest.raises(Refused) as refused:
            await kitted.runtime.put_plugin(ALICE, zips.packed(files))

    assert refused.value.code == "plugin.name_taken"
    row = next(r for r in await kitted.parts.reader.plugins(BOB) if r.name == "release-kit")
    assert (row.source, row.problem) == ("folder", "")
    file = await kitted.parts.reader.plugin_file(BOB, "release-kit", "release-notes", "SKILL.md")
    assert "# Release notes" in (file.text or "")
    with pytest.raises(Refused) as refused:
        await kitted.runtime.remove_plugin(ALICE, "release-kit")
    assert refused.value.code == "plugin.in_folder"


async def test_a_skill_is_saved_by_content_and_used_by_its_hash(kitted: Core) -> None:
    files = {"SKILL.md": zips.SKILL.encode(), "more.md": b"More.\n"}

    saved = await kitted.runtime.save_skill(ALICE, zips.packed(files))
    again = await kitted.runtime.save_skill(ALICE, zips.packed(files))
    await kitted.runtime.save_agent(
        ALICE, {**AGENT, "plugins": [], "skills": [saved.reference, "gone"]}
    )
    say = 'call read_skill_resource {"skill": "notes", "path": "more.md"}\nthen\nsay done'
    async with working(kitted):
        session = await kitted.over(await start(kitted, say))

    assert (saved.creates, again.creates) == (True, False)
    (call,) = calls(session)
    assert call.state == "succeeded"
    assert call.origin.plugin is None
    assert "saved with the agent" in call.destination
    agent = await kitted.parts.reader.agent(BOB, "kitted")
    assert any("The skill gone is not saved" in gap.message for gap in agent.gaps)


async def test_sessions_are_found_by_the_plugin_they_called(kitted: Core) -> None:
    async with working(kitted):
        with_call = await kitted.over(await start(kitted, 'call load_skill {"skill": "notes"}'))
        await kitted.over(await start(kitted, "say hi"))

    found = await kitted.parts.reader.sessions(BOB, plugin="kit")

    assert [row.id for row in found.items] == [with_call.id]
    assert await kitted.parts.reader.plugin_names(BOB) == ["kit"]


async def test_private_calls_are_counted_for_who_may_see_them(kitted: Core) -> None:
    async with working(kitted):
        done = await kitted.runtime.start_session(
            BOB, agent="kitted", message='call load_skill {"skill": "notes"}', private=True
        )
        await kitted.over(done.session_id)

    seen = [
        (await kitted.parts.reader.plugin(person, "kit")).row.counts.calls
        for person in (ALICE, BOB, CHARLIE)
    ]
    assert seen == [1, 1, 0]
    assert (await kitted.parts.reader.plugin_calls(CHARLIE, "kit")).items == ()


async def test_calls_of_a_plugin_come_in_pages(kitted: Core) -> None:
    say = "\n".join(['call load_skill {"skill": "notes"}'] * 5) + "\nthen\nsay done"
    async with working(kitted):
        await kitted.over(await start(kitted, say))
    reader = kitted.parts.reader

    first = await reader.plugin_calls(BOB, "kit", limit=2)
    second = await reader.plugin_calls(BOB, "kit", limit=2, cursor=first.next)
    third = await reader.plugin_calls(BOB, "kit", limit=2, cursor=second.next)

    ids = [row.id for page in (first, second, third) for row in page.items]
    assert len(set(ids)) == 5
    assert third.next is None
    assert (await reader.plugin_calls(BOB, "kit", state="failed")).items == ()


def _size(conn: Any) -> Any:
    from sqlalchemy import text

    tables = ("events", "blobs", "plugins", "drafts")
    return [conn.execute(text(f"SELECT count(*) FROM {t}")).scalar() for t in tables]
