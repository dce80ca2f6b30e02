"""What an admin comes to do: put a plugin here, see what it did, change it, take it away."""

import io
import json
import re
import zipfile
from pathlib import Path

from playwright.sync_api import Page, expect

from e2e.conftest import Open, SignIn
from e2e.studio import Studio

SKILL = (
    "---\nname: greeting\ndescription: How people are greeted here.\n---\n"
    "# Greeting\n\nSay good morning, and mean it.\n"
)
AGENT = {
    "name": "greeter", "description": "Greets.", "instructions": "Greet.", "plugins": ["manners"],
    "model": {"provider": "scripted", "name": "scripted"},
}  # fmt: skip


def archive(version: str, skill: str = SKILL, **entries: str) -> bytes:
    """A plugin with one skill."""
    described = {"name": "manners", "version": version, "description": "How to behave.",
                 "skills": ["skills/greeting"]}  # fmt: skip
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as zipped:
        zipped.writestr("plugin.json", json.dumps(described))
        zipped.writestr("skills/greeting/SKILL.md", skill)
        for name, text in entries.items():
            zipped.writestr(name, text)
    return made.getvalue()


def send(page: Page, studio: Studio, data: bytes, folder: Path) -> None:
    """Send an archive from the page of plugins."""
    path = folder / "manners.zip"
    path.write_bytes(data)
    page.goto(f"{studio.url}/plugins")
    page.get_by_label("Zip archive").set_input_files(path)
    page.get_by_role("button", name="See what it brings").click()


def greet(studio: Studio) -> str:
    """A session whose agent loads the skill; its id."""
    client = studio.api
    started = client.sessions.start("greeter", message='call load_skill {"skill": "greeting"}')
    for event in client.sessions.follow(started["session_id"]):
        if event["type"].startswith("turn.") and event["type"] != "turn.started":
            assert event["type"] == "turn.completed", event
            break
    return started["session_id"]


def test_a_plugin_is_installed_used_updated_and_removed(
    own_studio: Studio, sign_in: SignIn, tmp_path: Path
) -> None:
    page = sign_in(own_studio)
    send(page, own_studio, archive("1.0"), tmp_path)
    expect(page.get_by_role("heading", name="Install manners")).to_be_visible()
    expect(page.get_by_text("brings the skill greeting")).to_be_visible()
    page.get_by_role("button", name="Install it").click()
    expect(page.get_by_role("heading", name="manners", level=1)).to_be_visible()

    client = own_studio.api
    client.agents.save("greeter", AGENT)
    session = greet(own_studio)
    page.goto(f"{own_studio.url}/sessions/{session}")
    line = page.locator("#timeline .call").first
    expect(line).to_contain_text("load_skill")
    expect(line.locator(".badge--plugin")).to_have_text(re.compile(r"manners\s+1\.0"))
    page.goto(f"{own_studio.url}/sessions?plugin=manners")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.goto(f"{own_studio.url}/plugins/manners")
    expect(page.get_by_role("link", name="load_skill")).to_be_visible()
    page.get_by_role("link", name="Read greeting").click()
    expect(page.get_by_text("Say good morning, and mean it.").first).to_be_visible()

    other = SKILL.replace("good morning", "good evening")
    send(page, own_studio, archive("1.1", skill=other), tmp_path)
    expect(page.get_by_role("heading", name="Update manners")).to_be_visible()
    expect(page.get_by_text("version 1.0 becomes 1.1")).to_be_visible()
    expect(page.get_by_text("skill greeting changes")).to_be_visible()
    lines = page.get_by_role("region", name="skills/greeting/SKILL.md")
    expect(lines.locator("[data-change=added]")).to_contain_text("Say good evening")
    page.get_by_role("button", name="Update it").click()
    expect(page.get_by_text("revision 2").first).to_be_visible()

    page.locator("summary", has_text="Remove…").click()
    page.get_by_role("button", name="Remove manners").click()
    expect(page.get_by_role("alert")).to_contain_text("is used by the agent greeter")
    client = own_studio.api
    client.agents.save("greeter", {**AGENT, "plugins": []})
    page.locator("summary", has_text="Remove…").click()
    page.get_by_role("button", name="Remove manners").click()
    expect(page.get_by_role("heading", name="Plugins", level=1)).to_be_visible()
    expect(page.get_by_role("link", name="manners")).to_have_count(0)


def test_a_hostile_archive_is_refused_with_every_place(
    studio: Studio, sign_in: SignIn, tmp_path: Path
) -> None:
    page = sign_in(studio)

    send(page, studio, archive("1.0", **{"../evil": "x", "/etc/passwd": "y"}), tmp_path)

    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Nothing was installed.")
    expect(alert).to_contain_text("../evil leads out by “..”")
    expect(alert).to_contain_text("/etc/passwd is an absolute path")


def test_a_plugin_is_installed_with_scripts_off(
    own_studio: Studio, context: Open, tmp_path: Path
) -> None:
    page = context(own_studio, java_script_enabled=False).new_page()
    page.goto(own_studio.link("ann", "admin"))
    page.get_by_role("button", name="Sign in").click()

    send(page, own_studio, archive("1.0"), tmp_path)
    page.get_by_role("button", name="Install it").click()

    expect(page.get_by_role("heading", name="manners", level=1)).to_be_visible()


def test_the_page_is_reached_by_its_keys(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.goto(studio.url)
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()

    page.keyboard.press("g")
    page.keyboard.press("l")

    expect(page.get_by_role("heading", name="Plugins", level=1)).to_be_visible()


def test_the_demo_s_skill_is_really_used(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.goto(f"{studio.url}/demo")

    page.get_by_role("button", name="Send it: A skill of the plugin").click()

    expect(page.get_by_text("Import is three times faster, also for large files.")).to_be_visible()
    for tool in ("load_skill", "read_skill_resource"):
        name = page.locator(".call__name", has_text=re.compile(f"^{tool}$"))
        line = page.locator("#timeline .call").filter(has=name)
        expect(line.locator(".badge--plugin")).to_contain_text("release-kit")
