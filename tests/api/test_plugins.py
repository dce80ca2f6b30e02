"""Plugins over /v1: put there from an archive, planned, read, refused, removed."""

import pytest

from tests.api.conftest import Studio
from tests.core.packages import zips

ZIP = {"Content-Type": "application/zip"}


async def put(studio: Studio, data: bytes, name: str = "kit", query: str = "", **headers: str):
    return await studio.raw(
        "PUT", f"/v1/plugins/{name}{query}", person="alice", content=data,
        headers={**ZIP, **{key.replace("_", "-"): value for key, value in headers.items()}},
    )  # fmt: skip


async def test_a_plugin_is_planned_put_there_and_read(studio: Studio):
    planned = await put(studio, zips.packed(), query="?dryRun=true")
    assert (planned.status_code, planned.json()["saved"]) == (200, False)
    assert planned.json()["current"] == 0

    done = await put(studio, zips.packed(), If_Match='"0"')

    assert (done.status_code, done.headers["etag"]) == (201, '"1"')
    assert done.json()["hash"] == planned.json()["hash"]
    shown = await studio.raw("GET", "/v1/plugins/kit")
    assert shown.headers["etag"] == '"1"'
    assert [skill["name"] for skill in shown.json()["skills"]] == ["notes"]
    assert shown.json()["servers"][0]["target"] == "${python} ${plugin}/x.py"
    listed = (await studio.raw("GET", "/v1/plugins")).json()["items"]
    assert [plugin["name"] for plugin in listed] == ["kit"]
    assert (await studio.raw("GET", "/v1/plugins/kit/calls")).json() == {"items": [], "next": None}


async def test_a_revision_that_somebody_else_made_is_a_conflict(studio: Studio):
    await put(studio, zips.packed())

    response = await put(studio, zips.packed(zips.files(version="2")), If_Match='"0"')

    assert (response.status_code, response.json()["error"]["code"]) == (409, "plugin.changed")


async def test_every_fault_of_an_archive_is_a_field(studio: Studio):
    data = zips.zipped([("../a", b""), ("/b", b"")])

    response = await put(studio, data)

    assert (response.status_code, response.json()["error"]["code"]) == (422, "archive.invalid")
    assert set(response.json()["error"]["details"]["fields"]) == {"../a", "/b"}


async def test_an_update_tells_what_it_changed(studio: Studio):
    await put(studio, zips.packed())

    done = await put(studio, zips.packed(zips.files(version="2", skills=[])), If_Match='"1"')

    words = [change["words"] for change in done.json()["changes"]]
    assert "version 1.2.0 becomes 2" in words
    assert "skill notes removed" in words
    history = (await studio.raw("GET", "/v1/plugins/kit")).json()["history"]
    assert [one["revision"] for one in history] == [2, 1]
    assert [change["words"] for change in history[0]["changes"]] == words


@pytest.mark.parametrize(
    "headers, code, status",
    [
        ({"Content-Type": "application/json"}, "body.other_kind", 415),
        ({**ZIP, "Content-Encoding": "gzip"}, "body.encoded", 415),
    ],
)
async def test_only_a_plain_archive_is_read(studio: Studio, headers, code, status):
    response = await studio.raw(
        "PUT", "/v1/plugins/kit", person="alice", content=b"x", headers=headers
    )

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


async def test_an_archive_over_the_limit_is_not_read(studio: Studio, monkeypatch):
    from studio.api import wire

    monkeypatch.setattr(wire, "RAW_BYTES", 100)

    response = await put(studio, zips.packed())

    assert (response.status_code, response.json()["error"]["code"]) == (413, "body.too_large")


async def test_a_plugin_in_use_is_not_removed_and_an_unused_one_is(studio: Studio):
    await put(studio, zips.packed())
    agent = {"model": {"provider": "scripted", "name": "s"}, "plugins": ["kit"]}
    await studio.raw("PUT", "/v1/agents/user", person="alice", json=agent)

    refused = await studio.raw("DELETE", "/v1/plugins/kit", person="alice")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "plugin.in_use")
    assert refused.json()["error"]["details"]["agents"] == ["user"]

    await studio.raw("PUT", "/v1/agents/user", person="alice", json={**agent, "plugins": []})
    assert (await studio.raw("DELETE", "/v1/plugins/kit", person="alice")).status_code == 204
    assert (await studio.raw("GET", "/v1/plugins/kit")).json()["removed"] is True
    assert (await studio.raw("GET", "/v1/plugins")).json()["items"] == []


async def test_who_may_not_is_refused(studio: Studio):
    response = await studio.raw(
        "PUT", "/v1/plugins/kit", person="bob", content=zips.packed(), headers=ZIP
    )

    assert response.status_code == 403


async def test_a_skill_is_saved_once(studio: Studio):
    data = zips.packed({"SKILL.md": zips.SKILL.encode()})

    answers = [
        await studio.raw("POST", "/v1/skills", person="alice", content=data, headers=ZIP)
        for _ in range(2)
    ]

    assert [answer.status_code for answer in answers] == [201, 200]
    first = answers[0].json()
    assert first["reference"] == f"notes@{first['hash']}"


async def test_the_schema_of_a_plugin_is_served(studio: Studio):
    response = await studio.raw("GET", "/v1/schemas/plugin.json", person="")

    assert response.json()["title"] == "A plugin of Operator Studio"


async def test_sessions_are_listed_by_plugin(studio: Studio):
    assert (await studio.raw("GET", "/v1/sessions?plugin=kit")).json()["items"] == []
