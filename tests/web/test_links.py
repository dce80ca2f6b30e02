"""Links to artifacts: made, shown once, followed without a sign-in, revoked, over, guessed at."""

import io
import logging
import re
import zipfile

import pytest

from studio.web.pace import Pace
from tests.web.conftest import Studio, Visitor
from tests.web.test_artifact_folders import ADA, chunks, kept

LOCKED = "sandbox; default-src 'none'"
OCTETS = "application/octet-stream"
MINUTE = 60_000
LINK = re.compile(r"http://localhost:8321(/links/lnk_[^.<\s]+\.[A-Za-z0-9_-]{43})")


async def saved(studio: Studio, name: str = "a.html", data: bytes = b"<script>alert(1)</script>",
                private: bool = False) -> str:  # fmt: skip
    session_id = await studio.story.session("Files", private=private)
    done = await studio.runtime.save_artifact(
        ADA, session_id, name=name, media="", chunks=chunks(data)
    )
    return done.artifact_id


async def made(visitor: Visitor, artifact_id: str, **form: str) -> str:
    """The path of a link that this person makes."""
    answer = await visitor.post(
        f"/artifacts/{artifact_id}/links", {"version": "1", "minutes": "5", **form}
    )
    assert answer.status_code == 200, answer.text
    found = LINK.search(answer.text)
    assert found is not None
    return found[1]


async def test_a_link_gives_a_file_to_whoever_has_it_and_runs_nothing(
    studio: Studio, bob: Visitor, guest: Visitor
) -> None:
    path = await made(bob, await saved(studio))

    answer = await guest.get(path)

    assert (answer.status_code, answer.content) == (200, b"<script>alert(1)</script>")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith('attachment; filename="a.html"')
    assert answer.headers["content-security-policy"] == LOCKED
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "name,data,kind",
    [("a.txt", b"hi", "text/plain; charset=utf-8"), ("a.svg", b"<svg/>", OCTETS),
     ("a.pdf", b"%PDF-1.7", OCTETS)],
)  # fmt: skip
async def test_only_what_is_harmless_goes_by_its_own_type(
    studio: Studio, bob: Visitor, guest: Visitor, name: str, data: bytes, kind: str
) -> None:
    path = await made(bob, await saved(studio, name, data))

    assert (await guest.get(path)).headers["content-type"] == kind


async def test_a_link_to_a_folder_gives_a_zip(studio: Studio, bob: Visitor, guest: Visitor) -> None:
    session_id = await studio.story.session("Site")
    done = await kept(studio, session_id, {"a/b.txt": b"1"})
    path = await made(bob, done.artifact_id)

    answer = await guest.get(path)

    assert zipfile.ZipFile(io.BytesIO(answer.content)).read("a/b.txt") == b"1"
    assert answer.headers["content-disposition"].startswith('attachment; filename="site.zip"')
    assert answer.headers["content-security-policy"] == LOCKED


async def test_a_link_is_for_one_version_and_is_shown_once(
    studio: Studio, bob: Visitor, guest: Visitor
) -> None:
    artifact_id = await saved(studio, "a.txt", b"one")
    path = await made(bob, artifact_id)
    session_id = (await studio.reader.artifact(ADA, artifact_id)).row.session_id
    await studio.runtime.save_artifact(
        ADA, session_id, name="a.txt", media="", chunks=chunks(b"two"), artifact_id=artifact_id
    )

    page = await bob.open(f"/artifacts/{artifact_id}")

    assert (await guest.get(path)).content == b"one"
    assert LINK.search(page.text) is None
    assert "version 1, by bob" in page.one(class_="stack links").text


