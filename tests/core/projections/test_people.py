import pytest

from studio.core.reader import KeyRow, Reader
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Denied
from studio.core.store import people
from tests.core.projections.story import START, Story


async def make(story: Story, number: int) -> None:
    made = e.KeyMade(
        key_id=f"key_{number}", name=f"robot {number}", role="operator", hash=f"h{number}", by="ada"
    )
    await story.journal.commit_other(
        "people", lambda _: [made], at=START + number, actor="operator:ada"
    )


async def test_keys_are_listed_newest_first_with_their_last_use(
    story: Story, reader: Reader, admin: Person
) -> None:
    await make(story, 1)
    await make(story, 2)
    revoked = e.KeyRevoked(key_id="key_1", by="ada")
    await story.journal.commit_other("people", lambda _: [revoked], at=START + 9, actor="ada")
    await story.db.touch(lambda conn: people.key_used(conn, "key_2", START + 5))

    newer, older = await reader.keys(admin)

    assert newer == KeyRow(
        id="key_2", name="robot 2", role="operator", by="ada", made=START + 2, used=START + 5,
        revoked=None,
    )  # fmt: skip
    assert (older.id, older.used, older.revoked) == ("key_1", None, START + 9)


async def test_keys_are_for_admins(
    story: Story, reader: Reader, bob: Person, charlie: Person
) -> None:
    for one in (bob, charlie):
        with pytest.raises(Denied):
            await reader.keys(one)
