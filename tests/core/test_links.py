"""Links to artifacts, on both stores: what binds them, and what is noted of their use."""

from collections.abc import AsyncIterator

import pytest

from studio.core.rules.errors import Gone, NotFound, Refused
from studio.core.tokens import Tokens
from tests.core.conftest import ALICE, BOB, Core


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def saved(core: Core) -> str:
    session_id = await core.start("say hi")
    done = await core.runtime.save_artifact(
        BOB, session_id, name="a.txt", media="", chunks=chunks(b"one")
    )
    return done.artifact_id


async def test_each_use_is_counted_and_a_look_is_not(core: Core) -> None:
    made = await core.runtime.make_link(BOB, await saved(core), minutes=2)

    await core.runtime.follow_link(made.token)
    await core.runtime.follow_link(made.token)
    linked = await core.runtime.follow_link(made.token, is_used=False)

    (row,) = await core.parts.reader.artifact_links(ALICE, made.artifact_id)
    assert (row.uses, row.state, row.by, row.version) == (2, "open", "bob", 1)
    assert (linked.name, linked.size) == ("a.txt", 3)


async def test_a_seal_is_bound_to_all_that_a_link_says() -> None:
    tokens = Tokens(b"k" * 32)
    right = tokens.artifact_link("lnk_1", "art_1", 1, 1_000)
    others = [
        tokens.artifact_link("lnk_2", "art_1", 1, 1_000),
        tokens.artifact_link("lnk_1", "art_2", 1, 1_000),
        tokens.artifact_link("lnk_1", "art_1", 2, 1_000),
        tokens.artifact_link("lnk_1", "art_1", 1, 1_001),
        Tokens(b"x" * 32).artifact_link("lnk_1", "art_1", 1, 1_000),
    ]

    assert len({token.partition(".")[2] for token in [right, *others]}) == 6


async def test_a_revoked_link_works_no_more_and_is_revoked_once(core: Core) -> None:
    made = await core.runtime.make_link(BOB, await saved(core))

    await core.runtime.revoke_link(ALICE, made.artifact_id, made.id)
    await core.runtime.revoke_link(BOB, made.artifact_id, made.id)

    with pytest.raises(Gone):
        await core.runtime.follow_link(made.token)
    (row,) = await core.parts.reader.artifact_links(ALICE, made.artifact_id)
    assert (row.state, row.revoked_by) == ("revoked", "alice")
    other = await saved(core)
    with pytest.raises(NotFound):
        await core.runtime.revoke_link(BOB, other, made.id)


async def test_one_artifact_has_twenty_open_links_at_most(core: Core) -> None:
    artifact_id = await saved(core)
    for _ in range(20):
        await core.runtime.make_link(BOB, artifact_id)

    with pytest.raises(Refused) as refused:
        await core.runtime.make_link(BOB, artifact_id)

    assert refused.value.code == "link.many"


async def test_links_to_what_is_private_say_nothing_to_others(core: Core) -> None:
    session_id = await core.start("say hi", person=ALICE, private=True)
    done = await core.runtime.save_artifact(
        ALICE, session_id, name="a.txt", media="", chunks=chunks(b"one")
    )
    for _ in range(20):
        await core.runtime.make_link(ALICE, done.artifact_id)

    with pytest.raises(NotFound) as made:
        await core.runtime.make_link(BOB, done.artifact_id)
    with pytest.raises(NotFound) as revoked:
        await core.runtime.revoke_link(BOB, done.artifact_id, "lnk_1")

    assert (made.value.code, revoked.value.code) == ("artifact.not_found",) * 2


@pytest.mark.parametrize(
    "token", ["", ".", "lnk_\0.x", "lnk_é.x", "x" * 5_000, "lnk_1", "\ud800.x"]
)
async def test_whatever_is_asked_for_leads_nowhere(core: Core, token: str) -> None:
    with pytest.raises(NotFound):
        await core.runtime.follow_link(token)
