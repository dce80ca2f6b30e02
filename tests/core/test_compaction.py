"""Long talks through the whole runtime: summarised in time, once, and without losing anything."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from studio.core import faults
from studio.core.providers.provider import Message, ProviderError, Reply, Request, TextDelta
from studio.core.providers.scripted import Scripted
from studio.core.rules import events as e
from studio.core.rules import summaries
from studio.core.rules.session import Place
from studio.core.store import raw
from studio.core.tools.tool import Kit
from tests.core.conftest import ALICE, BOB, Core
from tests.core.rules.test_summaries import paired
from tests.fakes import tool

WORDS = "Some words about nothing. " * 16  # about 100 tokens
READ: dict[str, Any] = {"read_only": True, "repeatable": True}


class Listening(Scripted):
    """The scripted model, which keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Request] = []
        self.too_long = 0  # so many replies are refused as too long

    async def stream(self, request: Request) -> Any:
        self.asked.append(request)
        if request.purpose == "reply" and self.too_long > 0:
            self.too_long -= 1
            raise ProviderError("model.context", "The talk is too long.", permanent=True)
        async for item in super().stream(request):
            yield item

    def replies(self) -> list[Request]:
        return [request for request in self.asked if request.purpose == "reply"]

    def summaries(self) -> list[Request]:
        return [request for request in self.asked if request.purpose == "summary"]


class Wordy(Listening):
    """Its summaries are what they are told to be, and it says that they began."""

    summary = WORDS * 40

    async def stream(self, request: Request) -> Any:
        async for item in super().stream(request):
            if request.purpose == "summary" and isinstance(item, Reply):
                yield TextDelta(text=WORDS)
                item = replace(item, text=self.summary)
            if isinstance(item, Reply):  # it counts everything
                item = replace(item, usage=replace(item.usage, input_tokens=tokens(request)))
            yield item


def tokens(request: Request) -> int:
    return summaries.tokens(len(request.instructions) + sum(len(m.text) for m in request.messages))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Listening:
    listening = Listening()
    monkeypatch.setattr("studio.core.providers.shelf.Scripted", lambda: listening)
    return listening


async def agent(core: Core, window: int | None = None, **more: Any) -> None:
    """The helper, with a model of this window."""
    found = {"provider": "scripted", "name": "scripted", **more}
    if window is not None:
        found["context_window"] = window
    await core.runtime.save_agent(
        ALICE, {"name": "helper", "description": "", "instructions": "Help.", "model": found}
    )


async def talk(core: Core, messages: int, text: str = f"say {WORDS}") -> str:
    """A session in which so many turns are over."""
    session_id = await core.start(text)
    await core.over(session_id)
    for number in range(2, messages + 1):
        await core.runtime.send_message(BOB, session_id, text)
        await core.until(session_id, lambda s, n=number: s.turns == n and s.turn.is_over)  # type: ignore[misc]
    return session_id


def flat(messages: tuple[Message, ...]) -> list[Any]:
    return [(one.role, one.text) for one in messages]


async def test_a_long_talk_is_summarised_before_its_model_is_full(
    core: Core, model: Listening
) -> None:
    await agent(core, 1_200)
    async with core.working():
        session_id = await talk(core, 8)
        session = await core.session(session_id)

    facts = await core.facts(session_id)
    done = [fact.event for fact in facts if isinstance(fact.event, e.ContextCompacted)]
    assert done
    assert session.summary is not None
    assert session.summary.place == Place(turn=done[-1].before_turn)
    assert all(one.tokens_after < one.tokens_before <= 1_200 for one in done)
    assert session.status == "completed"
    last = model.replies()[-1]
    assert last.messages[0].text.startswith("[Summary of what was said")
    assert len(last.messages) < 12
    assert len(model.summaries()) == len(done)
    accepted = [fact.event for fact in facts if isinstance(fact.event, e.MessageAccepted)]
    assert len(accepted) == 8, "the whole talk is there to be read"


async def test_each_request_is_recorded_with_its_own_digest(core: Core, model: Listening) -> None:
    await agent(core, 1_000)
    async with core.working():
        session_id = await talk(core, 8)

    facts = await core.facts(session_id)
    kinds = (e.ModelRequested, e.SummaryRequested)
    digests = [fact.event.request_hash for fact in facts if isinstance(fact.event, kinds)]
    assert len(digests) == len(set(digests)) == len(model.asked)


