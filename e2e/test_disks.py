"""What an operator comes to do with a disk: keep, look into, compare, put back, fill, take away."""

import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from e2e.acts import LIVE, ends, facts, fits, held, look, same_as_reloaded, visit
from e2e.conftest import Open, SignIn
from e2e.studio import Studio, until
from e2e.test_accessibility import is_accessible

AGENT = {
    "name": "worker", "description": "Works on a disk.", "instructions": "Work.",
    "model": {"provider": "scripted", "name": "scripted"},
}  # fmt: skip
RULES = [
    {
        "effect": "ask",
        "tool": "shell",
        "when": [{"field": "command", "op": "matches", "value": "^rm "}],
    },
    {"effect": "allow"},
]
ODD = "printf odd > \"$(printf 'odd \\377\\342\\200\\256<b>.txt')\""
FILL = "; ".join([
    "mkdir -p src", "printf 'a = 1\\nb = 2\\n' > src/a.py", "seq 20000 > long.txt",
    "printf '<script>alert(1)</script>' > page.html", "head -c 9000 /dev/zero > zeros", ODD,
])  # fmt: skip

Desk = tuple[str, str]  # the id of an environment, and of the session that works in it


@pytest.fixture(scope="module")
def lab(studio: Studio) -> Studio:
    """A studio with an agent for disks and a policy that asks before anything is removed."""
    client = studio.api
    client.agents.save("worker", AGENT)
    client.policy.save(RULES, version=client.policy.show()["version"])
    return studio


