"""The pages of plugins: the list, one, the plan before anything is put there, refusals."""

from tests.core.packages import zips
from tests.web.conftest import Studio, Visitor


async def send(visitor: Visitor, data: bytes):
    own = {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:8321"}
    files = {"archive": ("kit.zip", data, "application/zip")}
    return await visitor.http.post("/plugins", files=files, headers=own)


async def plan(visitor: Visitor, data: bytes):
    answer = await send(visitor, data)
    assert answer.status_code == 303, answer.text[:2000]
    return await visitor.open(answer.headers["location"])


async def test_an_empty_studio_says_how_plugins_come(studio: Studio, alice: Visitor):
    page = await alice.open("/plugins")

    assert "No plugins yet" in page.text
    assert page.all("form", action="/plugins") == []


async def test_what_was_sent_is_planned_and_only_then_installed(studio: Studio, ada: Visitor):
    page = await plan(ada, zips.packed())
    assert "brings the skill notes" in page.text
    assert "starts ${python} ${plugin}/x.py" in page.text
    assert await studio.reader.plugins(ada.person) == []

    answer = await ada.press(page.one("form", action="/plugins/confirmation"))

    assert (answer.status_code, answer.headers["location"]) == (303, "/plugins/kit")
    shown = await ada.open("/plugins/kit")
    assert "revision 1" in shown.text.lower().replace("\n", " ") or "Revision" in shown.text
    assert "Writes notes." in shown.text
    listed = await ada.open("/plugins")
    assert "1 server, 1 skill" in listed.text


async def test_an_update_shows_what_it_changes_and_a_second_press_is_too_late(
    studio: Studio, ada: Visitor
):
    await studio.runtime.put_plugin(ada.person, zips.packed())
    page = await plan(ada, zips.packed(zips.files(version="2.0", skills=[])))
    assert "version 1.2.0 becomes 2.0" in page.text
    await studio.runtime.put_plugin(ada.person, zips.packed(zips.files(version="1.5")))

    answer = await ada.press(page.one("form", action="/plugins/confirmation"))

    assert answer.status_code == 409
    assert "version 1.5 becomes 2.0" in answer.text


async def test_every_fault_is_listed_with_its_place(studio: Studio, ada: Visitor):
    answer = await send(ada, zips.zipped([("../a<b>", b""), ("/b", b"")]))

    assert answer.status_code == 422
    assert "Nothing was installed." in answer.text
    assert "leads out by “..”" in answer.text
    assert '<b>"' not in answer.text


async def test_nothing_sent_is_said_so(studio: Studio, ada: Visitor):
    answer = await send(ada, b"")

    assert answer.status_code == 422
    assert "Choose a zip archive" in answer.text


async def test_only_an_admin_installs_or_removes(studio: Studio, ada: Visitor, alice: Visitor):
    await studio.runtime.put_plugin(ada.person, zips.packed())

    assert (await send(alice, zips.packed())).status_code == 403
    assert (await alice.post("/plugins/kit/removal")).status_code == 403
    assert (await alice.open("/plugins/kit")).all("form", action="/plugins/kit/removal") == []


async def test_a_plugin_is_removed_and_its_history_stays(studio: Studio, ada: Visitor):
    await studio.runtime.put_plugin(ada.person, zips.packed())

    answer = await ada.press(
        (await ada.open("/plugins/kit")).one("form", action="/plugins/kit/removal")
    )

    assert (answer.status_code, answer.headers["location"]) == (303, "/plugins")
    shown = await ada.open("/plugins/kit")
    assert "removed" in shown.text
    assert "Remove kit" not in shown.text


async def test_a_skill_is_shown_as_a_model_reads_it(studio: Studio, ada: Visitor, alice: Visitor):
    await studio.runtime.put_plugin(ada.person, zips.packed())

    page = await alice.open("/plugins/kit/skills/notes")

    assert "Short ones." in page.text
    assert "description: Writes notes." in page.text
    await alice.open("/plugins/kit/skills/notes?path=examples/long.md")
    await alice.open("/plugins/kit/skills/notes?path=../../plugin.json", 404)
    await alice.open("/plugins/kit/skills/other", 404)
    await alice.open("/plugins/none", 404)


async def test_calls_are_listed_by_state_and_sessions_by_plugin(
    studio: Studio, ada: Visitor, alice: Visitor
):
    await studio.runtime.put_plugin(ada.person, zips.packed())
    await studio.story.held()  # of release-kit

    page = await alice.open("/plugins/kit/calls?state=held")

    assert "Calls of kit" in page.text
    await alice.open("/plugins/kit/calls?state=nonsense")
    await alice.open("/plugins/kit/calls?cursor=nonsense", 422)
    assert (await alice.open("/sessions?plugin=kit")).one("option", value="kit").attrs
