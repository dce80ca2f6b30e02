"""Legal histories of one environment, made by the real rules and a source of chance.

`tell` plays people, worker and disk store at once. Nothing here knows a store.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import manifest, records
from studio.core.rules.environments.environment import Environment, apply
from studio.core.rules.environments.records import Kept
from studio.core.rules.errors import StudioError
from tests.core.store.stories import LARGE, START, Append

ALICE = Person(id="alice\x00", role="admin")
TURN = e.TurnRef(session_id="ses_1", turn_id="trn_1")
DEFINITION = manifest.parse({
    "name": "python", "delete_after": 60, "setup": [{"run": "make"}],
    "secrets": [{"name": "CRM", "type": "bearer", "binding": "https://crm.example"}],
})  # fmt: skip


@dataclass
class Teller:
    """An environment as it goes."""

    random: Random
    environment: Environment
    at: int = START
    told: list[Append] = field(default_factory=list)

    def record(self, events: list[e.Event]) -> None:
        """Append and fold."""
        if not events:
            return
        it = self.environment
        self.told.append(Append(session_id=it.id, events=tuple(events), at=self.at, actor="alice"))
        for event in events:
            fact = e.Fact(
                session_id=it.id, seq=self.environment.seq + 1, position=0, id="", time=self.at,
                actor="", evidence=event.EVIDENCE, event=event,
            )  # fmt: skip
            self.environment = apply(self.environment, fact)


def tell(random: Random, steps: int, environment_id: str) -> list[Append]:
    """A history of up to `steps` moves."""
    teller = Teller(random=random, environment=Environment(id=environment_id))
    teller.record([
        e.EnvironmentMade(
            name=f"desk/{random.randrange(3)}", kind="sandbox", manifest="python",
            manifest_version=1, definition=dict(DEFINITION.definition), digest=DEFINITION.digest,
            labels={"team": "x"}, owner=random.choice(("", "bob\x00")), by="alice",
            forked_from=random.choice((None, e.ForkedFrom(environment_id="env_0", name="old"))),
        )
    ])  # fmt: skip
    for _ in range(steps):
        teller.at += random.choice((0, 1, 40, 90_000))
        with suppress(StudioError):  # deleted, the newest version, and so on
            teller.record(random.choice(MOVES)(teller.random, teller.environment))
    return teller.told


def _setup(random: Random, it: Environment) -> list[e.Event]:
    if it.setup != "started":
        return records.note_setup_started(it)
    output = contents.of_text(random.choice(("", "Done.\x00", LARGE)))
    run = e.SetupRun(run="make", exit=random.choice((0, 2)), seconds=0.5, output=output)
    return records.note_setup(it, [run], failed=1 if run.exit else None)


def _kept(random: Random, it: Environment) -> list[e.Event]:
    kept = Kept(digest=random.choice("abc") * 64, files=3, folders=1, bytes=random.randrange(10),
                skipped=["socket\x00"])  # fmt: skip
    if random.random() < 0.2 and it.version:
        return records.note_restored(it, 1, kept, by="alice")
    turn = TURN if random.random() < 0.5 else None
    return records.note_kept(it, kept, "turn" if turn else "hand", turn=turn, note="so\x00")


def _removed(random: Random, it: Environment) -> list[e.Event]:
    there = range(1, it.version)
    return records.remove_version(
        it, random.randrange(1, max(2, it.version)), there=there, referred=(), by=ALICE
    )


def _tried(random: Random, it: Environment) -> list[e.Event]:
    outcome = random.choice(("allowed", "refused"))
    return records.note_egress([
        e.EgressTried(host="a.example\x00", port=443, outcome=outcome, turns=(TURN,))  # type: ignore[arg-type]
    ])  # fmt: skip


def _secret(random: Random, it: Environment) -> list[e.Event]:
    made = e.SecretSet if random.random() < 0.7 else e.SecretRemoved
    return [made(owner=it.id, name="CRM", version=1, by="alice")]


MOVES: tuple[Callable[[Random, Environment], list[e.Event]], ...] = (
    lambda r, it: records.label(it, {"team": r.choice("xy"), "b": "é"}, ALICE),
    lambda r, it: records.give(it, r.choice(("", "bob", "alice")), ALICE),
    lambda r, it: records.note_started(it, isolation="sandbox", worker="one"),
    lambda r, it: records.note_stopped(it, reason="idle"),
    lambda r, it: records.note_lost(it, reason="gone\x00"),
    lambda r, it: records.note_reset(it, None, by="alice") if r.random() < 0.3 else [],
    lambda r, it: records.delete(it, None, ALICE) if r.random() < 0.05 else [],
    _setup, _setup, _kept, _kept, _removed, _tried, _tried, _secret,
)  # fmt: skip