@pytest.fixture
def desk(lab: Studio, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """An environment with two versions of its disk, the second made by a turn."""
    name = re.sub("[^a-z-]", "-", request.node.name.partition("[")[0])
    made = lab.api.environments.make(name, definition={"setup": [{"run": "echo one > made.txt"}]})
    session_id = work(lab, made["id"], FILL)
    until(lambda: versions(lab, made["id"]) == 2, what="a second version")
    yield made["id"], session_id
    lab.api.environments.delete(made["id"])


def shell(command: str) -> str:
    return f"call shell {json.dumps({'command': command})}"


def work(studio: Studio, environment: str, command: str) -> str:
    """A session that runs one command; it is over when this returns."""
    started = studio.api.sessions.start(
        "worker", message=shell(command), environment=environment
    )  # fmt: skip
    ends(studio, started["session_id"])
    return started["session_id"]


def versions(studio: Studio, environment: str) -> int:
    return len(list(studio.api.environments.versions(environment)))


def packed(names: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, data in names.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


def test_a_version_is_kept_by_hand_and_the_page_tells_as_it_comes(
    lab: Studio, desk: Desk, sign_in: SignIn
) -> None:
    id, session_id = desk
    page = sign_in(lab)
    look(page, lab, f"/environments/{id}/disk")
    expect(page.locator("#version-2")).to_contain_text("turn 1")

    lab.api.sessions.send(session_id, shell("echo more > more.txt"))
    expect(page.locator("#version-3")).to_be_visible()
    page.get_by_label("Note").fill("before the <b>upgrade</b>")
    page.get_by_role("button", name="Keep now").click()

    expect(page.get_by_text("nothing had changed, so there is no new version")).to_be_visible()
    same_as_reloaded(page)


def test_a_turn_leads_to_what_it_changed(lab: Studio, desk: Desk, sign_in: SignIn) -> None:
    _, session_id = desk
    page = sign_in(lab)
    visit(page, lab, session_id)

    page.get_by_role("link", name="version 1 → 2").click()

    expect(page.get_by_role("heading", name="Version 1 → 2")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(6)
    page.get_by_role("link", name="src/a.py").click()
    expect(page.locator(".diff__line[data-change=added]")).to_have_count(2)


def test_an_open_session_shows_what_was_kept_without_a_reload(
    lab: Studio, desk: Desk, sign_in: SignIn
) -> None:
    id, session_id = desk
    page = sign_in(lab)
    visit(page, lab, session_id)

    lab.api.sessions.send(session_id, shell("echo three > three.txt"))

    expect(page.get_by_role("link", name="version 2 → 3")).to_be_visible()
    same_as_reloaded(page)
    assert versions(lab, id) == 3


def test_folders_and_files_are_looked_into(lab: Studio, desk: Desk, sign_in: SignIn) -> None:
    id, _ = desk
    page = sign_in(lab)
    page.goto(f"{lab.url}/environments/{id}/disk")

    page.get_by_role("link", name="Version 2", exact=True).click()
    page.get_by_role("link", name=r"odd \udcff\u202e<b>.txt").click()
    expect(page.locator(".rows__row")).to_have_text("odd")
    page.get_by_role("link", name="version 2", exact=True).click()
    page.get_by_role("link", name="long.txt").click()
    expect(page.locator("[data-number='1']")).to_have_text("1")
    page.get_by_role("link", name="Next part").click()
    first = page.locator(".rows__row").first
    expect(first).to_have_attribute("data-number", first.inner_text())
    page.get_by_role("link", name="version 2", exact=True).click()
    page.get_by_role("link", name="zeros").click()
    expect(page.locator("[data-number='00000010']")).to_contain_text("00 00")
    page.get_by_role("link", name="version 2", exact=True).click()
    page.get_by_role("link", name="page.html").click()
    expect(page.locator(".rows__row")).to_have_text("<script>alert(1)</script>")


def test_a_download_has_the_same_bytes(lab: Studio, desk: Desk, sign_in: SignIn) -> None:
    id, _ = desk
    page = sign_in(lab)
    page.goto(f"{lab.url}/environments/{id}/disk/2?path=long.txt")

    with page.expect_download() as coming:
        page.get_by_role("link", name="Download", exact=True).click()

    data = Path(coming.value.path()).read_bytes()
    assert data == "".join(f"{number}\n" for number in range(1, 20_001)).encode()
    assert coming.value.suggested_filename == "long.txt"


def test_restoring_shows_what_would_change_and_asks_first(
    lab: Studio, desk: Desk, sign_in: SignIn
) -> None:
    id, _ = desk
    page = sign_in(lab)
    look(page, lab, f"/environments/{id}/disk")

    page.locator("#version-1").get_by_role("link", name="Restore…").click()
    expect(page.get_by_role("heading", name="Restore version 1?")).to_be_visible()
    expect(page.locator("tr", has_text="src/a.py")).to_contain_text("removed")
    page.get_by_role("button", name="Restore version 1").click()

    expect(page.locator("#version-3")).to_contain_text("restored")
    expect(page.locator(".disk__said")).to_contain_text("it is version 3")
    assert {one["path"] for one in lab.api.disks.files(id, 3)["items"]} == {"made.txt"}


def test_a_hostile_archive_is_refused_in_words_and_a_good_one_becomes_the_disk(
    lab: Studio, desk: Desk, sign_in: SignIn, tmp_path: Path
) -> None:
    id, _ = desk
    page = sign_in(lab)
    look(page, lab, f"/environments/{id}/disk")

    send(page, tmp_path / "bad.tar.gz", packed({"../../etc/cron": b"x"}))
    expect(page.locator(".notice[data-kind=bad]")).to_contain_text("The archive cannot be used")
    assert versions(lab, id) == 2
    send(page, tmp_path / "good.tar.gz", packed({"site/index.html": b"<h1>hi</h1>"}))

    expect(page.locator("#version-3")).to_contain_text("imported")
    same_as_reloaded(page)


def send(page: Page, path: Path, data: bytes) -> None:
    path.write_bytes(data)
    page.locator("#field-archive").set_input_files(path)
    page.get_by_role("button", name="Import").click()
    expect(page.locator(LIVE)).to_be_visible()
    expect(page.locator(".disk__said")).to_contain_text(path.name)


def test_a_held_command_is_read_whole_and_approved(
    lab: Studio, desk: Desk, sign_in: SignIn
) -> None:
    id, _ = desk
    session_id = lab.api.sessions.start(
        "worker", message=shell("rm -r src\n# \u202ereversed"), environment=id
    )["session_id"]
    wait = held(lab, session_id)
    page = sign_in(lab)
    page.goto(f"{lab.url}/approvals/{wait['id']}")

    expect(page.locator(".command__line")).to_contain_text("rm -r src")
    expect(page.locator(".command .mark-char")).to_have_attribute("data-code", "U+202E")
    page.get_by_role("button", name=re.compile("^Approve")).click()

    ends(lab, session_id)
    visit(page, lab, session_id)
    expect(page.locator("#timeline .call")).to_contain_text("exit 0")
    assert [one["type"] for one in facts(lab, session_id)].count("call.succeeded") == 1


def test_an_exit_that_is_not_0_fails_in_words(lab: Studio, desk: Desk, sign_in: SignIn) -> None:
    session_id = work(lab, desk[0], "echo no; exit 3")
    page = sign_in(lab)
    visit(page, lab, session_id)

    line = page.locator("#timeline .call")
    expect(line.locator(".state[data-state=failed]")).to_contain_text("exit 3")
    expect(line.locator(".call__peek")).to_have_text("echo no; exit 3")


def test_all_of_it_works_with_scripts_off(
    lab: Studio, desk: Desk, context: Open, tmp_path: Path
) -> None:
    id, _ = desk
    page = context(lab, java_script_enabled=False).new_page()
    page.goto(lab.link("ann", "admin"))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{lab.url}/environments/{id}/disk")

    page.get_by_label("Note").fill("by hand")
    page.get_by_role("button", name="Keep now").click()
    idle(lab, id)
    page.locator("#version-1").get_by_role("link", name="Restore…").click()
    page.get_by_role("button", name="Restore version 1").click()
    idle(lab, id)
    page.reload()

    expect(page.locator("#version-3")).to_contain_text("restored")
    path = tmp_path / "a.tar.gz"
    path.write_bytes(packed({"a": b"1"}))
    page.locator("#field-archive").set_input_files(path)
    page.get_by_role("button", name="Import").click()
    expect(page.locator(".disk__said")).to_contain_text("a.tar.gz")
    idle(lab, id)


def idle(studio: Studio, environment: str) -> None:
    """Wait until nothing that was asked of the disk is in hand."""
    until(
        lambda: all(one["ended"] for one in studio.api.disks.operations(environment)["items"]),
        what="an idle disk",
    )


def test_it_is_worked_by_keyboard_alone(lab: Studio, desk: Desk, sign_in: SignIn) -> None:
    id, _ = desk
    page = sign_in(lab)
    look(page, lab, f"/environments/{id}/disk")

    page.get_by_label("Note").focus()
    page.keyboard.type("by key")
    page.keyboard.press("Enter")

    expect(page.locator(".disk__said")).to_contain_text("Keep a version")
    page.locator("#version-1 .more > summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#version-1").get_by_role("link", name="Fork from it")).to_be_focused()


PAGES: dict[str, Callable[[str], str]] = {
    "disk": lambda url: url,
    "folder": lambda url: f"{url}/2",
    "text": lambda url: f"{url}/2?path=long.txt",
    "bytes": lambda url: f"{url}/2?path=zeros",
    "odd": lambda url: f"{url}/2?path=odd%20%FF%E2%80%AE%3Cb%3E.txt",
    "diff": lambda url: f"{url}/diff?before=1&after=2",
    "lines": lambda url: f"{url}/diff?before=1&after=2&path=src/a.py",
    "restore": lambda url: f"{url}/1/restore",
}


def test_every_page_is_accessible_and_fits(lab: Studio, desk: Desk, sign_in: SignIn) -> None:
    page = sign_in(lab)
    for path in PAGES.values():
        page.goto(lab.url + path(f"/environments/{desk[0]}/disk"))
        is_accessible(page)


def test_who_may_only_look_is_offered_nothing(lab: Studio, desk: Desk, sign_in: SignIn) -> None:
    page = sign_in(lab, "vic", "viewer", viewport={"width": 390, "height": 800})
    look(page, lab, f"/environments/{desk[0]}/disk")

    expect(page.get_by_role("link", name="Restore…")).to_have_count(0)
    expect(page.get_by_role("button", name="Keep now")).to_have_count(0)
    fits(page)
