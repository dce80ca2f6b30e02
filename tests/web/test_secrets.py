"""The page of secrets: values go in, are never shown, and what names them is told."""

from tests.web import html
from tests.web.conftest import Studio, Visitor

VALUE = "fake-token-0123456789"


async def test_a_secret_is_set_and_shown_without_its_value(studio: Studio, ada: Visitor) -> None:
    form = (await ada.open("/secrets")).form("/secrets")

    done = await ada.press(form, name="TOKEN", value=VALUE)
    page = await ada.get(done.headers["location"])

    assert done.status_code == 303
    assert VALUE not in done.text + page.text
    assert "TOKEN is set." in html.read(page.text).text
    assert [row.name for row in await studio.reader.secrets(ada.person)] == ["TOKEN"]


async def test_what_is_refused_keeps_the_name_and_never_the_value(
    studio: Studio, ada: Visitor
) -> None:
    answer = await ada.post("/secrets", {"name": "no good", "value": VALUE})

    form = html.read(answer.text).form("/secrets")
    assert answer.status_code == 422
    assert form.fields()["name"] == "no good"
    assert form.fields()["value"] == ""
    assert VALUE not in answer.text
    assert "capital letters" in html.read(answer.text).one(id="main").text


async def test_removing_says_who_names_it(studio: Studio, ada: Visitor) -> None:
    tool = {"name": "t", "kind": "http", "method": "GET", "url": "https://example.org/",
            "input": {"type": "object"}, "headers": {"X-Token": {"secret": "TOKEN"}}}  # fmt: skip
    agent = await studio.reader.agent(ada.person, "helper")
    await studio.runtime.save_agent(ada.person, {**agent.manifest, "tools": [tool]})
    await studio.runtime.set_secret(ada.person, "TOKEN", VALUE)
    page = await ada.open("/secrets")

    await ada.press(page.form("/secrets/TOKEN/removal"))

    assert "What needs it in helper is not offered" in page.text
    after = await ada.open("/secrets")
    assert "not set" in after.text
    assert "helper" in after.one(id="main").text


async def test_operators_see_no_secrets(studio: Studio, alice: Visitor, ada: Visitor) -> None:
    seen = await alice.get("/secrets")
    tried = await alice.post("/secrets", {"name": "TOKEN", "value": VALUE})

    assert (seen.status_code, tried.status_code) == (403, 403)
    assert await studio.reader.secrets(ada.person) == []
