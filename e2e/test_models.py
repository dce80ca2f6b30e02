"""A provider is added, tried with one click, and its answer appears by itself."""

import re

from playwright.sync_api import expect

from e2e.acts import same_as_reloaded
from e2e.conftest import SignIn
from e2e.studio import Studio
from e2e.test_files import Model, model

__all__ = ["model"]  # a server that answers

KEY = "fake-key-0123456789abcdef"


def test_a_provider_is_added_tried_and_removed(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/models")

    page.get_by_label("Name", exact=True).fill("nowhere")
    page.get_by_label("Kind").select_option("chat")
    page.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    page.locator("#field-key").fill(KEY)
    page.get_by_label("Models", exact=True).fill("tiny")
    page.get_by_role("button", name="Save").click()
    card = page.get_by_role("article", name="nowhere")
    expect(card).to_contain_text("sealed, set")
    card.get_by_role("button", name="Test").click()

    expect(card).to_contain_text("tiny did not answer", timeout=15_000)
    expect(card).to_contain_text("could not be reached")
    same_as_reloaded(page)
    assert KEY not in page.content()
    card.get_by_text("Remove…").click()
    card.get_by_role("button", name="Remove nowhere").click()
    expect(page.get_by_text("No provider yet")).to_be_visible()


def test_a_secret_is_set_and_its_value_is_nowhere(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/secrets")

    page.get_by_label("Name", exact=True).fill("E2E_TOKEN")
    page.get_by_label("Value").fill(KEY)
    page.get_by_role("button", name="Seal it").click()

    expect(page.get_by_role("row", name=re.compile("E2E_TOKEN"))).to_contain_text("version 1")
    assert KEY not in page.content()


def test_a_model_that_answers_shows_its_answer_and_how_long_it_took(
    own_studio: Studio, sign_in: SignIn, model: Model
) -> None:
    page = sign_in(own_studio)
    url = f"http://127.0.0.1:{model.server_address[1]}/v1"
    own_studio.api.models.save("house", kind="chat", models=["normal"], base_url=url, key=KEY)
    page.goto(f"{own_studio.url}/models")
    card = page.get_by_role("article", name="house")

    card.get_by_role("button", name="Test").click()

    expect(card).to_contain_text("I saw it.", timeout=15_000)
    expect(card).to_contain_text(re.compile(r"normal answered in [\d.]+ m?s, its first word"))
    same_as_reloaded(page)
    assert KEY not in page.content()
