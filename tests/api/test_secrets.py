"""Secrets go in and never come out."""

import pytest

from tests.api.conftest import Studio
from tests.api.test_sessions import refusal

VALUE = "fake-token-0123456789"


async def test_a_secret_is_set_listed_and_removed(studio: Studio):
    alice = studio.client("alice")

    first = await alice.secrets.set("TOKEN", VALUE)
    second = await alice.secrets.set("TOKEN", VALUE + "2")
    (listed,) = (await alice.secrets.list())["items"]
    await alice.secrets.remove("TOKEN")

    assert (first["version"], second["version"]) == (1, 2)
    assert (listed["name"], listed["by"], listed["used"]) == ("TOKEN", "key:alice", None)
    assert (await alice.secrets.list())["items"] == []


async def test_no_answer_holds_a_value(studio: Studio):
    put = await studio.raw("PUT", "/v1/secrets/TOKEN", person="alice", json={"value": VALUE})
    listed = await studio.raw("GET", "/v1/secrets", person="alice")
    rotated = await studio.raw("POST", "/v1/secrets/rotation", person="alice")
    refused = await studio.raw("PUT", "/v1/secrets/lower", person="alice", json={"value": VALUE})

    answers = [put, listed, rotated, refused]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 422]
    assert not any(VALUE in answer.text for answer in answers)
    assert rotated.json() == {"count": 1}


@pytest.mark.parametrize("person", ["bob", "charlie"])
async def test_only_an_admin_has_to_do_with_secrets(studio: Studio, person):
    client = studio.client(person)

    refusals = [
        await refusal(client.secrets.list()),
        await refusal(client.secrets.set("TOKEN", VALUE)),
        await refusal(client.secrets.remove("TOKEN")),
        await refusal(client.secrets.rotate()),
    ]

    assert [error.status for error in refusals] == [403] * 4


@pytest.mark.parametrize(
    "body", [{}, {"value": "short"}, {"value": "x" * 8_193}, {"value": 12345678}]
)
async def test_a_value_is_a_text_of_some_length(studio: Studio, body):
    answer = await studio.raw("PUT", "/v1/secrets/TOKEN", person="alice", json=body)

    assert answer.status_code == 422
    assert set(answer.json()["error"]["details"]["fields"]) == {"value"}


async def test_a_secret_that_never_was_cannot_be_removed(studio: Studio):
    error = await refusal(studio.client("alice").secrets.remove("TOKEN"))

    assert (error.status, error.code) == (404, "secret.not_found")
