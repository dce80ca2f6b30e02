"""Saved views on pages: saved from a list, shown there, renamed, deleted and brought back."""

import pytest

from studio.core.store import raw
from tests.web.conftest import Studio, Visitor


async def save(visitor: Visitor, name: str = "Slow", path: str = "/traces?seconds=60") -> str:
    """Save what a list is narrowed to, by its form; where that leads."""
    page = await visitor.open(path)
    form = next(one for one in page.all("form") if one.attrs.get("action") == "/views")
    answer = await visitor.press(form, name=name)
    assert answer.status_code == 303, answer.text[:500]
    return str(answer.headers["location"])


@pytest.mark.parametrize("path", ["/traces?seconds=60&tool=a%26b", "/sessions?status=failed"])
async def test_a_view_is_saved_from_its_list_and_stands_there_as_a_link(
    alice: Visitor, path: str
) -> None:
    where = await save(alice, "My <view>", path)

    page = await alice.open(where)
    (link, manage) = page.one("div", id="views").all("a")
    assert link.text.strip() == "My <view>"
    assert link.attrs["aria-current"] == "page"
    assert link.attrs["href"] == where
    assert manage.attrs["href"] == "/views"
    assert [form for form in page.all("form") if form.attrs.get("action") == "/views"] == []


async def test_an_unfiltered_list_offers_nothing_to_save(alice: Visitor) -> None:
    page = await alice.open("/traces")

    assert [form for form in page.all("form") if form.attrs.get("action") == "/views"] == []
    assert page.one("div", id="views").all("a") == []


async def test_the_bar_alone_is_given_to_an_open_page(alice: Visitor) -> None:
    await save(alice)

    for path in ("/traces?region=views", "/sessions?region=views"):
        answer = await alice.get(path, HX_Request="true")
        assert "<html" not in answer.text
        assert ("Slow" in answer.text) == path.startswith("/traces")


async def test_a_deleted_view_can_be_brought_back(alice: Visitor) -> None:
    await save(alice)
    page = await alice.open("/views")
    removal = next(f for f in page.all("form") if f.attrs.get("action", "").endswith("/removal"))

    gone = await alice.press(removal)
    after = await alice.open(gone.headers["location"])
    undone = await alice.press(
        next(f for f in after.all("form") if f.attrs.get("action", "").endswith("/restoration"))
    )

    assert "Slow is deleted" in after.text
    assert "No views yet" in after.text
    assert "Slow" in (await alice.open(undone.headers["location"])).one("tbody").text
    assert "is deleted" not in (await alice.open(gone.headers["location"])).text


async def test_a_view_is_renamed_and_shared(alice: Visitor, charlie: Visitor) -> None:
    await save(alice)
    page = await alice.open("/views")
    row = page.one("tbody").one("tr")
    form = next(f for f in row.all("form") if not f.attrs.get("action", "").endswith("/removal"))

    await alice.press(form, name="Over a minute", shared="true")

    seen = await charlie.open("/traces")
    assert "Over a minute" in seen.one("div", id="views").text
    assert "alice" in seen.one("div", id="views").text
    theirs = (await charlie.open("/views")).one("tbody")
    assert "everybody" in theirs.text
    assert theirs.all("form") == []


async def test_what_was_refused_stands_in_its_form_again(alice: Visitor, charlie: Visitor) -> None:
    await save(alice)

    twice = await alice.post("/views", {"list": "traces", "query": "seconds=60", "name": "slow"})
    nameless = await charlie.post("/views", {"list": "traces", "query": "tool=a", "name": " "})
    shared = await charlie.post(
        "/views", {"list": "traces", "query": "tool=a", "name": "x", "shared": "true"}
    )
    nowhere = await alice.post("/views", {"list": "keys", "query": "a=b", "name": "x"})

    assert twice.status_code == 409
    assert "already" in twice.text
    assert 'value="slow"' in twice.text
    assert nameless.status_code == 422
    assert "Use 1 to 60 characters." in nameless.text
    assert shared.status_code == 403
    assert nowhere.status_code == 422


async def test_a_name_that_is_taken_is_told_at_its_row(alice: Visitor) -> None:
    await save(alice)
    await save(alice, "Other", "/traces?cost=1")
    rows = (await alice.open("/views")).one("tbody").all("tr")
    form = next(
        f for f in rows[0].all("form") if not f.attrs.get("action", "").endswith("/removal")
    )

    answer = await alice.press(form, name="Slow")

    assert answer.status_code == 409
    assert "You have a view called" in answer.text


async def test_nobody_elses_view_is_there_to_be_changed(
    studio: Studio, alice: Visitor, bob: Visitor
) -> None:
    await save(alice)
    (view,) = (await studio.reader.views(alice.person)).items

    assert (await bob.post(f"/views/{view.id}/removal")).status_code == 404
    assert (await bob.post(f"/views/{view.id}", {"name": "x"})).status_code == 404
    assert "No views yet" in (await bob.open(f"/views?removed={view.id}")).text


async def test_what_is_left_out_of_shared_views_is_said(studio: Studio, alice: Visitor) -> None:
    await save(alice, "Mine")
    insert = (
        "INSERT INTO views (id, list, name, query, owner, shared, by, made, time) "
        "VALUES (?, 'traces', ?, 'tool=x', 'zoe', 1, 'zoe', 1, 1)"
    )
    many = [(f"viw_{n:04}", f"A {n:04}") for n in range(202)]
    await studio.db.touch(lambda conn: raw.put_many(conn, insert, many))

    bar = (await alice.open("/traces")).one("div", id="views")
    listed = await alice.open("/views")

    assert [link.text.strip().split()[0] for link in bar.all("a")[:2]] == ["Mine", "A"]
    assert "and 182 more shared views" in bar.text
    assert listed.one("tbody").all("tr")[0].text.strip().startswith("Mine")
    assert "2 more shared views are left out; your own are all here." in listed.one("main").text
