"""The live streams: nothing is missed, nothing harmful is pushed, and they end when they should."""

import asyncio
import re

import pytest

from studio.core.rules import events as e
from studio.web import hub as hubs
from studio.web import topics
from tests.web import html
from tests.web.conftest import Studio, Visitor
from tests.web.streams import Message, listening, parse


@pytest.fixture
async def secret(studio: Studio) -> str:
    """The secret of a signed-in browser."""
    secret, _person = await studio.runtime.sign_in(studio.runtime.link("alice", "operator"))
    return secret


def pushed(messages: list[Message]) -> str:
    return "".join(message.data for message in messages if not message.event)


def looks(messages: list[Message]) -> set[str]:
    return {m.event.removeprefix("look:") for m in messages if m.event.startswith("look:")}


def line_ids(text: str) -> list[str]:
    return re.findall(r'<li class="line" id="(line-\d+)"', text)


def test_every_event_class_names_its_regions() -> None:
    assert set(topics.REGIONS) == set(e.EVENTS.values())


async def test_a_new_fact_is_pushed_as_its_line(studio: Studio, secret: str) -> None:
    session_id = await studio.story.session()
    async with listening(studio, secret, ("session", session_id), after="1") as ear:
        await ear.live()

        await studio.story.message(session_id, "Good morning")

        heard = await ear.until(lambda m: m.id == "3")
        assert "Good morning" in pushed(heard)
        assert 'hx-target="#timeline" hx-swap="beforeend"' in pushed(heard)
        assert {"composer", "panel"} <= looks(heard)


async def test_pushed_lines_are_those_of_a_reload(
    studio: Studio, secret: str, alice: Visitor
) -> None:
    session_id, _effect_id, _wait_id = await studio.story.held()
    async with listening(studio, secret, ("session", session_id), after="0") as ear:
        heard = await ear.live()
    page = (await alice.get(f"/sessions/{session_id}")).text

    for line in re.findall(r'<li class="line".*?</li>\n', pushed(heard), re.DOTALL):
        assert line in page
    assert len(line_ids(pushed(heard))) == 3


async def test_what_is_pushed_cannot_act(studio: Studio, secret: str) -> None:
    session_id, effect_id, _wait = await studio.story.held('<b hx-get="/x">t</b>')
    await studio.story.run(session_id, effect_id, {"html": '<form action="/approvals/x">'})
    async with listening(studio, secret, ("session", session_id), after="0") as ear:
        heard = await ear.live()

    tree = html.read(pushed(heard))
    acting = {"hx-get", "hx-post", "hx-nonce", "hx-trigger", "hx-sse:connect"}
    assert [x for x in tree.walk() if x.tag in ("form", "button", "input", "script")] == []
    assert [x for x in tree.walk() if acting & set(x.attrs)] == []


async def test_reconnecting_replays_what_was_missed(studio: Studio, secret: str) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id, "Seen already")
    missed_from = (await studio.reader.session(topics.LOOKER, session_id)).seq
    await studio.story.reply(session_id, "Missed")

    async with listening(studio, secret, ("session", session_id), after=str(missed_from)) as ear:
        heard = await ear.live()

    assert "Missed" in pushed(heard)
    assert "Seen already" not in pushed(heard)
    assert heard[-1].id == str(missed_from + 2)


async def test_nothing_missed_is_nothing_sent(studio: Studio, secret: str) -> None:
    session_id = await studio.story.session()

    async with listening(studio, secret, ("session", session_id), after="1") as ear:
        heard = await ear.live()

    assert heard == []


@pytest.mark.parametrize("after", ["", "garbage", "-1", "99999", "1" * 40, "٣", "1;2"])
async def test_a_place_that_is_none_gets_snapshots(studio: Studio, secret: str, after: str) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id, "Still here")

    async with listening(studio, secret, ("session", session_id), after=after) as ear:
        heard = await ear.live()

    assert 'hx-target="#timeline" hx-swap="innerMorph"' in pushed(heard)
    assert "Still here" in pushed(heard)
    assert looks(heard) == {"held", "composer", "panel"}
    assert heard[-1].id == "3"


