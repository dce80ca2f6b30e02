"""Half of a surrogate pair, which no page can carry, as an agent, a tool or a server may say it."""

from tests.web.conftest import Studio, Visitor
from tests.web.test_live import listening, pushed

HALF = "before\ud800after"
SIGN = "before\ufffdafter"


async def told_everywhere(studio: Studio) -> str:
    """A session where everybody who speaks to it says one; its last call is held."""
    session_id = await studio.story.session("Plans")
    await studio.story.message(session_id)
    effect_id, _ = await studio.story.reply(
        session_id, HALF, {"arguments": {"note": HALF}}, {"tool": f"publish{HALF}"}
    )
    await studio.story.run(session_id, effect_id, {"told": HALF})
    await studio.story.end(session_id, "model.refused", f"It says: {HALF}")
    await studio.story.message(session_id)
    (effect_id,) = await studio.story.reply(session_id, HALF * 3_000, {"arguments": {"note": HALF}})
    await studio.story.hold(session_id, effect_id)
    return session_id


async def test_every_page_shows_it_by_a_sign(studio: Studio, alice: Visitor) -> None:
    session_id = await told_everywhere(studio)

    for path in (
        "/", "/approvals", "/sessions", "/traces", f"/sessions/{session_id}",
        f"/sessions/{session_id}?panel=events", f"/sessions/{session_id}/trace",
    ):  # fmt: skip
        await alice.open(path)

    page = await alice.open(f"/sessions/{session_id}")
    assert SIGN in page.one(id="timeline").text


async def test_it_is_pushed_by_a_sign(studio: Studio) -> None:
    session_id = await told_everywhere(studio)
    secret, _ = await studio.runtime.sign_in(studio.runtime.link("alice", "operator"))

    async with listening(studio, secret, ("session", session_id), after="0") as ear:
        heard = await ear.live()

    assert SIGN in pushed(heard)


async def test_it_is_taken_away(studio: Studio, alice: Visitor) -> None:
    session_id = await told_everywhere(studio)

    for form in ("jsonl", "markdown", "otlp"):
        answer = await alice.get(f"/sessions/{session_id}/export?format={form}")
        assert "omplete" in answer.text.splitlines()[-1]
