"""Secrets on both stores: set, opened where they are named, replaced at once, sealed anew."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studio import app
from studio.core.rules import events as e
from studio.core.rules.errors import Denied, Invalid, NotFound, Unavailable
from studio.core.store import raw, rows
from tests.core.conftest import ALICE, BOB, CHARLIE, Core
from tests.standins.receiver import Receiver, receiver

VALUE, OTHER = "fake-token-0123456789", "fake-token-abcdefghij"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Receiver]:
    with receiver(tmp_path) as found:
        yield found


def agent(server: Receiver, path: str = "/echo", **headers: Any) -> dict[str, Any]:
    """An agent with one HTTP tool that is given a secret."""
    headers = headers or {"X-Token": {"secret": "TOKEN"}}
    tool = {"name": "echo", "kind": "http", "method": "POST", "url": server.url + path,
            "input": {"type": "object"}, "headers": headers, "read_only": True}  # fmt: skip
    return {
        "name": "helper", "description": "Helps.", "instructions": "Help.", "tools": [tool],
        "model": {"provider": "scripted", "name": "scripted"},
    }  # fmt: skip


@asynccontextmanager
async def working(core: Core, server: Receiver) -> AsyncIterator[None]:
    """The worker of the application itself, with its own catalog."""
    place = server.url.removeprefix("http://")
    built = replace(core.parts, settings=replace(core.parts.settings, http_allow=(place,)))
    worker = app.worker(built)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        yield
        running.cancel()
    await worker.close()


async def echoed(core: Core) -> dict[str, Any]:
    """What the tool gave back to a session that calls it."""
    session_id = await core.start("call echo {}")
    await core.over(session_id)
    facts = [fact.event for fact in await core.facts(session_id)]
    (came,) = [x for x in facts if isinstance(x, e.CallSucceeded)]
    return dict(came.result.value)


async def test_a_secret_goes_out_with_the_call_that_names_it_and_comes_back_masked(core, server):
    await core.runtime.set_secret(ALICE, "TOKEN", VALUE)
    await core.runtime.save_agent(ALICE, agent(server))

    async with working(core, server):
        answer = await echoed(core)

    assert server.lines()[0]["headers"]["x-token"] == VALUE
    assert answer["x-token"] == "[masked: TOKEN]"
    assert VALUE not in json.dumps(answer)


async def test_a_secret_that_is_replaced_is_used_at_once(core, server):
    await core.runtime.set_secret(ALICE, "TOKEN", VALUE)
    await core.runtime.save_agent(ALICE, agent(server))
    async with working(core, server):
        await echoed(core)

        version = await core.runtime.set_secret(ALICE, "TOKEN", OTHER)
        await echoed(core)

    assert version == 2
    assert [line["headers"]["x-token"] for line in server.lines()] == [VALUE, OTHER]


async def test_a_missing_secret_is_a_gap_that_names_it_until_it_is_set(core, server):
    await core.runtime.save_agent(ALICE, agent(server))
    async with working(core, server):
        session_id = await core.start("call echo {}")
        await core.over(session_id)
        gaps = (await core.parts.reader.agent(ALICE, "helper")).gaps

        await core.runtime.set_secret(ALICE, "TOKEN", VALUE)
        await echoed(core)

    assert [gap.message for gap in gaps] == [
        "echo: It needs the secret TOKEN, which is not set. An admin sets it under Secrets."
    ]
    assert (await core.parts.reader.agent(ALICE, "helper")).gaps == ()


async def test_a_removed_secret_goes_out_no_more_and_is_masked_still(core, server):
    await core.runtime.set_secret(ALICE, "TOKEN", VALUE)
    await core.runtime.save_agent(ALICE, agent(server))
    async with working(core, server):
        await echoed(core)
        await core.runtime.remove_secret(ALICE, "TOKEN")
        await core.runtime.save_agent(ALICE, agent(server, f"/echo/{VALUE}", plain="x"))

        answer = await echoed(core)

    assert len(server.lines()) == 2
    assert VALUE not in json.dumps(answer)


async def test_who_set_it_who_names_it_and_what_used_it_last_are_told(core, server):
    await core.runtime.set_secret(ALICE, "TOKEN", VALUE)
    await core.runtime.save_agent(ALICE, agent(server, a={"secret": "TOKEN"}, b={"secret": "NEW"}))
    before = {row.name: row for row in await core.parts.reader.secrets(ALICE)}
    await core.runtime.save_agent(ALICE, agent(server))
    async with working(core, server):
        await echoed(core)

    (row,) = await core.parts.reader.secrets(ALICE)
    assert (before["NEW"].version, before["NEW"].agents) == (0, ("helper",))
    assert (before["TOKEN"].by, before["TOKEN"].used) == ("alice", None)
    assert (row.used_by, row.agents, row.problem) == ("echo", ("helper",), "")
    assert row.used is not None
    assert row.effect_id is not None
    assert row.effect_id.startswith("eff_")


async def test_neither_value_nor_sealed_form_is_in_the_journal(core):
    await core.runtime.set_secret(ALICE, "TOKEN", VALUE)
    await core.runtime.remove_secret(ALICE, "TOKEN")
    version = await core.runtime.set_secret(ALICE, "TOKEN", OTHER)

    facts = await core.facts("secrets")

    assert [fact.event.TYPE for fact in facts] == ["secret.set", "secret.removed", "secret.set"]
    assert [fact.actor for fact in facts] == ["application:alice"] * 3
    assert version == 2
    assert all(set(vars(fact.event)) == {"owner", "name", "version", "by"} for fact in facts)


async def test_the_rows_are_what_the_journal_says(core):
    await core.runtime.set_secret(ALICE, "TOKEN", VALUE)
    await core.runtime.set_secret(ALICE, "GONE", VALUE)
    await core.runtime.remove_secret(ALICE, "GONE")
    await core.runtime.set_secret(ALICE, "TOKEN", OTHER)
    ask = "SELECT * FROM secrets ORDER BY owner, name"
    followed = await core.parts.db.read(lambda conn: raw.every(conn, ask))

    await core.parts.db.record(rows.rebuild)

    assert await core.parts.db.read(lambda conn: raw.every(conn, ask)) == followed
    assert len(followed) == 2


@pytest.mark.parametrize("person", [BOB, CHARLIE])
async def test_secrets_are_for_admins_alone(core, person):
    for act in (
        core.runtime.set_secret(person, "TOKEN", VALUE),
        core.runtime.remove_secret(person, "TOKEN"),
        core.runtime.rotate_secrets(person),
        core.parts.reader.secrets(person),
    ):
        with pytest.raises(Denied):
            await act


async def test_what_is_no_secret_is_refused_and_nothing_is_kept(core):
    with pytest.raises(Invalid):
        await core.runtime.set_secret(ALICE, "token", VALUE)
    with pytest.raises(NotFound):
        await core.runtime.remove_secret(ALICE, "TOKEN")

    assert await core.facts("secrets") == []
    assert not core.parts.settings.secrets_key.exists()


# The key file -----------------------------------------------------------------------------------


async def test_rotation_needs_no_value_again(core, server):
    await core.runtime.set_secret(ALICE, "TOKEN", VALUE)
    await core.runtime.save_agent(ALICE, agent(server))
    path = core.parts.settings.secrets_key
    old = path.read_text()

    count = await core.runtime.rotate_secrets(ALICE)
    path.write_text(path.read_text().splitlines()[0] + "\n")
    async with working(core, server):
        await echoed(core)

    assert count == 1
    assert old.strip() not in path.read_text()
    assert server.lines()[0]["headers"]["x-token"] == VALUE


async def test_a_lost_key_file_is_said_and_nothing_is_deleted(core, server):
    await core.runtime.set_secret(ALICE, "TOKEN", VALUE)
    await core.runtime.save_agent(ALICE, agent(server))
    path = core.parts.settings.secrets_key
    kept = path.read_text()
    path.unlink()

    with pytest.raises(Unavailable, match="Put the file back"):
        await core.runtime.set_secret(ALICE, "OTHER", OTHER)
    async with working(core, server):
        await core.over(await core.start("call echo {}"))
        (row,) = await core.parts.reader.secrets(ALICE)
        (gap,) = (await core.parts.reader.agent(ALICE, "helper")).gaps
        path.write_text(kept)
        path.chmod(0o600)
        await echoed(core)

    assert row.problem == f"It cannot be opened: there is no key file {path}."
    assert "the secret TOKEN, which cannot be opened: there is no key file" in gap.message
    assert server.lines()[0]["headers"]["x-token"] == VALUE


async def test_a_key_that_is_missing_stands_in_the_way_of_rotation(core):
    await core.runtime.set_secret(ALICE, "TOKEN", VALUE)
    path = core.parts.settings.secrets_key
    path.write_text("ab" * 32 + "\n")

    with pytest.raises(Unavailable, match="is missing"):
        await core.runtime.rotate_secrets(ALICE)

    (row,) = await core.parts.reader.secrets(ALICE)
    assert "is missing in" in row.problem
    assert path.read_text() == "ab" * 32 + "\n"
