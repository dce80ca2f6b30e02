"""A store that an earlier version filled is brought up to date: nothing is lost, all goes on."""

from pathlib import Path
from typing import Any

import pytest

from studio import app
from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.store import migrate, rows, tables
from studio.settings import Settings
from tests.core.conftest import ALICE, BOB, Core
from tests.core.store import kept
from tests.core.store.conftest import opened
from tests.fakes import FakeCatalog, ToldClock, tool

STEPS = sorted(path.name[:4] for path in (migrate.SCRIPTS / "versions").glob("0*.py"))
SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}


@pytest.fixture
def old_url(empty_url: str) -> str:
    """A store of revision 0001 with what its version wrote."""
    kept.step(empty_url, "0001")
    kept.fill(empty_url)
    return empty_url


async def test_everything_is_there_after_the_upgrade_and_rebuilds_to_the_same(
    old_url: str,
) -> None:
    assert migrate.migrate(old_url) == tables.SCHEMA
    found = kept.held(old_url)
    async with opened(old_url) as store:
        before = await store.derived()
        await store.db.record(rows.rebuild)
        after = await store.derived()

    assert found == kept.given()
    assert after == before


@pytest.mark.parametrize("revision", STEPS[1:])
def test_each_step_alone_leaves_what_was_there(old_url: str, revision: str) -> None:
    before = STEPS[STEPS.index(revision) - 1]
    kept.step(old_url, before)

    kept.step(old_url, revision)

    assert migrate.current(old_url) == revision
    assert kept.held(old_url) == kept.given()


async def sessions(reader: Reader, person: Person) -> list[Any]:
    return list((await reader.sessions(person, limit=200)).items)


async def read(reader: Reader) -> dict[str, str]:
    """Every page that a person opens of it; the sessions by their title."""
    await reader.home(ALICE)
    for name in ("waits", "keys", "agents", "policy", "views", "collector", "models", "plugins"):
        await getattr(reader, name)(ALICE)
    found = await sessions(reader, ALICE)
    for row in found:
        view = await reader.session(ALICE, row.id)
        assert view.row.title == row.title
        assert (await reader.timeline(ALICE, row.id)).lines
        assert await reader.events(ALICE, row.id)
        await reader.cards(ALICE, row.id)
        await reader.overview(ALICE, row.id)
        for artifact in (await reader.artifacts(ALICE, row.id)).items:
            await reader.artifact(ALICE, artifact.id)
        for call in await reader.calls(ALICE, row.id):
            await reader.call(ALICE, call.id)
        for number in range(row.turns):
            assert (await reader.trace(ALICE, row.id, str(number + 1))).spans
        for form in ("markdown", "jsonl", "otlp"):
            export = await reader.export_session(ALICE, row.id, form, version="1", inline=True)
            assert "complete" in "".join([piece async for piece in export.text])
    for one in (await reader.environments(ALICE, state="")).items:
        await reader.environment(ALICE, one.id)
        await reader.environment_events(ALICE, one.id)
        await reader.egress(ALICE, one.id)
        await reader.disk_versions(ALICE, one.id)
        await reader.environment_times(ALICE, one.id)
    return {row.title: row.id for row in found}


async def test_all_pages_are_read_and_what_was_held_goes_on(old_url: str, tmp_path: Path) -> None:
    environ = {"STUDIO_DATA": str(tmp_path), "STUDIO_DATABASE_URL": old_url, "HOME": str(tmp_path)}
    settings = Settings.from_env(environ)
    app.migrate(settings)
    clock, pay = ToldClock(), tool("pay", schema=SCHEMA)
    async with app.parts(settings, clock=clock) as parts:
        core = Core(parts=parts, clock=clock, catalog=FakeCatalog())
        core.offer(pay, tool("look", read_only=True, repeatable=True))
        named = await read(parts.reader)
        async with core.working():
            (card,) = await parts.reader.cards(ALICE, named["Held"])
            await core.runtime.decide(BOB, card.wait.id, "approve", digest=card.call.digest)
            paid = await core.over(named["Held"])
            await core.runtime.send_message(BOB, named["Looked"], "call look {}\nsay more")
            more = await core.until(named["Looked"], lambda s: s.turns == 3 and s.turn.is_over)  # type: ignore[union-attr]
            new = await core.over(await core.start("say new"))
        (doubt,) = await parts.reader.cards(ALICE, named["Lost"])

    assert [paid.status, more.status, new.status] == ["completed"] * 3
    assert len(pay.calls) == 1
    assert doubt.wait.kind == "uncertain"
