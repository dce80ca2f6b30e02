"""Every derived row, thrown away and made anew from the journal, is what it was."""

import asyncio
from itertools import zip_longest
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from studio.core.store import rows
from tests.core.store import environment_stories, stories
from tests.core.store.conftest import (  # noqa: F401 - fixtures
    Store,
    opened,
    ready_url,
)

EXAMPLES = {"sqlite": 20, "postgresql": 5}
# a story's seed says no more when it is smaller, and every try costs a database
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


async def told_and_rebuilt(store: Store, randoms: Random, name: str) -> None:
    tellings = [stories.tell(randoms, 70, f"ses_{name}{n}") for n in range(3)]
    for appends in zip_longest(*tellings):
        await asyncio.gather(*[store.tell(append) for append in appends if append is not None])
    followed = await store.derived()

    await store.db.record(rows.rebuild)

    assert await store.derived() == followed


async def test_rebuilt_rows_of_environments_are_those_that_followed(ready_url: str) -> None:  # noqa: F811
    async with opened(ready_url) as store:
        for seed in range(5):
            tellings = [
                environment_stories.tell(Random(seed * 10 + n), 60, f"env_{seed}{n}")
                for n in range(3)
            ]
            for appends in zip_longest(*tellings):
                told = [store.tell_other(append) for append in appends if append is not None]
                await asyncio.gather(*told)
        followed = await store.derived()

        await store.db.record(rows.rebuild)

        assert await store.derived() == followed
        assert {name for name in ("environments", "disk_versions", "egress") if followed[name]} == {
            "environments", "disk_versions", "egress",
        }  # fmt: skip


@pytest.fixture
def examples(ready_url: str) -> int:  # noqa: F811
    return EXAMPLES[ready_url.partition(":")[0]]


def test_rebuilt_rows_are_the_rows_that_followed(ready_url: str, examples: int) -> None:  # noqa: F811
    with asyncio.Runner() as runner:
        context = opened(ready_url)
        store = runner.run(context.__aenter__())
        names = iter(range(10**6))

        @settings(max_examples=examples, deadline=None, phases=PHASES,
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(st.integers(0, 2**32))
        def agree(seed: int) -> None:
            runner.run(told_and_rebuilt(store, Random(seed), f"{next(names)}x"))

        try:
            agree()
        finally:
            runner.run(context.__aexit__(None, None, None))
