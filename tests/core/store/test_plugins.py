"""Installed plugins: facts make rows, files lie by their hash, folders and drafts are notes."""

from typing import Any

from studio.core.rules import events as e
from studio.core.rules import plugins as rule
from studio.core.rules.plugin_changes import Change
from studio.core.rules.plugins import Plugin, Skill
from studio.core.store import plugins, rows
from studio.core.store.plugins import Found
from tests.core.store.conftest import Store
from tests.core.store.stories import START

FILES = {"plugin.json": b"{}", "x.py": b"print()", "same.py": b"print()"}
HASH = rule.tree_hash(rule.entries(FILES))


def plugin(version: str = "1.0", name: str = "kit") -> Plugin:
    return Plugin(
        name=name, version=version, description="Helps.", hash=HASH, license="MIT",
        servers=({"name": "ledger", "transport": "stdio", "command": ["x"]},),
        skills=(Skill(name="notes", description="Writes.", hash="a" * 64, place="skills/notes"),),
        files=tuple(rule.entries(FILES)),
    )  # fmt: skip


async def install(store: Store, new: Plugin, *changes: Change) -> list[Any]:
    def act(conn: Any) -> list[e.Event]:
        plugins.keep(conn, new.files, FILES, START)
        return plugins.installed(conn, new, changes, "ada")

    return await store.journal.commit_other("plugins", act, at=START, actor="operator:ada")


async def remove(store: Store, name: str, revision: int) -> None:
    gone = e.PluginRemoved(name=name, revision=revision, version="1", hash=HASH, by="ada")
    await store.journal.commit_other("plugins", lambda _: [gone], at=START + 5, actor="a")


async def test_a_plugin_is_installed_updated_and_removed(store):
    await install(store, plugin())
    await install(store, plugin("1.1"), Change(kind="version", words="1.0 becomes 1.1"))

    found = await store.db.read(lambda c: plugins.current(c, "kit"))
    assert (found.revision, found.plugin.version, found.by) == (2, "1.1", "ada")
    assert found.changes == (Change(kind="version", words="1.0 becomes 1.1"),)
    assert found.plugin.skills == plugin().skills
    assert found.plugin.license == "MIT"
    pinned = await store.db.read(lambda c: plugins.current(c, "kit", "1.0"))
    assert pinned.revision == 1

    await remove(store, "kit", 2)

    assert await store.db.read(lambda c: plugins.current(c, "kit")) is None
    assert await store.db.read(lambda c: plugins.current(c, "kit", "1.0")) is None
    assert await store.db.read(plugins.every) == ()
    history = await store.db.read(lambda c: plugins.history(c, "kit"))
    assert [(row.revision, row.removed) for row in history] == [(2, START + 5), (1, START + 5)]


async def test_a_plugin_that_comes_again_goes_on_counting(store):
    await install(store, plugin())
    await remove(store, "kit", 1)

    (fact,) = await install(store, plugin())

    assert isinstance(fact.event, e.PluginInstalled)
    assert fact.event.revision == 2
    assert (await store.db.read(lambda c: plugins.current(c, "kit"))).revision == 2


async def test_files_lie_once_under_their_hash_and_their_list_under_the_plugin_s(store):
    await install(store, plugin())

    assert await store.db.read(lambda c: plugins.files(c, HASH)) == plugin().files
    hash = plugin().files[1].hash
    assert await store.db.read(lambda c: plugins.data(c, hash)) == b"print()"
    assert await store.db.read(lambda c: plugins.files(c, "0" * 64)) == ()


async def test_rows_rebuilt_are_the_rows_that_followed(store):
    await install(store, plugin())
    await install(store, plugin("1.1"), Change(kind="file", words="x.py changed"))
    await remove(store, "kit", 2)
    await install(store, plugin("2.0"))
    saved = e.SkillSaved(
        name="notes", hash="b" * 64, description="x", requires={"tools": ["a"]}, license="",
        files=1, size=3, by="ada",
    )  # fmt: skip
    await store.journal.commit_other("plugins", lambda _: [saved], at=START, actor="a")
    before = await store.derived()

    await store.db.record(rows.rebuild)

    assert await store.derived() == before
    skill = await store.db.read(lambda c: plugins.skill(c, "b" * 64))
    assert (skill.name, skill.requires.tools) == ("notes", ("a",))


async def test_what_a_worker_finds_takes_the_place_of_what_it_found(store):
    def found(name: str, problem: str = "") -> Found:
        return Found(machine="m", folder=f"/{name}", plugin=plugin(name=name), files=3, size=9,
                     problem=problem, time=START)  # fmt: skip

    await store.db.touch(lambda c: plugins.note_folders(c, "m", [found("a"), found("b", "No.")], 1))
    await store.db.touch(lambda c: plugins.note_folders(c, "other", [found("c")], 2))
    await store.db.touch(lambda c: plugins.note_folders(c, "m", [found("a")], 3))

    rows = await store.db.read(plugins.folders)
    assert [(row.machine, row.plugin.name, row.time) for row in rows] == [
        ("m", "a", 3), ("other", "c", 2),
    ]  # fmt: skip
    assert rows[0].plugin.skills == plugin().skills


async def test_a_draft_is_its_sender_s_and_goes_after_a_day(store):
    day = plugins.DRAFT_MILLISECONDS
    await store.db.touch(lambda c: plugins.keep_draft(c, "d1", "plugin", "ada", b"zip", START))

    assert await store.db.read(lambda c: plugins.draft(c, "d1", "plugin", "ada")) == b"zip"
    assert await store.db.read(lambda c: plugins.draft(c, "d1", "plugin", "bob")) is None
    await store.db.touch(
        lambda c: plugins.keep_draft(c, "d2", "plugin", "ada", b"new", START + day + 1)
    )
    assert await store.db.read(lambda c: plugins.draft(c, "d1", "plugin", "ada")) is None
