"""Sign-in links: each is good once, however its text is written."""

import pytest

from studio.core.rules.errors import Denied
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
