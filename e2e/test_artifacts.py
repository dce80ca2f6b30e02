"""Folders among the artifacts in the browser: looked into, compared, given away by a link."""

import io
import zipfile

import httpx
import pytest
from playwright.sync_api import expect

from e2e.acts import look, same_as_reloaded
from e2e.conftest import SignIn
from e2e.studio import Studio
from e2e.test_accessibility import is_accessible

FIRST = {
    "index.html": "<script>document.title = 'ran'</script>\n", "css/site.css": "body {}\n",
    "notes/a-name-that-goes-on-and-on-until-it-has-to-break-somewhere.md": "x\n" * 20,
    "data.bin": bytes(range(256)),
}  # fmt: skip
SECOND = {**FIRST, "css/site.css": "body { margin: 0 }\n", "new.txt": "new\n"}


def packed(files: dict[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


@pytest.fixture(scope="module")
def site(studio: Studio) -> str:
    """The path of a folder in two versions."""
    session_id = studio.api.sessions.start("release-assistant")["session_id"]
    for files in (FIRST, SECOND):
        saved = studio.api.artifacts.save_folder(session_id, packed(files), name="site")
    return f"/artifacts/{saved['artifact_id']}"


@pytest.mark.parametrize(
    "path",
    ["", "?version=1", "?version=2&path=css", "?version=2&path=css/site.css",
     "?version=2&path=data.bin", "/diff?before=1&after=2",
     "/diff?before=1&after=2&path=css/site.css"],
)  # fmt: skip
def test_every_page_of_a_folder_is_accessible(
    studio: Studio, sign_in: SignIn, site: str, path: str
) -> None:
    page = sign_in(studio)
    page.goto(studio.url + site + path)

    is_accessible(page)


def test_a_folder_is_browsed_and_compared_with_the_keyboard(
    studio: Studio, sign_in: SignIn, site: str
) -> None:
    page = sign_in(studio)
    page.goto(studio.url + site)

    page.get_by_role("link", name="css/").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="site.css").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Text")).to_contain_text("body { margin: 0 }")
    page.get_by_role("link", name="What changed in version 2").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("row").filter(has_text="css/site.css")).to_contain_text("changed")


def test_what_an_agent_wrote_never_runs_here(studio: Studio, sign_in: SignIn, site: str) -> None:
    page = sign_in(studio)

    page.goto(f"{studio.url}{site}?version=2&path=index.html")
    expect(page.get_by_role("region", name="Text")).to_contain_text("document.title")
    assert page.title() != "ran"
    with page.expect_download() as taken:
        page.get_by_role("link", name="Download the file").click()

    assert taken.value.suggested_filename == "index.html"


def test_a_link_is_made_followed_and_revoked_without_scripts(
    studio: Studio, sign_in: SignIn, site: str
) -> None:
    page = sign_in(studio, java_script_enabled=False)
    page.goto(studio.url + site)

    page.get_by_label("Works for").select_option("1 minute")
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_role("region", name="The link").locator("pre").inner_text()
    taken = httpx.get(link)
    page.goto(studio.url + site)
    expect(page.get_by_text("Used 1 time")).to_be_visible()
    expect(page.get_by_text(link)).to_have_count(0)
    page.get_by_role("button", name="Revoke").click()

    assert "css/site.css" in zipfile.ZipFile(io.BytesIO(taken.content)).namelist()
    assert taken.headers["content-security-policy"] == "sandbox; default-src 'none'"
    expect(page.get_by_text("revoked by ann")).to_be_visible()
    gone = httpx.get(link)
    assert (gone.status_code, gone.headers["referrer-policy"]) == (410, "no-referrer")


def test_the_page_of_an_artifact_is_true_while_others_work_on_it(
    studio: Studio, sign_in: SignIn
) -> None:
    session_id = studio.api.sessions.start("release-assistant")["session_id"]
    saved = studio.api.artifacts.save_folder(session_id, packed(FIRST), name="live")
    path, other = f"/artifacts/{saved['artifact_id']}", sign_in(studio)
    page = sign_in(studio)
    look(page, studio, path)
    page.get_by_label("Works for").select_option("2 minutes")

    look(other, studio, path)
    other.get_by_role("button", name="Make a link").click()
    link = other.get_by_role("region", name="The link").locator("pre").inner_text()
    expect(page.get_by_text("Never used.")).to_be_visible()
    httpx.get(link)
    expect(page.get_by_text("Used 1 time")).to_be_visible()
    studio.api.artifacts.save_folder(session_id, packed(SECOND), name="live")
    expect(page.get_by_role("link", name="What changed in version 2")).to_be_visible()
    expect(page.get_by_role("link", name="new.txt")).to_be_visible()
    other.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("revoked by ann")).to_be_visible()

    expect(page.get_by_label("Works for")).to_have_value("2")
    page.get_by_label("Works for").select_option("15 minutes")
    same_as_reloaded(page)
