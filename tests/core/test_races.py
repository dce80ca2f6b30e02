"""Many people decide on the same held call at once: one wins, the others are told who did.

The 10,000 races on each store are in `bench/races.py`; here are a few of each kind.
"""

import asyncio
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from studio.core.rules.access import Person
from studio.core.rules.errors import Denied, Gone, Refused
from studio.core.tokens import DecisionToken
from studio.core.tools.tool import Kit
from tests import fakes, postgres
from tests.core.conftest import ALICE, Core
from tests.crash import matrix as m
from tests.crash import places
from tests.crash.scenes import received

PEOPLE = [Person(id=f"person {n}", role="operator") for n in range(50)]
SECRET = "a browser"


def _calls(count: int, tool: str = "notify") -> str:
    lines = "\n".join(f'call {tool} {{"tag":"TAG","n":{n}}}' for n in range(count))
    return f"{lines}\nthen\nsay done"


async def _waits(core: Core, count: int) -> tuple[str, list[tuple[str, str]]]:
    """A session with that many held calls, and its waits with the digests that are shown."""
    session_id = await core.start(_calls(count))
    session = await core.until(session_id, lambda s: s.turn and len(s.turn.open_waits()) == count)
    assert session.turn is not None
    calls = session.turn.calls
    return session_id, [(w.id, calls[w.effect_id].decided) for w in session.turn.open_waits()]


async def _decide(core: Core, person: Person, wait_id: str, choice: Any, digest: str) -> str:
    try:
        token = core.runtime.decision_token(person, wait_id, digest, SECRET)
        await core.runtime.decide(
            person, wait_id, choice, digest=digest, token=DecisionToken(value=token, secret=SECRET)
        )
    except (Refused, Denied, Gone) as refused:
        return refused.code
    return str(choice)


async def test_one_of_fifty_decides_and_every_other_is_told_who_was_first(core: Core) -> None:
    notify = fakes.tool("notify")
    core.offer(notify)

    async with core.working():
        session_id, waits = await _waits(core, 10)
        answers = await asyncio.gather(
            *(
                _decide(core, person, wait_id, ("approve", "deny")[number % 2], digest)
                for wait_id, digest in waits
                for number, person in enumerate(PEOPLE)
            )
        )
        await core.over(session_id)

    said = Counter(answers)
    assert said["approve"] + said["deny"] == len(waits)
    assert said["decision.decided"] == len(waits) * (len(PEOPLE) - 1)
    assert len({key for _, key in notify.calls}) == len(notify.calls) == said["approve"]


async def test_two_of_fifty_people_approve_where_two_must(core: Core) -> None:
    notify = fakes.tool("notify")
    core.offer(notify)
    await core.runtime.save_policy(ALICE, [{"effect": "ask", "approvers": 2}], expect=None)

    async with core.working():
        session_id, waits = await _waits(core, 5)
        answers = await asyncio.gather(
            *(
                _decide(core, person, wait_id, "approve", digest)
                for wait_id, digest in waits
                for person in [*PEOPLE, *PEOPLE]  # everybody clicks twice
            )
        )
        await core.over(session_id)

    assert Counter(answers)["approve"] == 2 * len(waits)
    assert len(notify.calls) == len(waits)


async def test_deadline_and_person_race_and_one_of_them_wins(core: Core) -> None:
    notify = fakes.tool("notify")
    core.offer(notify)
    await core.runtime.save_policy(ALICE, [{"effect": "ask", "expires_seconds": 1}], expect=None)

    async with core.working():
        session_id, waits = await _waits(core, 10)
        deciding = [
            _after(core, n * 0.1, wait_id, digest) for n, (wait_id, digest) in enumerate(waits, 5)
        ]
        answers = Counter(await asyncio.gather(*deciding))
        session = await core.over(session_id)

    assert session.turn is not None
    ran = sum(call.state == "succeeded" for call in session.turn.calls.values())
    expired = sum(wait.choice == "expired" for wait in session.turn.waits.values())
    assert (ran, expired) == (answers["approve"], len(waits) - answers["approve"])
    assert len(notify.calls) == answers["approve"]


