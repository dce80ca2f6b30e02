"""Turns of a wanted size: what traces are made of.

Their facts are such as a worker records, put into the journal some hundred a commit with the rows
that follow from them. One commit of all 60,000 outgrows SQLite's cache and takes minutes.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from studio.core.rules import contents, digests, ids
from studio.core.rules import events as e
from studio.core.rules.session import Session, apply
from studio.core.store import codec, raw, rows
from studio.core.store.db import Db

BEGAN = 1_790_000_000_000
TOGETHER = 1_000  # facts of one commit
CALLS = 4  # of a step
MCP = e.Origin(kind="mcp", server="ledger", plugin="release-kit", plugin_version="1.2.0")
HTTP = e.Origin(kind="http")
BOX = e.Origin(kind="sandbox")
TOOLS = (
    ("read_ledger", MCP), ("search_notes", MCP), ("fetch_page", HTTP), ("shell", BOX),
    ("grep", BOX), ("publish_release", MCP),
)  # fmt: skip
ALLOWED = e.Ruling(verdict="allow", policy_version=1)
USAGE = e.Usage(input_tokens=1_200, output_tokens=80, cached_tokens=900, cost=0.004)
INSERT = (
    "INSERT INTO events (position, session_id, seq, id, type, time, turn_id, effect_id, actor, "
    "evidence, line, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
Timed = tuple[int, e.Event]


def session_of(spans: int) -> str:
    """The id of the session whose turn has so many spans."""
    return ids.make("ses", BEGAN + spans, spans.to_bytes(10, "big"))


async def turn(db: Db, agent: str, spans: int, *, size: int = 400) -> tuple[str, str]:
    """A session with one turn of so many spans, its root counted; ids of session and turn.

    Arguments and results have about `size` bytes each; one call in 500 fails.
    """
    session_id = session_of(spans)
    turn_id = f"trn_{ids.core(session_id)}"
    begun: list[Timed] = [
        (BEGAN, e.SessionStarted(agent=agent, agent_version=1, title=f"{spans:,} spans",
                                 owner="ann")),
        (BEGAN, e.MessageAccepted(turn_id=turn_id, number=1, text=contents.of_text("Go on."),
                                  by="ann")),
        (BEGAN + 5, e.TurnStarted(turn_id=turn_id)),
    ]  # fmt: skip
    told = sorted([*begun, *_steps(turn_id, spans - 1, size)], key=lambda one: one[0])
    told.append((told[-1][0] + 40, e.TurnCompleted(turn_id=turn_id)))
    session, seq = Session(id=session_id), 0
    for some in _steps_together(told):
        session = await db.record(partial(_record, before=session, seq=seq, told=some))
        seq += len(some)
    return session_id, turn_id


def _record(conn: Any, *, before: Session, seq: int, told: list[Timed]) -> Session:
    """Some facts after the `seq`th, in one commit; the session that they lead to."""
    last = raw.one(conn, "SELECT last FROM positions", ())
    first = (int(last[0]) if last else 0) + 1
    facts = [
        e.Fact(
            session_id=before.id, seq=seq + 1 + place, position=first + place,
            id=f"fct_{first + place}", time=at, actor="runtime", evidence=event.EVIDENCE,
            event=event,
        )
        for place, (at, event) in enumerate(told)
    ]  # fmt: skip
    raw.put_many(conn, INSERT, [_row(fact) for fact in facts])
    session = before
    for fact in facts:
        session = apply(session, fact)
    rows.derive(conn, before, session, facts)
    raw.put(conn, "UPDATE positions SET last = ?", (facts[-1].position,))
    if session.turn is not None:  # calls of steps that are over: nothing looks at them again
        session = replace(session, turn=replace(session.turn, calls={}))
    return session


def _steps_together(told: list[Timed]) -> Iterator[list[Timed]]:
    """What is told, in groups of whole steps."""
    group = list[Timed]()
    for one in told:
        if len(group) >= TOGETHER and isinstance(one[1], e.ModelRequested):
            yield group
            group = []
        group.append(one)
    yield group


def _row(fact: e.Fact) -> tuple[Any, ...]:
    event = fact.event
    return (
        fact.position, fact.session_id, fact.seq, fact.id, event.TYPE, fact.time, fact.turn_id,
        getattr(event, "effect_id", None), fact.actor, fact.evidence, int(event.LINE),
        codec.payload(event),
    )  # fmt: skip


def _steps(turn_id: str, spans: int, size: int) -> Iterator[Timed]:
    """Steps of a model call and some calls, until there are so many spans."""
    dice, at, step = Random(spans), BEGAN + 10, 0
    while spans > 0:
        step += 1
        calls = min(CALLS, spans - 1)
        spans -= 1 + calls
        model_id = ids.model_effect(turn_id, step, 1)
        yield at, e.ModelRequested(
            turn_id=turn_id, effect_id=model_id, step=step, attempt=1, provider="scripted",
            model="steady", request_hash="0" * 64,
        )  # fmt: skip
        at += dice.randrange(400, 2_500)
        made = [_proposed(turn_id, step, index, dice, size) for index in range(1, calls + 1)]
        yield at, e.ModelReplied(
            turn_id=turn_id, effect_id=model_id, text=contents.of_text("Looking further."),
            calls=calls, usage=USAGE, provider="scripted", model="steady", first_token=250,
        )  # fmt: skip
        yield from ((at, call) for call in made)
        for call in made:
            yield from _sent(turn_id, call.effect_id, at, dice, size)
        at += 700


def _proposed(turn_id: str, step: int, index: int, dice: Random, size: int) -> e.CallProposed:
    tool, origin = dice.choice(TOOLS)
    effect_id = ids.call_effect(turn_id, step, index)
    arguments = contents.of({"query": f"order {dice.randrange(10**6)}", "about": "x" * size})
    digest = digests.of_call(
        effect_id=effect_id, tool=tool, tool_hash="3" * 64, origin=origin, destination="ledger",
        arguments=arguments, agent="bench", agent_version=1,
    )  # fmt: skip
    return e.CallProposed(
        turn_id=turn_id, effect_id=effect_id, step=step, index=index, provider_call_id=f"c{index}",
        tool=tool, origin=origin, arguments=arguments, tool_hash="3" * 64, digest=digest,
        destination="ledger", ruling=ALLOWED,
    )  # fmt: skip


def _sent(turn_id: str, effect_id: str, at: int, dice: Random, size: int) -> Iterator[Timed]:
    place = {"turn_id": turn_id, "effect_id": effect_id}
    yield at, e.CallStarted(**place, key="1" * 64, send=1, digest_sent="2" * 64)
    end = at + dice.randrange(20, 600)
    if dice.random() < 0.002:
        yield end, e.CallFailed(**place, code="tool.error", message="The ledger is locked.")
    else:
        result = contents.of({"row": dice.randrange(10**6), "text": "y" * size})
        yield end, e.CallSucceeded(**place, result=result)