async def test_a_gap_over_the_window_gets_snapshots(
    studio: Studio, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "WINDOW", 3)
    session_id = await studio.story.session()
    for _ in range(3):
        await studio.story.message(session_id)
        await studio.story.end(session_id)

    async with listening(studio, secret, ("session", session_id), after="1") as ear:
        heard = await ear.live()

    assert 'hx-swap="innerMorph"' in pushed(heard)


async def test_a_line_that_was_there_is_changed_in_place(studio: Studio, secret: str) -> None:
    session_id, _effect_id, wait_id = await studio.story.held()
    async with listening(studio, secret, ("session", session_id), after="0") as ear:
        await ear.live()

        await studio.story.decide(session_id, wait_id, "deny", reason="No")

        heard = await ear.until(lambda m: m.id is not None)
        assert re.search(r'hx-target="#line-\d+" hx-swap="outerMorph"', pushed(heard))
        assert "held" in looks(heard)


async def test_a_burst_is_told_once_each_and_in_order(studio: Studio, secret: str) -> None:
    session_id = await studio.story.session()
    async with listening(studio, secret, ("session", session_id), after="1") as ear:
        await ear.live()

        for number in range(40):
            await studio.story.message(session_id, f"Message {number}")
            await studio.story.end(session_id)

        heard = await ear.until(lambda m: m.id == "121")
    ids = line_ids(pushed(heard))
    assert len(ids) == len(set(ids)) == 80
    assert ids == sorted(ids, key=lambda text: int(text.partition("-")[2]))


