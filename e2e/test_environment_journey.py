"""A journey: make, label, set a secret, run a turn, see its diff, fork from before, restore."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from e2e.acts import approve, card, ends, held
from e2e.conftest import SignIn
from e2e.studio import Studio, until

AGENT = {
    "name": "keeper", "description": "Keeps a site.", "instructions": "Work.",
    "model": {"provider": "scripted", "name": "scripted"},
}  # fmt: skip
MANIFEST = {
    "name": "site",
    "files": [{"path": "site/index.html", "text": "<h1>One</h1>\n"}],
    "setup": [{"run": "echo ready > ready.txt"}],
    "secrets": [{"name": "DEPLOY_KEY", "type": "variable", "binding": "DEPLOY_KEY"}],
}
VALUE = "canary-deploy-9f8e7d"
RULES = [
    {"effect": "ask", "tool": "shell", "when": [
        {"field": "command", "op": "matches", "value": "\\brm\\b"}]},
    {"effect": "allow"},
]  # fmt: skip
WORK = "; ".join([
    "sed -i s/One/Two/ site/index.html", "echo new > site/new.html",
    'test -n "$DEPLOY_KEY" && echo "key $DEPLOY_KEY" > outputs.txt', "rm ready.txt",
])  # fmt: skip


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    """A studio of its own, with a keeper and a rule that holds what removes."""
    with Studio.new() as found:
        client = found.api
        client.agents.save("keeper", AGENT)
        client.policy.save(RULES, version=client.policy.show()["version"])
        client.environment_manifests.save("site", MANIFEST)
        yield found


def rows(page: Page) -> dict[str, str]:
    """What each path of a comparison is said to have become."""
    found = page.locator("tbody tr")
    return {
        row.locator("td").first.inner_text().strip(): row.locator("td").nth(1).inner_text().strip()
        for row in found.all()
    }


def made(page: Page, studio: Studio) -> str:
    """Make an environment with a label and its secret; its id."""
    page.goto(f"{studio.url}/environments/new")
    page.get_by_label("Name").fill("shop")
    page.get_by_label("Manifest").select_option("site@1")
    page.get_by_label("Labels").fill("stage=test")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("heading", name="shop", level=1)).to_be_visible()
    id = page.url.rsplit("/", 1)[1].partition("?")[0]
    page.locator(".tabs").get_by_role("link", name="Secrets").click()
    page.locator("#slot-DEPLOY_KEY summary").first.click()
    page.get_by_label("Value of DEPLOY_KEY").fill(VALUE)
    page.get_by_role("button", name="Set DEPLOY_KEY").click()
    expect(page.get_by_text("DEPLOY_KEY is set. Its value is shown nowhere.")).to_be_visible()
    return id


def worked(page: Page, studio: Studio) -> str:
    """Start a session on it whose command is held, and approve that; its id."""
    page.get_by_role("link", name="Start a session").click()
    page.get_by_label("Agent").select_option("keeper")
    asked = {"command": WORK, "secrets": ["DEPLOY_KEY"]}
    page.get_by_label("First message").fill(f"call shell {json.dumps(asked)}")
    page.get_by_role("button", name="Start", exact=True).click()
    waiting = card(page, "shell")
    expect(waiting).to_contain_text("rm ready.txt")
    expect(waiting).to_contain_text("DEPLOY_KEY")
    session_id = page.url.rsplit("/", 1)[1].partition("?")[0]
    assert held(studio, session_id)
    approve(waiting)
    ends(studio, session_id)
    return session_id


def forked(page: Page, studio: Studio, id: str) -> None:
    """Fork it from before the turn."""
    page.goto(f"{studio.url}/environments/{id}/fork?version=1")
    page.get_by_label("Name of the new one").fill("shop-before")
    page.get_by_role("button", name="Plan", exact=True).last.click()
    expect(page.locator("#plan")).to_contain_text("version 1 of shop")
    expect(page.locator("#plan")).to_contain_text("DEPLOY_KEY")
    page.get_by_role("button", name="Make the fork").click()
    expect(page.get_by_role("heading", name="shop-before", level=1)).to_be_visible()


def restored(page: Page, studio: Studio, id: str) -> None:
    """Put the first version back."""
    page.goto(f"{studio.url}/environments/{id}/disk")
    page.locator("#version-1").get_by_role("link", name="Restore…").click()
    page.get_by_role("button", name="Restore version 1").click()
    expect(page.locator("#version-3")).to_contain_text("restored")


def test_from_making_one_to_comparing_what_was_restored(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    id = made(page, studio)
    session_id = worked(page, studio)

    page.get_by_role("link", name="version 1 → 2").click()
    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_visible()
    assert rows(page) == {
        "outputs.txt": "added", "ready.txt": "removed", "site/index.html": "changed",
        "site/new.html": "added",
    }  # fmt: skip
    page.get_by_role("link", name="site/index.html").click()
    expect(page.locator(".diff__line[data-change=added]")).to_contain_text("<h1>Two</h1>")
    expect(page.locator(".diff__line[data-change=removed]")).to_contain_text("<h1>One</h1>")
    forked(page, studio, id)
    restored(page, studio, id)

    page.goto(f"{studio.url}/environments/{id}/disk/diff?before=1&after=3")
    expect(page.get_by_role("heading", name="No difference")).to_be_visible()
    for path in (f"/sessions/{session_id}", f"/environments/{id}", f"/environments/{id}/disk/2"):
        page.goto(studio.url + path)
        assert VALUE not in page.content()
    files = until(lambda: studio.api.disks.files(id, 2)["items"], what="the files of version 2")
    assert "outputs.txt" in {one["path"] for one in files}
