"""The policy in versions."""

from typing import Any

from studio.core.rules.policy import Policy
from studio.core.store import policies
from tests.core.store.conftest import Store
from tests.core.store.stories import START


async def save(store: Store, rules: list[Any]) -> None:
    await store.journal.commit_other(
        "policy", lambda conn: policies.save(conn, rules=rules, by="ann", note="why"),
        at=START, actor="operator:ann",
    )  # fmt: skip


async def test_without_a_saved_policy_version_zero_has_no_rules(store: Store) -> None:
    assert await store.db.read(policies.current) == Policy(version=0, rules=())
    assert await store.db.read(policies.versions) == ()


async def test_the_newest_version_speaks_and_older_ones_can_be_asked(store: Store) -> None:
    await save(store, [{"effect": "ask", "tool": "mail.*"}])
    await save(store, [])

    current = await store.db.read(policies.current)
    first = await store.db.read(lambda conn: policies.at(conn, 1))

    assert (current.version, current.rules) == (2, ())
    assert first is not None
    assert (first.version, len(first.rules)) == (1, 1)
    assert await store.db.read(lambda conn: policies.at(conn, 0)) == Policy()
    assert await store.db.read(lambda conn: policies.at(conn, 3)) is None


async def test_versions_say_who_saved_them_and_why(store: Store) -> None:
    await save(store, [])
    await save(store, [])

    found = await store.db.read(policies.versions)

    assert [(saved.version, saved.by, saved.note, saved.time) for saved in found] == [
        (2, "ann", "why", START), (1, "ann", "why", START),
    ]  # fmt: skip
