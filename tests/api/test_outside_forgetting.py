"""A sender without room is told what makes some, and an admin makes it."""

from dataclasses import replace

import pytest

from api_client.errors import Denied, NotFound
from tests.api.conftest import Studio
from tests.api.test_otlp import TRACE, only, refused, request_of, send


async def test_a_sender_without_room_is_told_what_makes_some(studio: Studio) -> None:
    verbs = studio.core.runtime
    verbs.outside = replace(verbs.outside, sender_bytes=1_000)
    data = request_of(studio, 5).SerializeToString()
    await send(studio, data)
    studio.core.clock.pass_time(3 * 86_400_000)

    _, words = refused(await send(studio, data))

    assert "at most 0.0 MiB (STUDIO_OUTSIDE_SENDER_MIB)" in words
    assert "Its oldest trace had its last span 3 days ago." in words
    assert "A trace goes 30 days after its last span (STUDIO_OUTSIDE_DAYS)." in words
    assert "an admin forgets traces" in words


async def test_an_admin_forgets_a_trace_and_its_sender_has_room(studio: Studio) -> None:
    verbs = studio.core.runtime
    verbs.outside = replace(verbs.outside, sender_bytes=1_000)
    data = request_of(studio, 5).SerializeToString()
    before, _ = refused(await send(studio, data))

    await studio.client("alice").outside_traces.forget(TRACE)
    with pytest.raises(NotFound):
        await studio.client("alice").outside_traces.show(TRACE)
    after, _ = refused(await send(studio, data))

    assert before == after > 0
    assert (await only(studio))["spans"] == 5 - after


async def test_only_an_admin_forgets_and_only_what_is_there(studio: Studio) -> None:
    await send(studio, request_of(studio).SerializeToString())

    with pytest.raises(Denied):
        await studio.client("bob").outside_traces.forget(TRACE)
    for strange in ("cd" * 16, "x", "%00"):
        with pytest.raises(NotFound):
            await studio.client("alice").outside_traces.forget(strange)

    assert (await only(studio))["spans"] == 1
