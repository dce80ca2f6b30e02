"""Sessions as they come about, told in facts and recorded by the real journal."""

from dataclasses import dataclass, field
from typing import Any

from studio.core.clock import Clock
from studio.core.rules import contents, digests, ids
from studio.core.rules import events as e
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Journal

START = 1_767_225_600_000  # the year 2026 begins
SECOND = 1_000
MCP = e.Origin(kind="mcp", server="ledger", plugin="release-kit", plugin_version="1.2.0")
ASKS = e.MatchedRule(number=2, effect="ask", words="asks for tool publish_*", reason="Look twice.")
AGENT = {
    "name": "helper",
    "description": "Helps with releases.",
    "instructions": "Help.",
    "model": {"provider": "scripted", "name": "steady"},
    "tools": [
        {
            "name": "notify_team", "kind": "http", "description": "Tell the team.",
            "method": "POST", "url": "https://chat.example/notes", "input": {"type": "object"},
        }
    ],
    "servers": [{"name": "ledger", "transport": "stdio", "command": ["ledger"]}],
    "plugins": ["release-kit"],
}  # fmt: skip


@dataclass
class StoryClock(Clock):
    """A clock that stands still until a story moves it."""

    told: int = START
    ticks: float = 0.0

    def now(self) -> int:
        return self.told

    def monotonic(self) -> float:
        return self.ticks


