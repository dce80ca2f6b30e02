"""The open page of an artifact: told of versions and of links, also of what ends without a fact."""

from studio.web.list_topics import LINK_SECONDS, ArtifactTopic
from tests.web import html
from tests.web.conftest import Studio, Visitor
from tests.web.streams import Message, listening
from tests.web.test_artifact_folders import ADA, chunks
from tests.web.test_links import MINUTE, made, saved


def is_look(message: Message) -> bool:
    return message.event == "look:artifact"


async def test_a_new_version_and_a_link_are_told(studio: Studio, bob: Visitor) -> None:
    artifact_id = await saved(studio, "a.txt", b"one")
    row = (await studio.reader.artifact(ADA, artifact_id)).row
    secret, _person = await studio.runtime.sign_in(studio.runtime.link("bob", "operator"))
    async with listening(studio, secret, ("artifact", artifact_id)) as ear:
        assert any(is_look(message) for message in await ear.live())

        await studio.runtime.save_artifact(
            ADA, row.session_id, name="a.txt", media="", chunks=chunks(b"two"),
            artifact_id=artifact_id,
        )  # fmt: skip
        await ear.until(is_look)
        await made(bob, artifact_id)

        await ear.until(is_look)


async def test_a_link_that_is_used_or_over_is_told_though_no_fact_says_so(
    studio: Studio, bob: Visitor, guest: Visitor
) -> None:
    artifact_id = await saved(studio)
    path = await made(bob, artifact_id, minutes="1")
    secret, _person = await studio.runtime.sign_in(studio.runtime.link("bob", "operator"))
    async with listening(studio, secret, ("artifact", artifact_id)) as ear:
        await ear.live()

        await guest.get(path)
        await ear.until(is_look)
        studio.story.clock.told += MINUTE

        await ear.until(is_look)
    page = await bob.open(f"/artifacts/{artifact_id}")
    assert "over" in page.one("ul", class_="stack links").text


async def test_nobody_looks_again_and_again_while_no_link_works(
    studio: Studio, bob: Visitor
) -> None:
    artifact_id = await saved(studio)
    topic = ArtifactTopic(studio.reader, artifact_id)
    await topic.open()
    naps = [topic.nap]
    await made(bob, artifact_id, minutes="1")
    await topic._sign()
    naps.append(topic.nap)
    studio.story.clock.told += MINUTE
    await topic._sign()

    assert [*naps, topic.nap] == [None, LINK_SECONDS, None]


async def test_what_changes_is_asked_for_where_the_page_stands(
    studio: Studio, bob: Visitor
) -> None:
    artifact_id = await saved(studio, "a.txt", b"one")
    here = f"/artifacts/{artifact_id}?version=1"
    page = await bob.open(here)
    region = page.one(id="artifact")
    answer = await bob.post(f"/artifacts/{artifact_id}/links", {"version": "1", "minutes": "1"})

    assert region.attrs["hx-get"] == f"{here}&region=all"
    again = (await bob.open(region.attrs["hx-get"])).one(id="artifact")
    assert again.attrs["hx-get"] == region.attrs["hx-get"]
    assert html.read(answer.text).one(id="artifact").attrs["hx-get"] == region.attrs["hx-get"]
    part = await bob.open(region.attrs["hx-get"], HX_Request="true")
    assert [title.text for title in part.all("h1")] == ["a.txt"]
    assert "The link" not in part.text
    assert page.one(id="stream").attrs["hx-sse:connect"] == f"/live/artifact/{artifact_id}"


async def test_a_private_artifact_tells_nothing_to_others(studio: Studio, charlie: Visitor) -> None:
    artifact_id = await saved(studio, private=True)

    assert (await charlie.get(f"/live/artifact/{artifact_id}")).status_code == 404
