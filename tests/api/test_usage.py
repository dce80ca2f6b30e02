"""Usage for programs: the same sums under the same rights."""

import pytest

from tests.api.conftest import Studio
from tests.api.test_openapi import validated
from tests.api.test_sessions import refusal


@pytest.mark.parametrize("by", ["day", "agent", "model", "plugin", "session"])
async def test_usage_fits_its_schema(studio: Studio, by: str):
    await studio.held()

    found = await studio.client("alice").usage.show(by)

    validated(found, "Usage")
    assert found["by"] == by
    assert found["total"]["attempts"] == 1
    assert found["items"]


async def test_what_is_private_is_in_no_sum_of_others(studio: Studio):
    await studio.held(private=True)

    assert (await studio.client("charlie").usage.show("session"))["total"]["attempts"] == 0


async def test_days_that_make_no_sense_are_refused(studio: Studio):
    error = await refusal(studio.client("alice").usage.show(since="soon"))

    assert (error.status, error.code, set(error.fields)) == (422, "usage.days", {"since"})
