"""Sign-ins, single-use things, application keys."""

import asyncio

from studio.core.rules import events as e
from studio.core.store import people
from tests.core.store.conftest import Store
from tests.core.store.stories import START


async def test_a_sign_in_is_found_until_it_ends(store: Store) -> None:
    await store.db.touch(lambda conn: people.open(conn, "hash", "alice", "admin", 5))
    await store.db.touch(lambda conn: people.see(conn, "hash", 9))
    await store.db.touch(lambda conn: people.see(conn, "hash", 7))

    assert await store.db.read(
        lambda conn: people.find(conn, "hash", 5, people.Ages())
    ) == people.SignIn(id="hash", person="alice", role="admin", made=5, seen=9)
    assert await store.db.touch(lambda conn: people.end(conn, "hash", 10))
    assert not await store.db.touch(lambda conn: people.end(conn, "hash", 11))
    assert await store.db.read(lambda conn: people.find(conn, "hash", 5, people.Ages())) is None


async def test_a_person_can_be_signed_out_everywhere(store: Store) -> None:
    for secret, person in (("a", "alice"), ("b", "alice"), ("c", "bob")):
        await store.db.touch(
            lambda conn, s=secret, p=person: people.open(conn, s, p, "viewer", 5)  # type: ignore[misc]
        )

    assert await store.db.touch(lambda conn: people.end_all(conn, "alice", 9)) == 2
    assert await store.db.read(lambda conn: people.find(conn, "a", 5, people.Ages())) is None
    assert await store.db.read(lambda conn: people.find(conn, "c", 5, people.Ages())) is not None


async def test_a_single_use_thing_is_used_once_however_many_try(store: Store) -> None:
    tries = [
        store.db.touch(lambda conn, n=n: people.spend(conn, "token", "link", f"p{n}", n))  # type: ignore[misc]
        for n in range(12)
    ]

    answers = await asyncio.gather(*tries)

    earlier = [answer for answer in answers if answer is not None]
    first = answers.index(None)
    assert len(earlier) == 11
    assert set(earlier) == {people.Spent(id="token", what="link", by=f"p{first}", time=first)}


async def test_keys_are_listed_with_their_last_use(store: Store) -> None:
    made = [
        e.KeyMade(key_id=f"key_{n}", name=f"key {n}", role="operator", hash=f"h{n}", by="alice")
        for n in (1, 2)
    ]
    revoked = e.KeyRevoked(key_id="key_1", by="bob")
    for event in (*made, revoked):
        await store.journal.commit_other(
            "people", lambda _, x=event: [x], at=START, actor="operator:alice"
        )
    await store.db.touch(lambda conn: people.key_used(conn, "key_2", 77))
    await store.db.touch(lambda conn: people.key_used(conn, "key_2", 88))

    listed = {key.id: key for key in await store.db.read(people.list_keys)}
    found = await store.db.read(lambda conn: people.find_key(conn, "h2"))

    assert found == listed["key_2"]
    assert (listed["key_2"].used, listed["key_2"].revoked) == (88, None)
    assert (listed["key_1"].used, listed["key_1"].revoked) == (None, START)
    assert await store.db.read(lambda conn: people.find_key(conn, "h3")) is None
