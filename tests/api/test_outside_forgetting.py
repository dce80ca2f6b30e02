"""A sender without room is told what makes some, and an admin makes it."""

from dataclasses import replace

import pytest

from api_client.errors import Denied, Gone, Invalid, NotFound
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
    with pytest.raises(Gone) as gone:
        await studio.client("charlie").outside_traces.show(TRACE)
    after, _ = refused(await send(studio, data))

    assert gone.value.code == "outside_trace.forgotten"
    assert gone.value.details["by"] == "key:alice"
    assert "forgotten by key:alice at 20" in str(gone.value)
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


async def test_an_admin_forgets_a_senders_traces_before_a_moment(studio: Studio) -> None:
    await send(studio, request_of(studio, 3).SerializeToString())
    sent_by, alice = (await only(studio))["sent_by"], studio.client("alice")

    none = await alice.outside_traces.forget_sender(sent_by, before="2026-01-01")
    others = await alice.outside_traces.forget_sender("application:nobody")
    here = await only(studio)
    done = await alice.outside_traces.forget_sender(sent_by)

    assert none == others == {"traces": 0, "spans": 0, "bytes": 0}
    assert here["spans"] == 3
    assert (done["traces"], done["spans"]) == (1, 3)
    assert done["bytes"] > 300
    with pytest.raises(Gone, match="forgotten by key:alice"):
        await alice.outside_traces.spans(TRACE)


async def test_whose_traces_are_forgotten_and_before_when_must_be_plain(studio: Studio) -> None:
    await send(studio, request_of(studio).SerializeToString())
    sent_by = (await only(studio))["sent_by"]

    with pytest.raises(Denied):
        await studio.client("bob").outside_traces.forget_sender(sent_by)
    with pytest.raises(Invalid) as unclear:
        await studio.client("alice").outside_traces.forget_sender(sent_by, before="soon")
    nobodys = await studio.raw("DELETE", "/v1/outside-traces", person="alice")
    empty = await studio.raw("DELETE", "/v1/outside-traces?sent_by=", person="alice")

    assert "before" in unclear.value.details["fields"]
    assert (nobodys.status_code, empty.status_code) == (422, 422)
    assert (await only(studio))["spans"] == 1