async def test_a_link_that_is_over_or_revoked_is_gone(
    studio: Studio, bob: Visitor, alice: Visitor, guest: Visitor
) -> None:
    artifact_id = await saved(studio)
    short, long = await made(bob, artifact_id, minutes="1"), await made(bob, artifact_id)
    studio.story.clock.told += MINUTE

    over = await guest.get(short)
    works = await guest.get(long)
    page = await alice.open(f"/artifacts/{artifact_id}")
    (form,) = [f for f in page.all("form") if "revocation" in str(f.attrs.get("action"))]
    await alice.post(str(form.attrs["action"]), {})
    revoked = await guest.get(long)

    assert (over.status_code, works.status_code, revoked.status_code) == (410, 200, 410)
    assert "time of this link is over" in over.text
    assert "revoked" in revoked.text
    assert over.headers["content-security-policy"] == LOCKED
    words = (await alice.open(f"/artifacts/{artifact_id}")).one(class_="stack links").text
    assert "revoked by alice" in words
    assert "Used 1 time" in words
    assert "Never used" in words


@pytest.mark.parametrize("change", ["id", "seal", "cut", "none", "long"])
async def test_what_is_not_a_whole_link_leads_nowhere(
    studio: Studio, bob: Visitor, guest: Visitor, change: str
) -> None:
    one, two = [await made(bob, await saved(studio)) for _ in range(2)]
    (id, seal), (other, _) = one.rsplit(".", 1), two.rsplit(".", 1)
    wrong = {
        "id": f"{other}.{seal}", "seal": f"{id}.{'A' * 43}", "cut": f"{id}.{seal[:-1]}",
        "none": id, "long": f"{one}{'x' * 300}",
    }[change]  # fmt: skip

    answer = await guest.get(wrong)

    assert answer.status_code == 404
    assert answer.text.startswith("This link leads nowhere")


async def test_who_guesses_has_to_wait_and_a_right_link_is_answered_all_the_same(
    studio: Studio, bob: Visitor, guest: Visitor
) -> None:
    path = await made(bob, await saved(studio))
    for _ in range(20):
        assert (await guest.get("/links/lnk_1.x")).status_code == 404

    answer = await guest.get("/links/lnk_1.x")

    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) <= 60
    assert (await guest.get(path)).status_code == 200


def test_a_pace_forgets_in_time_and_knows_addresses_apart() -> None:
    now = 0.0
    pace = Pace(2, 10, now=lambda: now)
    pace.note("a")
    now = 4.0
    pace.note("a")

    assert (pace.wait("a"), pace.wait("b")) == (6, 0)
    now = 10.5
    assert pace.wait("a") == 0


async def test_who_may_only_read_makes_no_link_and_sees_no_private_one(
    studio: Studio, charlie: Visitor, bob: Visitor
) -> None:
    artifact_id = await saved(studio)
    mine = await saved(studio, private=True)

    refused = await charlie.post(f"/artifacts/{artifact_id}/links", {"minutes": "5"})
    hidden = await bob.post(f"/artifacts/{mine}/links", {"minutes": "5"})
    page = await charlie.open(f"/artifacts/{artifact_id}")

    assert (refused.status_code, hidden.status_code) == (403, 404)
    assert [f for f in page.all("form") if "/links" in str(f.attrs.get("action"))] == []


@pytest.mark.parametrize("minutes", ["0", "16", "", "x", "-1", "99999999999"])
async def test_a_link_works_for_1_to_15_minutes(studio: Studio, bob: Visitor, minutes: str) -> None:
    artifact_id = await saved(studio)

    answer = await bob.post(f"/artifacts/{artifact_id}/links", {"minutes": minutes})

    assert answer.status_code == 422
    assert "1 to 15 minutes" in answer.text


async def test_a_link_stands_in_no_fact_and_no_log(
    studio: Studio, bob: Visitor, guest: Visitor, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    artifact_id = await saved(studio)
    path = await made(bob, artifact_id)
    seal = path.rsplit(".", 1)[1]

    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(studio.runtime, "follow_link", broken)
    with caplog.at_level(logging.DEBUG):
        assert (await guest.get(path)).status_code == 500

    session_id = (await studio.reader.artifact(ADA, artifact_id)).row.session_id
    facts = await studio.reader.events_before(ADA, session_id)
    assert any(fact.type == "artifact.link_made" for fact in facts)
    assert seal not in repr(facts)
    own = "".join(one.getMessage() for one in caplog.records if one.name.startswith("studio"))
    assert "/links/…" in own
    assert seal not in own
