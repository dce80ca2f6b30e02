"""Servers for programs: how each is, and a look at what one would bring."""

import pytest

from tests.api.conftest import Studio
from tests.api.test_sessions import refusal

STDIO = {"name": "preview", "transport": "stdio", "command": ["no-such-program"]}


async def test_a_look_is_asked_for_and_read(studio: Studio):
    alice = studio.client("alice")

    asked = await alice.servers.preview(STDIO, confirm=True)
    found = await alice.servers.show_preview(asked["id"])

    assert (found["state"], found["target"], found["tools"]) == ("waiting", "no-such-program", [])
    assert (await alice.servers.preview(STDIO, confirm=True))["id"] == asked["id"]


async def test_a_program_is_not_started_unconfirmed(studio: Studio):
    error = await refusal(studio.client("alice").servers.preview(STDIO))

    assert (error.status, error.code) == (422, "server.not_confirmed")
    assert "no-such-program" in error.message


async def test_a_description_that_makes_no_sense_names_its_fields(studio: Studio):
    error = await refusal(
        studio.client("alice").servers.preview({"name": "x", "transport": "http", "url": "ftp://x"})
    )

    assert error.code == "server.invalid"
    assert "http or https" in error.fields["url"]


@pytest.mark.parametrize("person", ["bob", "charlie"])
async def test_only_an_admin_may_look(studio: Studio, person):
    error = await refusal(studio.client(person).servers.preview(STDIO, confirm=True))

    assert error.status == 403
    assert (await studio.client(person).servers.list())["items"] == []
