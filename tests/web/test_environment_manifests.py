"""Environment manifests written in the browser: planned, saved, compared, removed."""

import pytest

from tests.web import environments as env
from tests.web import html
from tests.web.conftest import Studio, Visitor

TEXT = "name: node\nkind: sandbox\nnetwork:\n  allow:\n    - host: registry.example\n"
EDITOR = "environment-form"


async def planned(ada: Visitor, path: str, **typed: str) -> html.Element:
    form = (await ada.open(path)).one(id=EDITOR)
    answer = await ada.post(
        "/environments/manifests/draft", form.fields() | {"step": "plan"} | typed
    )
    assert answer.status_code == 200, html.read(answer.text).one(id="main").text
    return html.read(answer.text)


async def test_none_is_said_so_with_the_way_to_the_first(alice: Visitor, ada: Visitor) -> None:
    assert "No environment manifests yet" in (await alice.open("/environments/manifests")).text
    assert (await ada.open("/environments/manifests")).all("a", href="/environments/manifests/new")


async def test_one_is_planned_then_saved(studio: Studio, ada: Visitor, alice: Visitor) -> None:
    page = await planned(ada, "/environments/manifests/new", text=TEXT)
    assert "It would be saved as version 1." in page.one(id="plan").text

    answer = await ada.press(page.one(id=EDITOR))

    assert answer.headers["location"] == "/environments/manifests/node"
    shown = await alice.open("/environments/manifests/node")
    assert "registry.example" in shown.text
    assert "Everything else is closed." in shown.text


async def test_a_change_names_what_stays_behind(studio: Studio, ada: Visitor) -> None:
    await env.save(studio)
    await env.make(studio, manifest="python")
    text = (await ada.open("/environments/manifests/python/edit")).one(id=EDITOR).fields()["text"]

    page = await planned(
        ada, "/environments/manifests/python/edit", text=text.replace("512", "640")
    )

    plan = page.one(id="plan").text
    assert "1 environment would be behind, and stays as made: desk" in plan
    assert "limits.memory_mib 512 640" in plan


async def test_faults_come_with_lines_and_the_text_stays(ada: Visitor) -> None:
    text = "name: node\nsetup: 5\nlimits:\n  memory_mib: 1\n"
    form = (await ada.open("/environments/manifests/new")).one(id=EDITOR)

    answer = await ada.post(
        "/environments/manifests/draft", form.fields() | {"step": "plan", "text": text}
    )

    page = html.read(answer.text)
    faults = [item.text for item in page.one(id="faults").all("li")]
    assert answer.status_code == 422
    assert [words.split(" :")[0] for words in faults] == ["line 2", "line 4"]
    assert page.one(id=EDITOR).fields()["text"].strip() == text.strip()


async def test_who_saved_meanwhile_is_shown_and_mine_goes_on_top(
    studio: Studio, ada: Visitor
) -> None:
    await env.save(studio)
    page = await planned(ada, "/environments/manifests/python/edit")
    await env.save(studio, limits={"memory_mib": 700})
    mine = page.one(id=EDITOR).fields()
    mine["text"] = mine["text"].replace("Python and git.", "Mine.")

    answer = await ada.post("/environments/manifests/draft", mine | {"step": "plan"})

    shown = html.read(answer.text)
    assert answer.status_code == 412
    assert "Saved meanwhile: v2" in shown.text
    assert "limits.memory_mib 512 700" in shown.text
    onto = shown.one(id=EDITOR).fields() | {"step": "onto"}
    again = html.read((await ada.post("/environments/manifests/draft", onto)).text)
    assert "It would be saved as version 3." in again.one(id="plan").text
    assert "Mine." in again.one(id=EDITOR).fields()["text"]


async def test_the_text_is_written_as_json_and_back(studio: Studio, ada: Visitor) -> None:
    await env.save(studio)
    form = (await ada.open("/environments/manifests/python/edit")).one(id=EDITOR)

    answer = await ada.post("/environments/manifests/draft", form.fields() | {"step": "json"})

    fields = html.read(answer.text).one(id=EDITOR).fields()
    assert fields["text"].lstrip().startswith("{")
    assert fields["format"] == "json"


async def test_another_name_is_another_manifest(studio: Studio, ada: Visitor) -> None:
    await env.save(studio)
    form = (await ada.open("/environments/manifests/python/edit")).one(id=EDITOR)
    typed = form.fields() | {"step": "plan", "text": "name: other\n"}

    answer = await ada.post("/environments/manifests/draft", typed)

    assert answer.status_code == 422
    assert "must stay python" in html.read(answer.text).one(id="faults").text


@pytest.mark.parametrize(
    "place, words",
    [("evil.example:443", "network evil.example added"),
     ("pypi.org:8443", "pypi.org: ports changed")],
)  # fmt: skip
async def test_a_place_is_proposed_with_its_plan(
    studio: Studio, ada: Visitor, place: str, words: str
) -> None:
    await env.save(studio)

    page = await ada.open(f"/environments/manifests/python/edit?allow={place}")

    assert words in page.one(id="plan").text
    answer = await ada.press(page.one(id=EDITOR))
    assert answer.status_code == 303


@pytest.mark.parametrize(
    "place", ["evil.example", "10.0.0.1:443", "*:443", "x.example:0", ":", "<b>:1"]
)
async def test_what_is_no_place_is_refused(studio: Studio, ada: Visitor, place: str) -> None:
    await env.save(studio)

    await ada.open(f"/environments/manifests/python/edit?allow={place}", 422)


async def test_versions_are_listed_and_compared(studio: Studio, alice: Visitor) -> None:
    await env.save(studio)
    await env.save(studio, limits={"memory_mib": 600})

    versions = await alice.open("/environments/manifests/python/versions")
    page = await alice.open("/environments/manifests/python/diff")

    assert "limits" in versions.text
    assert "limits.memory_mib 512 600" in page.text
    assert "512 MiB" in (await alice.open("/environments/manifests/python?version=1")).text
    await alice.open("/environments/manifests/python?version=9", 404)
    await alice.open("/environments/manifests/none/diff", 404)


async def test_one_in_use_is_not_removed(studio: Studio, ada: Visitor) -> None:
    await env.save(studio)
    id = await env.make(studio, manifest="python")
    form = (await ada.open("/environments/manifests/python")).form("/removal")

    refused = await ada.press(form)
    await studio.runtime.delete_environment(env.ADA, id)
    removed = await ada.press(form)

    assert refused.status_code == 409
    assert "is in use by desk" in html.read(refused.text).one(id="main").one(role="alert").text
    assert removed.headers["location"] == "/environments/manifests"


async def test_only_an_admin_writes(studio: Studio, alice: Visitor) -> None:
    await env.save(studio)

    await alice.open("/environments/manifests/new", 403)
    await alice.open("/environments/manifests/python/edit", 403)
    for path in ("manifests", "manifests/draft", "manifests/python/removal"):
        assert (await alice.post(f"/environments/{path}", {"text": TEXT})).status_code == 403
    assert "Change" not in (await alice.open("/environments/manifests/python")).one(id="main").text