async def test_trouble_of_the_store_is_pushed_and_taken_back(
    studio: Studio, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ["", "The disk <full>."]

    async def trouble(role: str) -> str:
        return said[-1]

    monkeypatch.setattr(studio.reader, "trouble", trouble)
    async with listening(studio, secret, ("health", "")) as ear:
        begun = await ear.live()
        said.append("")
        well = await ear.until(lambda m: "#banner" in m.data)
        said.append("Away.")
        ill = await ear.until(lambda m: "#banner" in m.data)

    start, end = '<hx-partial hx-target="#banner" hx-swap="innerMorph">', "</hx-partial>"
    told = [pushed(messages) for messages in (begun, well, ill)]
    assert told == [f"{start}{text}{end}" for text in ("The disk &lt;full&gt;.", "", "Away.")]


async def test_two_viewers_share_one_rendering(
    studio: Studio, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = await studio.story.session()
    key = ("session", session_id)
    rendered = []
    render = topics.lines_partial
    async with (
        listening(studio, secret, key, after="1") as one,
        listening(studio, secret, key, after="1") as two,
    ):
        await one.live()
        await two.live()
        monkeypatch.setattr(
            topics, "lines_partial", lambda *a, **k: rendered.append(1) or render(*a, **k)
        )

        await studio.story.message(session_id, "For both")

        first = await one.until(lambda m: m.id == "3")
        second = await two.until(lambda m: m.id == "3")
    assert first == second
    assert len(rendered) == 1


async def test_a_draft_is_pushed_whole_and_without_an_id(studio: Studio, secret: str) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    async with listening(studio, secret, ("session", session_id), after="0") as ear:
        await ear.live()

        studio.story.feed.set_draft(session_id, "eff_1", "Once upon <b>")

        (draft,) = await ear.until(lambda m: "Once upon" in m.data)
        assert draft.id is None
        assert "Once upon &lt;b&gt;" in draft.data


async def test_drafts_come_ten_times_a_second_at_most_and_end_whole(
    studio: Studio, secret: str
) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    async with listening(studio, secret, ("session", session_id), after="0") as ear:
        await ear.live()

        for number in range(60):
            studio.story.feed.set_draft(session_id, "eff_1", "word " * number)
            await asyncio.sleep(0.005)
        studio.story.feed.set_draft(session_id, "eff_1", "all of it")

        heard = await ear.until(lambda m: "all of it" in m.data)
        assert len(heard) <= 8


async def test_a_recorded_reply_takes_the_drafts_place(studio: Studio, secret: str) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    async with listening(studio, secret, ("session", session_id), after="0") as ear:
        await ear.live()
        studio.story.feed.set_draft(session_id, "eff_1", "Once upon")
        await ear.until(lambda m: "Once upon" in m.data)

        await studio.story.reply(session_id, "Once upon a time.")

        heard = await ear.until(lambda m: "Once upon a time." in m.data)
        assert '<hx-partial hx-target="#draft" hx-swap="innerHTML"></hx-partial>' in heard[-1].data


async def test_a_running_call_tells_how_far_it_is(studio: Studio, secret: str) -> None:
    session_id, effect_id, wait_id = await studio.story.held()
    await studio.story.decide(session_id, wait_id, "approve")
    async with listening(studio, secret, ("session", session_id), after="0") as ear:
        await ear.live()

        studio.story.feed.set_progress(session_id, effect_id, 3, 10, "<b>checks</b>")

        (heard,) = await ear.until(lambda m: "progress" in m.data)
        assert f'hx-target="#progress-{effect_id}"' in heard.data
        assert "3 of 10" in heard.data
        assert "&lt;b&gt;checks" in heard.data


async def test_a_snapshot_still_leads_to_what_is_earlier(
    studio: Studio, secret: str, alice: Visitor
) -> None:
    session_id = await studio.story.session()
    for _ in range(60):
        await studio.story.message(session_id)
        await studio.story.end(session_id)
    page = await alice.open(f"/sessions/{session_id}")

    async with listening(studio, secret, ("session", session_id), after="none") as ear:
        tree = html.read(pushed(await ear.live()))

    (link,) = tree.one(id="line-older").role("link")
    assert link.attrs["href"] == page.one(id="line-older").role("link")[0].attrs["href"]
    assert "hx-get" not in link.attrs


async def test_the_count_is_told_when_it_changes(studio: Studio, secret: str) -> None:
    async with listening(studio, secret, ("pending", "person:alice")) as ear:
        before = await ear.live()

        await studio.story.held()

        (after,) = await ear.until(lambda m: "#pending" in m.data)
        assert pushed(before).endswith('hx-swap="textContent"></hx-partial>')
        assert ">1</hx-partial>" in after.data
        assert after.id is None


async def test_the_count_leaves_out_what_one_may_not_see(studio: Studio, secret: str) -> None:
    await studio.story.held(private=True)

    async with listening(studio, secret, ("pending", "person:charlie")) as ear:
        stranger = pushed(await ear.live())
    async with listening(studio, secret, ("pending", "admin:")) as ear:
        admin = pushed(await ear.live())

    assert ">1<" not in stranger
    assert ">1<" in admin


async def test_the_list_of_approvals_is_told_to_look(studio: Studio, secret: str) -> None:
    position = await studio.reader.position()
    key = ("approvals", "approvals")
    async with listening(studio, secret, key, after=str(position)) as ear:
        before = await ear.live()

        await studio.story.held()

        (heard,) = await ear.until(lambda m: m.event == "look:approvals")
        assert before == []
        assert int(heard.id or 0) > position


async def test_the_list_of_approvals_is_left_alone_by_other_facts(
    studio: Studio, secret: str
) -> None:
    session_id = await studio.story.session()
    async with listening(studio, secret, ("approvals", "approvals")) as ear:
        await ear.live()

        await studio.story.message(session_id)
        await studio.story.end(session_id)
        await studio.story.held()

        heard = await ear.until(lambda m: m.event == "look:approvals")
        assert len(heard) == 1


async def test_a_first_approval_of_two_is_told_however_far_down_its_call_waits(
    studio: Studio, secret: str
) -> None:
    for _ in range(60):
        session_id, _effect_id, wait_id = await studio.story.held()
    async with listening(studio, secret, ("approvals", "approvals")) as ear:
        await ear.live()

        await studio.story.decide(session_id, wait_id, "approve", closes=False)

        (heard,) = await ear.until(lambda m: m.event == "look:approvals")
        assert int(heard.id or 0) == await studio.reader.position()


async def test_what_is_told_of_waits_costs_what_is_new(studio: Studio) -> None:
    session_id, _effect_id, wait_id = await studio.story.held()
    position, _is_changed = await studio.reader.waits_changed(0)
    await studio.story.message(await studio.story.session())

    quiet = await studio.reader.waits_changed(position)
    await studio.story.decide(session_id, wait_id, "approve")
    moved = await studio.reader.waits_changed(quiet[0])

    assert (quiet, moved) == ((position + 3, False), (position + 4, True))
    assert await studio.reader.waits_changed(moved[0]) == (moved[0], False)


async def test_what_comes_of_an_approved_call_is_told(studio: Studio) -> None:
    session_id, effect_id, wait_id = await studio.story.held()
    await studio.story.decide(session_id, wait_id, "approve")
    position = await studio.reader.position()

    await studio.story.run(session_id, effect_id)

    assert await studio.reader.waits_changed(position) == (position + 2, True)


async def test_a_call_without_a_card_is_no_change_of_cards(studio: Studio) -> None:
    session_id = await studio.story.session()
    await studio.story.message(session_id)
    position = await studio.reader.position()

    (effect_id,) = await studio.story.reply(session_id, "I look.", {"tool": "look"})
    await studio.story.run(session_id, effect_id)

    assert (await studio.reader.waits_changed(position))[1] is False


async def test_a_beat_says_that_it_lives(studio: Studio, secret: str) -> None:
    session_id = await studio.story.session()

    async with listening(studio, secret, ("session", session_id), after="1", beat=0.0) as ear:
        await ear.live()
        (heard,) = await ear.until(lambda m: m.event == "beat")

    assert heard.id is None


async def test_signing_out_ends_the_stream_within_two_seconds(studio: Studio, secret: str) -> None:
    session_id = await studio.story.session()
    async with listening(studio, secret, ("session", session_id), after="1") as ear:
        await ear.live()
        await asyncio.sleep(hubs.RIGHTS_SECONDS)
        clock = asyncio.get_running_loop().time

        begun = clock()
        await studio.runtime.sign_out(secret)
        await ear.until(lambda m: m.event == "gone")

        assert clock() - begun < 2.5


async def test_a_slow_viewer_is_let_go_and_hinders_nobody(
    studio: Studio, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "BEHIND", 10)
    session_id = await studio.story.session()
    key = ("session", session_id)
    async with (
        listening(studio, secret, key, after="1") as slow,
        listening(studio, secret, key, after="1") as quick,
    ):
        await slow.live()
        await quick.live()

        for number in range(8):
            await studio.story.message(session_id, f"Message {number}")
            await studio.story.end(session_id)
            await quick.until(lambda m, n=number: f"Turn {n + 1} completed" in m.data)

        with pytest.raises(StopAsyncIteration):
            await slow.until(lambda m: False)


async def test_nothing_runs_once_nobody_looks(studio: Studio, secret: str) -> None:
    session_id = await studio.story.session()
    async with listening(studio, secret, ("session", session_id), after="1") as ear:
        await ear.live()

    hub = studio.app.state.hub
    assert (any(hub._topics.values()), hub._tasks, hub._viewers) == (False, {}, set())


async def test_closing_the_hub_ends_every_stream(studio: Studio, secret: str) -> None:
    session_id = await studio.story.session()
    async with listening(studio, secret, ("session", session_id), after="1") as ear:
        await ear.live()

        studio.app.state.hub.close()

        with pytest.raises(StopAsyncIteration):
            await ear.until(lambda m: False)


async def test_one_broken_topic_does_not_end_the_others(
    studio: Studio, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    session_id = await studio.story.session()
    async with listening(studio, secret, ("session", session_id), after="1") as ear:
        await ear.live()

        async with listening(studio, secret, ("session", "ses_none"), after="1") as broken:
            with pytest.raises(StopAsyncIteration):
                await broken.live()
        await studio.story.message(session_id, "Still told")

        assert await ear.until(lambda m: "Still told" in m.data)
    assert "live session failed" in caplog.text


async def test_a_stranger_gets_no_stream_of_a_private_session(
    studio: Studio, charlie: Visitor
) -> None:
    session_id = await studio.story.session(private=True)

    answer = await charlie.get(f"/live/session/{session_id}", accept="text/event-stream")

    assert answer.status_code == 404


async def test_one_message_stays_one_whatever_is_in_it() -> None:
    nasty = "a\r\nevent: gone\n\ndata: x\rid: 9\0"

    (heard,) = parse(topics.message(nasty, seq=7))

    assert (heard.event, heard.id) == ("", "7")