@dataclass
class Story:
    """Tells sessions. Each fact comes a second after the one before."""

    db: Db
    feed: Feed
    journal: Journal
    clock: StoryClock
    made: int = 0
    turns: dict[str, str] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)

    async def record(self, session_id: str, *events: e.Event, by: str = "alice") -> list[e.Fact]:
        """Record these facts in one append."""
        self.clock.told += SECOND
        done = await self.journal.commit(
            session_id, lambda _: events, at=self.clock.now(), actor=f"operator:{by}",
            must_exist=False,
        )  # fmt: skip
        return done.facts

    def new_id(self, prefix: str) -> str:
        """A sortable id; the same story gets the same ids."""
        self.made += 1
        return ids.make(prefix, self.clock.now(), self.made.to_bytes(10, "big"))

    async def session(
        self, title: str = "Release", *, owner: str = "alice", agent: str = "helper",
        private: bool = False,
    ) -> str:  # fmt: skip
        """A session without a turn."""
        session_id = self.new_id("ses")
        started = e.SessionStarted(
            agent=agent, agent_version=1, title=title, owner=owner, private=private
        )
        await self.record(session_id, started, by=owner)
        return session_id

    async def message(self, session_id: str, text: str = "Please go on.", by: str = "alice") -> str:
        """A message that opens a turn, which is taken up."""
        session = await self.journal.session(session_id)
        turn_id = self.new_id("trn")
        self.turns[session_id], self.steps[session_id] = turn_id, 0
        accepted = e.MessageAccepted(
            turn_id=turn_id, number=(session.turns if session else 0) + 1,
            text=contents.of_text(text), by=by,
        )  # fmt: skip
        await self.record(session_id, accepted, e.TurnStarted(turn_id=turn_id), by=by)
        return turn_id

    async def reply(
        self,
        session_id: str,
        text: str = "Done.",
        *calls: dict[str, Any],
        cost: float | None = 0.01,
    ) -> list[str]:
        """The model says something and proposes calls; their effect ids."""
        turn_id = self.turns[session_id]
        self.steps[session_id] += 1
        step = self.steps[session_id]
        effect_id = ids.model_effect(turn_id, step, 1)
        asked = e.ModelRequested(
            turn_id=turn_id, effect_id=effect_id, step=step, attempt=1, provider="scripted",
            model="steady", request_hash="0" * 64,
        )  # fmt: skip
        said = e.ModelReplied(
            turn_id=turn_id, effect_id=effect_id, text=contents.of_text(text), calls=len(calls),
            usage=e.Usage(input_tokens=100, output_tokens=20, cost=cost),
        )  # fmt: skip
        proposed = [proposal(turn_id, step, index, **call) for index, call in enumerate(calls)]
        await self.record(session_id, asked)
        await self.record(session_id, said, *proposed)
        return [call.effect_id for call in proposed]

    async def hold(
        self, session_id: str, effect_id: str, *, kind: e.WaitKind = "approval", ordinal: int = 1,
        **more: Any,
    ) -> str:  # fmt: skip
        """Something stands on a wait; its id."""
        wait_id = ids.wait(effect_id, ordinal)
        turn_id = self.turns[session_id]
        opened = e.WaitOpened(
            turn_id=turn_id, effect_id=effect_id, wait_id=wait_id, kind=kind, **more
        )
        await self.record(session_id, opened)
        return wait_id

    async def decide(
        self, session_id: str, wait_id: str, choice: e.Choice, *, by: str = "bob", **more: Any
    ) -> None:
        """Somebody answers a wait; a denied call is denied."""
        effect_id = f"eff_{ids.core(wait_id).rpartition('w')[0]}"
        place = {"turn_id": self.turns[session_id], "effect_id": effect_id}
        decision = e.DecisionRecorded(**place, wait_id=wait_id, choice=choice, by=by, **more)
        denied = e.CallDenied(**place, by=by, reason=decision.reason)
        await self.record(session_id, decision, *([denied] if choice == "deny" else []), by=by)

    async def run(self, session_id: str, effect_id: str, result: Any = None) -> None:
        """A call is sent and answers."""
        place = {"turn_id": self.turns[session_id], "effect_id": effect_id}
        sent = e.CallStarted(**place, key="1" * 64, send=1, digest_sent="2" * 64)
        answer = contents.of({"ok": True} if result is None else result)
        await self.record(session_id, sent)
        await self.record(session_id, e.CallSucceeded(**place, result=answer))

    async def lose(self, session_id: str, effect_id: str) -> str:
        """A call is sent and nobody knows what came of it; the wait that asks."""
        place = {"turn_id": self.turns[session_id], "effect_id": effect_id}
        sent = e.CallStarted(**place, key="1" * 64, send=1, digest_sent="2" * 64)
        await self.record(session_id, sent, e.CallUncertain(**place, reason="The worker died."))
        return await self.hold(session_id, effect_id, kind="uncertain")

    async def end(self, session_id: str, code: str = "", message: str = "") -> None:
        """The turn ends: completed, or failed with a code."""
        turn_id = self.turns[session_id]
        failed = e.TurnFailed(turn_id=turn_id, code=code, message=message)
        ended = failed if code else e.TurnCompleted(turn_id=turn_id)
        await self.record(session_id, ended)

    async def held(self, title: str = "Release", **more: Any) -> tuple[str, str, str]:
        """A session with one held call: the ids of session, effect and wait."""
        session_id = await self.session(title, **more)
        await self.message(session_id, by=more.get("owner", "alice"))
        (effect_id,) = await self.reply(session_id, "I publish.", {"tool": "publish_release"})
        return session_id, effect_id, await self.hold(session_id, effect_id)


def proposal(
    turn_id: str, step: int, index: int, *, tool: str = "publish_release", arguments: Any = None,
    origin: e.Origin = MCP, **more: Any,
) -> e.CallProposed:  # fmt: skip
    """A call as the model proposes it, and a policy that asks for it."""
    effect_id = ids.call_effect(turn_id, step, index)
    content = contents.of({"release": "2.4"} if arguments is None else arguments)
    digest = digests.of_call(
        effect_id=effect_id, tool=tool, tool_hash="3" * 64, origin=origin, destination="ledger",
        arguments=content, agent="helper", agent_version=1,
    )  # fmt: skip
    asks = e.Ruling(verdict="ask", policy_version=1, rules=(ASKS,))
    return e.CallProposed(
        turn_id=turn_id, effect_id=effect_id, step=step, index=index, provider_call_id=f"c{index}",
        tool=tool, origin=origin, arguments=content, tool_hash="3" * 64, digest=digest,
        destination="ledger", **{"ruling": asks, **more},
    )  # fmt: skip
