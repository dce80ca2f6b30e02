"""The journal beside a list: random appends, failures and reopenings, and they always agree."""

import asyncio
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from studio.core.rules import events as e
from studio.core.rules.session import Session
from studio.core.store.journal import Receipt
from tests.core.store.conftest import (  # noqa: F401 - fixtures
    Store,
    opened,
    ready_url,
    started,
)
from tests.core.store.stories import START

SESSIONS = st.sampled_from("abc")


class Broken(Exception):
    """A rule's own failure."""


class Agreement(RuleBasedStateMachine):
    """`listed` is the model: the facts of all sessions, in the order of their positions."""

    url: str
    runner: asyncio.Runner
    count = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).count += 1
        self.prefix = f"ses_{type(self).count}"
        self.context = opened(self.url)
        self.store: Store = self.run(self.context.__aenter__())
        (self.base,) = self.run(self.store.one("SELECT last FROM positions"))
        self.listed: list[tuple[str, int, str]] = []
        self.receipts: dict[str, Any] = {}

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    def length(self, session_id: str) -> int:
        return sum(1 for listed, _, _ in self.listed if listed == session_id)

    async def append(self, name: str, words: list[str], *, fails: bool = False) -> Any:
        session_id = f"{self.prefix}{name}"

        def rule(session: Session) -> list[e.Event]:
            if fails:
                raise Broken
            assert session.seq == self.length(session_id)
            first = [started(title="first")] if session.seq == 0 else []
            events = [*first, *[e.TurnStarted(turn_id=word) for word in words]]
            for number, event in enumerate(events, 1):
                word = getattr(event, "turn_id", "first")
                self.listed.append((session_id, session.seq + number, word))
            return events

        return await self.store.journal.commit(session_id, rule, at=START, must_exist=False)

    @rule(name=SESSIONS, words=st.lists(st.sampled_from(["x", "y"]), max_size=3))
    def one_append(self, name: str, words: list[str]) -> None:
        done = self.run(self.append(name, words))
        assert done.session.seq == self.length(f"{self.prefix}{name}")

    @rule(plan=st.lists(st.tuples(SESSIONS, st.booleans()), min_size=2, max_size=8))
    def many_at_once(self, plan: list[tuple[str, bool]]) -> None:
        async def act() -> list[Any]:
            appends = [self.append(name, ["z"], fails=fails) for name, fails in plan]
            return await asyncio.gather(*appends, return_exceptions=True)

        results = self.run(act())
        assert [isinstance(result, Broken) for result in results] == [fails for _, fails in plan]

    @rule(name=SESSIONS, key=st.sampled_from(["k1", "k2"]))
    def command(self, name: str, key: str) -> None:
        session_id = f"{self.prefix}{name}"
        receipt = Receipt(scope=self.prefix, key=key, request="same")
        before = len(self.listed)

        def rule(session: Session) -> list[e.Event]:
            event = started() if session.seq == 0 else e.TurnStarted(turn_id=key)
            self.listed.append((session_id, session.seq + 1, getattr(event, "turn_id", "first")))
            return [event]

        done = self.run(
            self.store.journal.commit(
                session_id, rule, at=START, must_exist=False, receipt=receipt,
                answer=lambda session, made: [session_id, made[0].seq],
            )
        )  # fmt: skip
        assert done.replayed == (key in self.receipts)
        assert done.answer == self.receipts.setdefault(key, done.answer)
        assert len(self.listed) == before + (0 if done.replayed else 1)

    @rule()
    def reopen(self) -> None:
        self.run(self.context.__aexit__(None, None, None))
        self.context = opened(self.url)
        self.store = self.run(self.context.__aenter__())

    @invariant()
    def agree(self) -> None:
        rows = self.run(
            self.store.every(
                "SELECT session_id, seq, coalesce(turn_id, 'first'), position FROM events "
                "WHERE position > ? ORDER BY position", self.base,
            )
        )  # fmt: skip
        assert [row[:3] for row in rows] == self.listed
        assert [row[3] for row in rows] == [self.base + n for n in range(1, len(rows) + 1)]

    def teardown(self) -> None:
        self.run(self.context.__aexit__(None, None, None))


def test_the_journal_agrees_with_a_list(ready_url: str) -> None:  # noqa: F811
    with asyncio.Runner() as runner:
        machine = type("Machine", (Agreement,), {"url": ready_url, "runner": runner})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=30 if ready_url.startswith("sqlite") else 6,
                stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck),
                phases=(Phase.explicit, Phase.reuse, Phase.generate),
            ),
        )  # fmt: skip
