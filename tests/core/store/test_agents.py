"""Manifests in versions."""

from typing import Any

from studio.core.store import agents
from tests.core.store.conftest import Store
from tests.core.store.stories import START


async def save(store: Store, name: str, digest: str) -> list[Any]:
    return await store.journal.commit_other(
        "agents",
        lambda conn: agents.save(conn, name=name, manifest={"d": digest}, digest=digest, by="ann"),
        at=START, actor="operator:ann",
    )  # fmt: skip


async def test_every_change_makes_a_version_and_no_change_none(store: Store) -> None:
    assert [len(await save(store, "helper", digest)) for digest in ("a", "b", "b", "a")] == [
        1, 1, 0, 1,
    ]  # fmt: skip

    found = await store.db.read(lambda conn: agents.versions(conn, "helper"))
    assert [(agent.version, agent.manifest["d"]) for agent in found] == [
        (3, "a"),
        (2, "b"),
        (1, "a"),
    ]


async def test_the_newest_is_meant_when_no_version_is_named(store: Store) -> None:
    await save(store, "helper", "a")
    await save(store, "helper", "b")

    newest = await store.db.read(lambda conn: agents.get(conn, "helper"))
    first = await store.db.read(lambda conn: agents.get(conn, "helper", 1))

    assert newest is not None
    assert first is not None
    assert (newest.version, newest.by, newest.time) == (2, "ann", START)
    assert (first.version, first.digest) == (1, "a")
    assert await store.db.read(lambda conn: agents.get(conn, "nobody")) is None


async def test_the_list_has_the_newest_of_each_by_name(store: Store) -> None:
    for name, digest in (("zoe", "a"), ("amy", "a"), ("zoe", "b")):
        await save(store, name, digest)

    found = await store.db.read(agents.list)

    assert [(agent.name, agent.version) for agent in found] == [("amy", 1), ("zoe", 2)]