async def _after(core: Core, seconds: float, wait_id: str, digest: str) -> str:
    """Approve some time after the call was held."""
    await asyncio.sleep(seconds)
    return await _decide(core, PEOPLE[0], wait_id, "approve", digest)


async def test_nothing_goes_out_after_a_stop_was_acknowledged(core: Core) -> None:
    went: dict[str, float] = {}

    async def act(arguments: Any, kit: Kit) -> Any:
        went[kit.session_id] = time.perf_counter()
        await asyncio.sleep(0.05)

    core.offer(fakes.tool("notify", act))
    await core.runtime.save_policy(ALICE, [{"effect": "allow"}], expect=None)
    stopped: dict[str, float] = {}

    async with core.working():
        for number in range(60):
            session_id = await core.start(_calls(1))
            await asyncio.sleep(number % 20 * 0.0007)  # somewhere on the way to the call
            await core.runtime.cancel_turn(ALICE, session_id)
            stopped[session_id] = time.perf_counter()
        sessions = [await core.session(session_id) for session_id in stopped]

    assert {session.status for session in sessions} == {"cancelled"}
    assert [one for one in went if went[one] > stopped[one]] == []


@pytest.mark.crash
@pytest.mark.postgres
@pytest.mark.slow
def test_fifty_threads_at_two_processes_have_one_winner_each(
    tmp_path: Path, postgres_cluster: postgres.Cluster
) -> None:
    with m.matrix(tmp_path, postgres_cluster) as matrix:
        template = places.template(
            "postgresql", tmp_path / "template", matrix.environ, matrix.manifests,
            m.RULES, postgres_cluster,
        )  # fmt: skip
        with template.copy(tmp_path / "house") as environ:
            house = places.House(environ=environ, folder=tmp_path / "house", faults=(), other=True)
            house.start()
            try:
                answers, digests = _race_over_http(house, template.people)
            finally:
                house.close()
        lines = received(matrix.received, "race")

    assert Counter(answers.values())[1] == len(digests)
    assert len({line["key"] for line in lines}) == len(lines) == len(digests)


def _race_over_http(
    house: places.House, people: dict[str, tuple[str, str]]
) -> tuple[dict[str, int], dict[str, str]]:
    """Who won how often, by wait, and the digests that were shown."""
    assert house.spare is not None
    house.spare.open_gate()
    clients = [
        httpx.Client(
            base_url=process.url,
            timeout=30.0,
            headers={"Authorization": f"Bearer {people[who][0]}"},
        )
        for process in (house.now, house.spare)
        for who in ("alice", "bob", "charlie")
    ]
    try:
        digests = _held_over_http(clients[0], 10)

        def decide(number: int) -> list[str]:
            client = clients[number % len(clients)]
            return [wait_id for wait_id in digests if _won(client, wait_id, digests[wait_id])]

        with ThreadPoolExecutor(50) as pool:
            won = [wait_id for found in pool.map(decide, range(50)) for wait_id in found]
        _until(lambda: not _sessions(clients[0], "running"))
    finally:
        for client in clients:
            client.close()
    return dict(Counter(won)), digests


def _held_over_http(client: httpx.Client, count: int) -> dict[str, str]:
    message = _calls(count, "guarded").replace("TAG", "race")
    client.post("/v1/sessions", json={"agent": "crash", "message": message}).raise_for_status()
    found: dict[str, str] = {}

    def all_held() -> bool:
        found.update(
            {row["id"]: row["digest"] for row in client.get("/v1/approvals").json()["items"]}
        )
        return len(found) == count

    _until(all_held)
    return found


def _won(client: httpx.Client, wait_id: str, digest: str) -> bool:
    answer = client.post(
        f"/v1/approvals/{wait_id}/decision", json={"choice": "approve"},
        headers={"If-Match": f'"{digest}"'},
    )  # fmt: skip
    assert answer.status_code in (200, 409), answer.text
    return answer.status_code == 200


def _sessions(client: httpx.Client, status: str) -> list[Any]:
    rows: list[Any] = client.get("/v1/sessions", params={"status": status}).json()["items"]
    return rows


def _until(holds: Any) -> None:
    deadline = time.monotonic() + places.PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)