async def test_a_preview_says_what_would_be_summarised_first(core: Core, model: Listening) -> None:
    await agent(core, 1_000)
    async with core.working():
        session_id = await talk(core, 1)
        for number in itertools.count(2):
            seen = await core.runtime.preview_message(BOB, session_id, f"say {WORDS}")
            if seen.summarises:
                break
            assert number < 8
            await core.runtime.send_message(BOB, session_id, f"say {WORDS}")
            await core.until(session_id, lambda s, n=number: s.turns == n and s.turn.is_over)  # type: ignore[misc]
        assert (seen.digest, model.summaries()) == (None, [])
        await core.runtime.send_message(BOB, session_id, f"say {WORDS}")
        await core.until(session_id, lambda s: s.summary)

    assert len(model.summaries()) == 1


async def test_a_preview_behind_a_summary_has_the_digest_that_is_recorded(
    core: Core, model: Listening
) -> None:
    await agent(core, 1_000)
    async with core.working():
        session_id = await talk(core, 8)
        seen = await core.runtime.preview_message(BOB, session_id, "say so")
        await core.runtime.send_message(BOB, session_id, "say so")
        await core.until(session_id, lambda s: s.turns == 9 and s.turn.is_over)

    asked = [f.event for f in await core.facts(session_id) if isinstance(f.event, e.ModelRequested)]
    assert seen.digest == asked[-1].request_hash


async def test_one_very_long_turn_goes_on_behind_a_summary_of_its_first_steps(
    core: Core, model: Listening
) -> None:
    async def tell(arguments: Any, kit: Kit) -> Any:
        return {"n": len(look.calls), "words": WORDS * 2}

    look = tool("look", tell, **READ)
    core.offer(look)
    await agent(core, 1_500)
    async with core.working():
        session = await core.over(await core.start("repeat 15 call look {}\nthen\nsay done"))

    assert session.turn is not None
    assert (session.status, session.turn.step) == ("completed", 16)
    assert len(look.calls) == 15
    done = [
        f.event for f in await core.facts(session.id) if isinstance(f.event, e.ContextCompacted)
    ]
    assert len(done) >= 2
    assert [one.replies for one in done] == sorted({one.replies for one in done})
    assert all(paired(request.messages) for request in model.replies())
    assert all(
        any(one.text.startswith("repeat 15") for one in request.messages)
        for request in model.replies()
    ), "the message in hand is always shown"


async def test_a_summariser_that_fails_never_fails_the_turn(core: Core, model: Listening) -> None:
    await agent(core, 1_000)
    async with core.working():
        session_id = await talk(core, 8, f"say {WORDS}\nfail summary")
        session = await core.session(session_id)

    failed = [f.event for f in await core.facts(session_id) if isinstance(f.event, e.SummaryFailed)]
    assert failed
    assert {one.code for one in failed} == {"model.server"}
    assert (session.status, session.turns, session.summary) == ("completed", 8, None)
    assert len(model.replies()[-1].messages) < 5, "the newest part alone"


async def test_a_provider_that_says_too_long_is_asked_once_more_with_a_summary(
    core: Core, model: Listening
) -> None:
    await agent(core)
    async with core.working():
        session_id = await talk(core, 3)
        model.too_long = 1
        await core.runtime.send_message(BOB, session_id, "say so")
        session = await core.until(session_id, lambda s: s.turns == 4 and s.turn.is_over)

    assert session.status == "completed"
    types = (await core.types(session_id))[-9:]
    assert types == [
        "message.accepted", "turn.started", "model.requested", "model.failed",
        "summary.requested", "context.compacted", "model.requested", "model.replied",
        "turn.completed",
    ]  # fmt: skip


async def test_the_second_time_it_is_a_plain_failure(core: Core, model: Listening) -> None:
    await agent(core)
    async with core.working():
        session_id = await talk(core, 3)
        model.too_long = 2
        await core.runtime.send_message(BOB, session_id, "say so")
        session = await core.until(session_id, lambda s: s.turns == 4 and s.turn.is_over)

    assert session.turn is not None
    assert (session.status, session.turn.code) == ("failed", "model.context")


async def test_a_short_talk_that_is_too_long_fails_at_once(core: Core, model: Listening) -> None:
    await agent(core)
    model.too_long = 9
    async with core.working():
        session = await core.over(await core.start("say so"))

    assert session.turn is not None
    assert (session.turn.code, len(model.asked)) == ("model.context", 1)


