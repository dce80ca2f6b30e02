"""The page of models: keys go in and never come out, tests are asked for and shown."""

from studio.web import list_topics
from tests.web import html
from tests.web.conftest import Studio, Visitor

KEY = "fake-key-0123456789abcdef"
GIVEN = {"name": "house", "kind": "anthropic", "models": "claude-one\nclaude-two", "key": KEY}


async def test_an_empty_page_says_what_to_do(studio: Studio, ada: Visitor, bob: Visitor) -> None:
    assert "add a provider with its key in the form" in (await ada.open("/models")).text
    page = await bob.open("/models")
    assert "an admin does that" in page.text
    assert not [form for form in page.all("form") if form.attrs.get("action") == "/models"]


async def test_a_provider_is_saved_with_its_key_which_is_never_shown(
    studio: Studio, ada: Visitor
) -> None:
    form = (await ada.open("/models")).form("/models")

    done = await ada.press(form, **GIVEN)
    page = await ada.get("/models")
    edit = await ada.get("/models?edit=house")

    assert done.status_code == 303
    assert KEY not in done.text + page.text + edit.text
    (provider,) = (await studio.reader.models(ada.person)).providers
    assert (provider.saved.models, provider.has_key) == (("claude-one", "claude-two"), True)


async def test_what_is_wrong_is_said_for_each_field_and_the_rest_is_kept(
    studio: Studio, ada: Visitor
) -> None:
    answer = await ada.post(
        "/models", {**GIVEN, "name": "chat", "kind": "chat", "context_window": "many"}
    )

    form = html.read(answer.text).form("/models")
    assert answer.status_code == 422
    assert (form.fields()["name"], form.fields()["kind"]) == ("chat", "chat")
    assert form.fields()["models"].split() == ["claude-one", "claude-two"]
    assert form.fields()["key"] == ""
    assert KEY not in answer.text
    for words in ("means something else", "base_url: is needed", "a whole number"):
        assert words in html.read(answer.text).text


async def test_a_change_without_a_key_keeps_the_one_that_is_set(
    studio: Studio, ada: Visitor
) -> None:
    await ada.post("/models", GIVEN)
    form = (await ada.open("/models?edit=house")).form("/models")

    await ada.press(form, models="claude-two")

    (provider,) = (await studio.reader.models(ada.person)).providers
    assert (provider.saved.models, provider.has_key) == (("claude-two",), True)


async def test_a_test_is_asked_for_and_waits_for_a_worker(studio: Studio, ada: Visitor) -> None:
    await ada.post("/models", GIVEN)

    await ada.press((await ada.open("/models")).form("/models/house/test"), model="claude-two")

    page = await ada.open("/models")
    assert "it waits for a worker" in page.text
    (provider,) = (await studio.reader.models(ada.person)).providers
    assert provider.test is not None
    assert provider.test.subject == {"provider": "house", "name": "claude-two"}


async def test_a_provider_that_an_agent_names_cannot_be_removed(
    studio: Studio, ada: Visitor
) -> None:
    await ada.post("/models", GIVEN)
    agent = await studio.reader.agent(ada.person, "helper")
    model = {"provider": "house", "name": "claude-one"}
    await studio.runtime.save_agent(ada.person, {**agent.manifest, "model": model})
    form = (await ada.open("/models")).form("/models/house/removal")

    refused = await ada.press(form)

    assert refused.status_code == 409
    assert "used by the newest version of helper" in html.read(refused.text).text


async def test_a_default_is_chosen_and_taken_back(studio: Studio, ada: Visitor) -> None:
    await ada.post("/models", GIVEN)
    form = (await ada.open("/models")).form("/models/default")

    await ada.press(form, model="house/claude-two")
    chosen = (await studio.reader.models(ada.person)).default
    refused = await ada.press((await ada.open("/models")).form("/models/house/removal"))
    await ada.press(form, model="")

    assert chosen == {"provider": "house", "name": "claude-two"}
    assert refused.status_code == 409
    assert (await studio.reader.models(ada.person)).default is None


async def test_operators_change_no_models(studio: Studio, alice: Visitor, ada: Visitor) -> None:
    await ada.post("/models", GIVEN)

    answers = [
        await alice.post("/models", {**GIVEN, "name": "mine"}),
        await alice.post("/models/house/test", {"model": "claude-one"}),
        await alice.post("/models/house/removal", {}),
        await alice.post("/models/default", {"model": "house/claude-one"}),
    ]

    assert [answer.status_code for answer in answers] == [403] * 4


async def test_a_changed_address_wants_its_key_again_and_keeps_what_was_typed(
    studio: Studio, ada: Visitor
) -> None:
    await ada.post("/models", GIVEN)
    form = (await ada.open("/models?edit=house")).form("/models")

    answer = await ada.press(form, base_url="https://elsewhere.example/v1")

    again = html.read(answer.text).form("/models")
    assert answer.status_code == 422
    assert again.fields()["base_url"] == "https://elsewhere.example/v1"
    assert "The key was given for another address" in html.read(answer.text).text
    (provider,) = (await studio.reader.models(ada.person)).providers
    assert provider.saved.base_url == ""


async def test_an_open_page_is_told_when_an_agent_names_a_provider(
    studio: Studio, ada: Visitor
) -> None:
    await ada.post("/models", GIVEN)
    topic = list_topics.ModelsTopic(studio.reader, "models")
    await topic.open()
    assert await topic.news() == []

    agent = await studio.reader.agent(ada.person, "helper")
    model = {"provider": "house", "name": "claude-one"}
    await studio.runtime.save_agent(ada.person, {**agent.manifest, "model": model})

    assert len(await topic.news()) == 1


async def test_only_a_key_that_is_there_can_be_kept_or_taken_away(
    studio: Studio, ada: Visitor
) -> None:
    await ada.post("/models", GIVEN)
    await ada.post("/models", {**GIVEN, "name": "keyless", "key": ""})

    keyed, keyless = await ada.open("/models?edit=house"), await ada.open("/models?edit=keyless")

    assert "no_key" in [field.attrs.get("name") for field in keyed.all("input")]
    assert "no_key" not in [field.attrs.get("name") for field in keyless.all("input")]
    assert "Empty keeps the one" not in keyless.text
