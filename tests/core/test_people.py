"""Sign-in links are good once, however they are written; sign-ins grow old."""

import pytest

from studio.core.rules.errors import Denied
from studio.core.store.people import DAY
from tests.core.conftest import Core

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def written_otherwise(token: str) -> str:
    """The same token, its last base 64 letter with other spare bits."""
    return token[:-1] + LETTERS[LETTERS.index(token[-1]) ^ 1]


async def test_a_sign_in_link_is_good_once_however_it_is_written(core: Core) -> None:
    link = core.runtime.link("ann", "operator")
    await core.runtime.sign_in(link)

    for again in (link, written_otherwise(link), link + "="):
        with pytest.raises(Denied) as refused:
            await core.runtime.sign_in(again)
        assert refused.value.code == "link.used"


async def test_a_sign_in_is_good_for_as_long_as_it_is_used_now_and_then(core: Core) -> None:
    secret, ann = await core.runtime.sign_in(core.runtime.link("ann", "operator"))
    for _ in range(3):
        core.clock.pass_time(29 * DAY)
        assert await core.runtime.person_of(secret) == ann

    core.clock.pass_time(4 * DAY)  # the 91st day

    assert await core.runtime.person_of(secret) is None


async def test_a_sign_in_that_nobody_used_for_a_month_is_over(core: Core) -> None:
    secret, _ = await core.runtime.sign_in(core.runtime.link("ann", "operator"))

    core.clock.pass_time(31 * DAY)

    assert await core.runtime.person_of(secret) is None
