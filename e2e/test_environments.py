"""What an operator comes to do with environments: make, label, fill, look into, fork, end them."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from e2e.acts import AGENT, begin, ends, fits, look, same_as_reloaded
from e2e.conftest import Look, Open, SignIn
from e2e.studio import Studio, until
from e2e.test_accessibility import is_accessible, press

MANIFEST: dict[str, Any] = {
    "description": "Files and a shell.",
    "setup": [{"run": "echo made > made.txt"}],
    "secrets": [
        {"name": "CRM_TOKEN", "type": "bearer", "binding": "https://crm.example/api"},
        {"name": "DEPLOY_KEY", "type": "file", "binding": "deploy.pem", "required": False},
    ],
    "network": {"allow": [{"host": "pypi.org"}]},
}
PLAIN: dict[str, Any] = {"description": "Plain.", "network": {"allow": [{"host": "pypi.org"}]}}
BROKEN: dict[str, Any] = {"setup": [{"run": "echo one"}, {"run": "echo no such thing >&2; exit 3"}]}
VALUE = "fake-token-0123456789"
TABS = ("overview", "timeline", "secrets", "network", "setup", "sessions", "events")


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    """A studio that lets every command run, with manifests and environments in every state."""
    with Studio.new() as found:
        policy = found.api.policy.show()["version"]
        found.api.policy.save([{"effect": "allow"}], version=policy, note="All runs here")
        for name, manifest in {"python": MANIFEST, "plain": PLAIN, "broken": BROKEN}.items():
            found.api.environment_manifests.save(name, manifest)
        found.api.environment_manifests.save("plain", {**PLAIN, "limits": {"memory_mib": 512}})
        make(found, "desk", "plain@1", labels={"team": "web", "stage": "dev"})
        make(found, "full", "python", labels={"team": "web"})
        make(found, "broken", "broken")
        found.api.environments.make("vault", definition={"kind": "none"})
        for name in ("desk", "broken"):
            session = begin(found, shell("echo 1 > 1.txt; curl -s https://evil.example.org/; true"),
                            environment=name)  # fmt: skip
            ends(found, session, "completed" if name == "desk" else "failed")
        begin(found, "wait 600", environment=make(found, "busy", "plain"), title="A long wait")
        yield found


def make(studio: Studio, name: str, manifest: str, **more: Any) -> str:
    """An environment; its id."""
    return str(studio.api.environments.make(name, manifest, **more)["id"])


def id_of(studio: Studio, name: str) -> str:
    return str(studio.api.environments.show(name)["environment"]["id"])


def shell(command: str) -> str:
    return f"call shell {json.dumps({'command': command})}"


def open_one(page: Page, studio: Studio, name: str, query: str = "") -> None:
    look(page, studio, f"/environments/{id_of(studio, name)}{query}")
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def test_one_is_made_labelled_and_the_label_taken_back(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/environments")
    page.get_by_role("link", name="New environment").click()
    page.get_by_label("Name").fill("web/new")
    page.get_by_label("Manifest").select_option("python@1")
    page.get_by_label("Labels").fill("team=web")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("heading", name="web/new", level=1)).to_be_visible()

    page.get_by_text("Labels and owner").click()
    page.get_by_label("Labels").fill("team=api")
    page.get_by_role("button", name="Save the labels").click()
    expect(page.get_by_text("The labels are saved. They were: team=web.")).to_be_visible()
    expect(page.get_by_role("link", name="team api")).to_be_visible()
    page.get_by_role("button", name="Undo").click()

    expect(page.get_by_role("link", name="team web")).to_be_visible()
    assert studio.api.environments.show(page.url.rsplit("/", 1)[1].partition("?")[0])[
        "environment"]["labels"] == {"team": "web"}  # fmt: skip


def test_a_secret_goes_in_and_stays_out_of_the_page(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    make(studio, "sealed", "python")
    open_one(page, studio, "sealed", "?tab=secrets")
    expect(page.locator("#environment")).to_contain_text("0 of 2 set, 1 required missing")

    page.locator("#slot-CRM_TOKEN summary").first.click()
    page.get_by_label("Value of CRM_TOKEN").fill(VALUE)
    page.get_by_role("button", name="Set CRM_TOKEN").click()

    expect(page.get_by_text("CRM_TOKEN is set. Its value is shown nowhere.")).to_be_visible()
    expect(page.locator("#slot-CRM_TOKEN")).to_contain_text("Replace…")
    assert VALUE not in page.content()
    page.locator("#slot-CRM_TOKEN summary", has_text="Remove…").click()
    page.get_by_role("button", name="Remove CRM_TOKEN").click()
    expect(page.locator("#slot-CRM_TOKEN")).to_contain_text("required, missing")


def test_what_is_being_typed_outlives_news(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    make(studio, "typing", "python")
    open_one(page, studio, "typing", "?tab=secrets")
    page.locator("#slot-CRM_TOKEN summary").first.click()
    page.get_by_label("Value of CRM_TOKEN").fill(VALUE)
    page.get_by_text("Labels and owner").click()
    page.get_by_label("Labels").fill("half=typed")

    studio.api.environments.set_secret("typing", "DEPLOY_KEY", "line of a key\nanother\n")

    expect(page.locator("#slot-DEPLOY_KEY")).to_contain_text("version 1")
    expect(page.get_by_label("Value of CRM_TOKEN")).to_have_value(VALUE)
    expect(page.get_by_label("Labels")).to_have_value("half=typed")


def test_a_refused_place_becomes_a_change_of_the_manifest(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    open_one(page, studio, "desk", "?tab=network")
    row = page.locator("tr", has_text="evil.example.org").first
    expect(row).to_contain_text("refused")

    row.get_by_role("link", name="Propose for the allow-list").click()
    expect(page.locator("#plan")).to_contain_text("network evil.example.org added")
    expect(page.locator("#plan")).to_contain_text("behind")
    page.get_by_role("button", name="Save as version 3").click()

    expect(page.get_by_role("heading", name="plain", level=1)).to_be_visible()
    expect(page.get_by_text("evil.example.org", exact=True)).to_be_visible()
    open_one(page, studio, "desk")
    page.get_by_role("link", name="2 newer").click()
    expect(page.get_by_text("network evil.example.org added")).to_be_visible()


def test_a_fork_shows_its_plan_before_it_is_made(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    open_one(page, studio, "desk")
    page.get_by_role("link", name="Fork", exact=True).click()
    page.get_by_label("Name of the new one").fill("desk-fork")
    page.get_by_role("button", name="Plan", exact=True).last.click()
    expect(page.locator("#plan")).to_contain_text("version 2 of desk")

    page.get_by_role("button", name="Make the fork").click()

    expect(page.get_by_role("heading", name="desk-fork", level=1)).to_be_visible()
    expect(page.get_by_role("link", name="forked from desk v2")).to_be_visible()


def test_a_busy_one_is_not_deleted_and_says_who_is_in_it(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    open_one(page, studio, "busy")
    page.get_by_role("link", name="Delete…").click()

    page.get_by_role("button", name="Delete busy").click()

    alert = page.locator("main [role=alert]")
    expect(alert).to_contain_text("turn 1 of the session “A long wait”")
    alert.get_by_role("link", name="Open the session").click()
    expect(page.get_by_role("heading", name="A long wait", level=1)).to_be_visible()
    page.get_by_role("link", name="environment busy").click()
    expect(page.get_by_role("heading", name="busy", level=1)).to_be_visible()


def test_a_long_title_of_who_is_in_it_needs_no_scrolling_sideways(
    studio: Studio, sign_in: SignIn
) -> None:
    name = make(studio, "crowded", "plain")
    begin(studio, "wait 600", environment=name, title="Q" * 170)
    page = sign_in(studio, viewport={"width": 390, "height": 844})

    look(page, studio, f"/environments/{name}")

    expect(page.locator(".head")).to_contain_text("QQQ")
    fits(page)


def test_a_failed_setup_leads_to_what_it_wrote(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    open_one(page, studio, "broken", "?tab=setup")

    expect(page.locator("main [role=alert]")).to_contain_text("Command 2 of 2 failed.")
    expect(page.locator("#run-2 pre")).to_contain_text("no such thing")
    with page.expect_download() as waiting:
        page.locator("#run-2").get_by_role("link", name="Download").click()
    assert waiting.value.path().read_text() == "no such thing\n"


# Live ---------------------------------------------------------------------------------------------


def test_the_list_and_the_page_are_true_while_things_happen(
    studio: Studio, sign_in: SignIn
) -> None:
    listed, page = sign_in(studio), sign_in(studio)
    make(studio, "lively", "plain")
    look(listed, studio, "/environments?label=live%3Dyes")
    open_one(page, studio, "lively")

    studio.api.environments.label("lively", {"live": "yes"})
    session = begin(studio, shell("echo two > 2.txt"), environment="lively")
    ends(studio, session)

    row = listed.locator("#list tbody tr")
    expect(row).to_contain_text("lively")
    until(lambda: studio.api.environments.show("lively")["environment"]["version"] >= 2,
          what="the version that the turn kept")  # fmt: skip
    expect(page.get_by_role("link", name="version 2")).to_be_visible()
    same_as_reloaded(page)
    same_as_reloaded(listed)


@pytest.mark.parametrize("tab", TABS[1:])
def test_each_tab_is_true(studio: Studio, sign_in: SignIn, tab: str) -> None:
    page = sign_in(studio)
    name = f"true-{tab}"
    make(studio, name, "plain")
    open_one(page, studio, name, f"?tab={tab}")

    ends(studio, begin(studio, shell("curl -s https://no.example.org/; true"), environment=name))
    studio.api.environments.label(name, {"tab": tab})

    expect(page.get_by_role("link", name=f"tab {tab}")).to_be_visible()
    same_as_reloaded(page)


def test_what_a_worker_does_is_told_as_it_happens(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    make(studio, "reset-me", "plain")
    ends(studio, begin(studio, shell("echo 1 > 1.txt"), environment="reset-me"))
    open_one(page, studio, "reset-me")
    page.get_by_role("link", name="Reset…").click()
    expect(page.get_by_text("the disk is empty")).to_be_visible()

    page.get_by_role("button", name="Reset reset-me").click()

    expect(page.locator("#environment")).to_contain_text("reset the disk")
    expect(page.locator("#environment")).to_contain_text("not set up yet")
    same_as_reloaded(page)


# By other means -----------------------------------------------------------------------------------


def test_all_of_it_with_scripts_off(studio: Studio, context: Open) -> None:
    page = context(studio, java_script_enabled=False).new_page()
    page.goto(studio.link("noscript", "admin"))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{studio.url}/environments/new")
    page.get_by_label("Name").fill("plainly")
    page.get_by_label("Manifest").select_option("python@1")
    page.get_by_role("button", name="Make it").click()

    sides = page.get_by_role("navigation", name="Sides")
    sides.get_by_role("link", name="Secrets").click()
    page.locator("#slot-CRM_TOKEN summary").first.click()
    page.get_by_label("Value of CRM_TOKEN").fill(VALUE)
    page.get_by_role("button", name="Set CRM_TOKEN").click()
    expect(page.get_by_text("1 of 2 set").first).to_be_visible()
    page.get_by_role("link", name="Fork", exact=True).click()
    page.get_by_label("Name of the new one").fill("plainly-2")
    page.get_by_label("CRM_TOKEN").check()
    page.get_by_role("button", name="Plan", exact=True).last.click()
    expect(page.locator("#plan")).to_contain_text("secrets copied")
    page.get_by_role("button", name="Make the fork").click()
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete plainly-2").click()

    expect(page.get_by_text("It was deleted")).to_be_visible()


def test_it_is_reached_and_walked_by_keys(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.goto(studio.url)
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Go to Environments")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="Environments", level=1)).to_be_visible()

    name = page.locator("#list tbody tr").nth(1).locator("a").first.inner_text()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def test_a_session_is_started_on_one(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    open_one(page, studio, "desk")
    page.get_by_role("link", name="Start a session").click()
    expect(page.get_by_label("Environment")).to_have_value(id_of(studio, "desk"))

    page.get_by_label("Agent").select_option(AGENT)
    page.get_by_label("First message").fill(shell("cat made.txt || true"))
    page.get_by_role("button", name="Start", exact=True).click()

    expect(page.locator("#header").get_by_role("link", name="environment desk")).to_be_visible()


# Looks --------------------------------------------------------------------------------------------


LOOKED = [
    *(("desk", tab) for tab in TABS), ("broken", "setup"), ("vault", "secrets"),
    ("vault", "network"), ("full", "secrets"), ("full", "network"),
]  # fmt: skip


@pytest.mark.parametrize("name, tab", LOOKED)
def test_each_tab_is_accessible(studio: Studio, window: Look, name: str, tab: str) -> None:
    page = window(studio)
    open_one(page, studio, name, f"?tab={tab}")
    for one in page.locator("main details summary").all():
        one.click()

    is_accessible(page)


@pytest.mark.parametrize(
    "path",
    ["/environments", "/environments?label=team%3Dweb", "/environments?name=none",
     "/environments?label=nonsense", "/environments/new", "/environments/manifests",
     "/environments/manifests/new", "/environments/manifests/plain",
     "/environments/manifests/plain/versions", "/environments/manifests/plain/diff",
     "/environments/manifests/python/edit?allow=evil.example.org:443",
     "/sessions?environment=env_none"],
)  # fmt: skip
def test_each_page_is_accessible(studio: Studio, window: Look, path: str) -> None:
    page = window(studio)
    page.goto(studio.url + path)

    is_accessible(page)


def test_forms_with_what_is_wrong_in_them(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    url = f"{studio.url}/environments"
    page.goto(f"{url}/new")
    page.get_by_label("Name").fill("../x")
    page.get_by_label("Manifest").select_option("-")
    page.get_by_text("Write a definition instead").click()
    page.get_by_label("Definition, as YAML").fill("limits:\n  memory_mib: 1\n")
    press(page.get_by_role("button", name="Make it"))
    expect(page.locator("main [role=alert]")).to_be_visible()
    is_accessible(page)

    for act in ("stop", "reset", "deletion"):
        page.goto(f"{url}/{id_of(studio, 'busy')}/{act}")
        is_accessible(page)
        press(page.locator("main form button").first)
        expect(page.locator("main [role=alert]")).to_be_visible()
        is_accessible(page)

    page.goto(f"{url}/manifests/plain/edit")
    page.get_by_label("Manifest, as YAML").fill("name: plain\nsetup: 5\n")
    press(page.get_by_role("button", name="Plan").last)
    expect(page.locator("#faults")).to_contain_text("line 2")
    is_accessible(page)


def test_a_fork_s_plan_and_an_undo_are_accessible(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    id = id_of(studio, "full")
    page.goto(f"{studio.url}/environments/{id}/fork")
    is_accessible(page)
    page.get_by_label("Name of the new one").fill("full-2")
    press(page.get_by_role("button", name="Plan", exact=True).last)
    expect(page.locator("#plan")).to_contain_text("missing")
    is_accessible(page)

    page.goto(f"{studio.url}/environments/{id}?saved=labels&was=team%3Dnever")
    expect(page.get_by_role("heading", name="full", level=1)).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)  # it never was
    shown = studio.api.environments.show(id)["environment"]["labels"]
    before = "\n".join(f"{key}={value}" for key, value in sorted(shown.items()))
    studio.api.environments.label(id, {"team": "elsewhere"})
    page.goto(f"{studio.url}/environments/{id}?saved=labels&was={quote(before)}")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    is_accessible(page)
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_text("Labels and owner").click()
    fits(page)