async def test_a_turn_is_stopped_while_its_summary_is_written(
    core: Core, model: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent(core)
    async with core.working():
        session_id = await talk(core, 3)
        model.too_long = 1
        faults.arm("summary.before_outcome", "raise")
        try:
            await core.runtime.send_message(BOB, session_id, "say so")
            await core.until(session_id, lambda s: s.turn and s.turn.summary)
        finally:
            faults.disarm()
        await core.runtime.cancel_turn(BOB, session_id, reason="enough")
        session = await core.over(session_id)

    assert session.turn is not None
    assert session.turn.out() == set()
    assert session.status == "cancelled"


async def test_files_that_a_summary_forgot_are_still_named(core: Core, model: Listening) -> None:
    named = (
        '[Uploaded artifact "plan.pdf" · art_01aaaaaaaaaaaaaaaaaaaaaaaa v2 · read_artifact to view]'
    )
    await agent(core, 1_000)
    async with core.working():
        session_id = await core.start(f"{named}\nsay {WORDS}")
        await core.over(session_id)
        for number in range(2, 9):
            await core.runtime.send_message(BOB, session_id, f"say {WORDS}")
            await core.until(session_id, lambda s, n=number: s.turns == n and s.turn.is_over)  # type: ignore[misc]

    first = model.replies()[-1].messages[0].text
    assert 'artifact "plan.pdf" · art_01aaaaaaaaaaaaaaaaaaaaaaaa v2' in first


async def test_usage_of_summaries_counts(core: Core, model: Listening) -> None:
    await agent(core, 1_000)
    async with core.working():
        session_id = await talk(core, 8)
        session = await core.session(session_id)

    events = [fact.event for fact in await core.facts(session_id)]
    kinds = (e.ModelReplied, e.ContextCompacted)
    read = sum(one.usage.input_tokens or 0 for one in events if isinstance(one, kinds))
    assert session.input_tokens == read
    query = "SELECT sum(input_tokens) FROM effects WHERE kind = 'model'"
    of_rows = await core.parts.db.read(lambda conn: raw.one(conn, query)[0])
    assert of_rows == read


async def crowded(core: Core, instructions: int = 2_600) -> None:
    """The helper, whose instructions alone take most of its model's window."""
    model = {"provider": "scripted", "name": "scripted", "context_window": 1_000}
    await core.runtime.save_agent(
        ALICE,
        {"name": "helper", "description": "", "instructions": "x" * instructions, "model": model},
    )


async def test_a_summary_that_saves_nothing_is_not_written_and_is_said_once_a_turn(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    wordy = Wordy()
    monkeypatch.setattr("studio.core.providers.shelf.Scripted", lambda: wordy)
    look = tool("look", **READ)
    core.offer(look)
    await crowded(core)
    async with core.working():
        session_id = await talk(core, 2)
        await core.runtime.send_message(BOB, session_id, "repeat 8 call look {}\nthen\nsay done")
        session = await core.until(session_id, lambda s: s.turns == 3 and s.turn.is_over)

    assert (session.status, session.summary, len(look.calls)) == ("completed", None, 8)
    facts = [f.event for f in await core.facts(session_id)]
    failed = [one for one in facts if isinstance(one, e.SummaryFailed)]
    assert failed
    assert {(one.code, one.maybe_billed) for one in failed} == {("summary.longer", False)}
    assert len({one.turn_id for one in failed}) == len(failed) == len(wordy.summaries())
    assert all(one.tokens > 100 and "stand for" in one.message for one in failed)
    assert len(wordy.replies()[-1].messages) < 2 * 9 + 4, "the newest part alone"


async def test_the_first_token_of_a_summary_is_recorded_and_stands_in_its_trace(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    wordy = Wordy()
    wordy.summary = "In short."
    monkeypatch.setattr("studio.core.providers.shelf.Scripted", lambda: wordy)
    await agent(core, 1_200)
    async with core.working():
        session_id = await talk(core, 8)

    facts = [f.event for f in await core.facts(session_id)]
    done = next(one for one in facts if isinstance(one, e.ContextCompacted))
    assert done.first_token is not None
    turns = (await core.session(session_id)).turns
    traces = [await core.parts.reader.trace(ALICE, session_id, str(n + 1)) for n in range(turns)]
    spans = [span for trace in traces for span in trace.spans if span.effect_id == done.effect_id]
    assert [span.first_token for span in spans] == [done.first_token]
