"""Opening: what was sealed and is replaced or removed is masked all the same."""

import json

import pytest

from studio.core.tools.values import MOST_PAST, Values
from studio.core.work.opening import Opening
from tests.core.conftest import ALICE, Core
from tests.core.environments import PLAIN, made, saved

KEY, OTHER = "fake-key-0123456789abcdef", "fake-key-fedcba9876543210"
HOUSE = {"name": "house", "kind": "chat", "base_url": "http://127.0.0.1:9/v1", "models": ["m"]}


@pytest.fixture
def opening(core: Core) -> Opening:
    parts = core.parts
    return Opening(
        db=parts.db, feed=parts.feed, clock=core.clock, values=Values({}), seals=parts.seals
    )  # fmt: skip


async def test_a_providers_key_that_was_replaced_or_removed_is_still_masked(
    core: Core, opening: Opening
) -> None:
    await core.runtime.save_provider(ALICE, HOUSE, KEY)
    await opening.fresh()
    await core.runtime.save_provider(ALICE, HOUSE, OTHER)
    await opening.fresh()
    await core.runtime.remove_provider(ALICE, "house")
    await opening.fresh()

    masked = opening.values.mask.text(f"{KEY} and {OTHER}")

    assert masked == "[masked: key of house] and [masked: key of house]"


async def test_secrets_of_environments_are_opened_for_them_and_masked_part_by_part(
    core: Core, opening: Opening
) -> None:
    declared = [
        {"name": "LOGS", "type": "headers", "binding": "https://logs.example"},
        {"name": "PEM", "type": "file", "binding": "deploy.pem"},
    ]
    await saved(core, PLAIN, secrets=declared)
    id = await made(core)
    await opening.fresh()
    put = core.runtime.set_environment_secret
    await put(ALICE, "desk", "LOGS", json.dumps({"X-Key": KEY, "X-Other": OTHER}))
    await put(ALICE, "desk", "PEM", "fake-line-0123\nfake-line-4567\n")

    await opening.fresh()
    opened = opening.of(id)
    await core.runtime.delete_environment(ALICE, id)
    await opening.fresh()

    assert opened["PEM"] == "fake-line-0123\nfake-line-4567\n"
    assert opening.values.mask.text(f"{OTHER}, fake-line-0123\nfake-line-4567.") == (
        "[masked: LOGS of desk], [masked: PEM of desk]."
    )
    assert opening.of(id) == {}


def test_however_many_are_set_those_that_went_are_remembered() -> None:
    values = Values({})
    many = {f"S{n}": f"fake-value-{n:04d}-abcdef" for n in range(2 * MOST_PAST)}
    values.fill(many, {}, [("key of house", KEY)])
    values.fill(many, {})
    values.fill(many, {})

    assert KEY not in values.mask.text(KEY)
