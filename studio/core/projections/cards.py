"""The card: everything one person is shown before they answer one wait."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.projections import calls, sessions, waits
from studio.core.projections.calls import CallRow
from studio.core.projections.sessions import SessionRow
from studio.core.projections.waits import WaitRow
from studio.core.rules import contents, ways
from studio.core.rules import events as e
from studio.core.rules.access import RANK, Person
from studio.core.rules.approvals import PAST
from studio.core.rules.errors import NotFound
from studio.core.rules.session import ENDED
from studio.core.store import codec, listings, tables

READABLE_BYTES = 10 * 1024 * 1024
CARDS_MOST = 100

w, f, s, t = tables.waits.c, tables.effects.c, tables.sessions.c, tables.turns.c
proposal = tables.events.alias("proposal")


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Who answered, what, when and why; `answer` is the value given to a question."""

    by: str
    choice: str
    at: int
    reason: str
    answer: Any = None


@dataclass(frozen=True, kw_only=True)
class Card:
    """A wait with its call, session, rules and what this person may do about it.

    `arguments_value` is what would run (JSON), loaded from the blob store when it is large;
    `readable` is false when it is over 10 MiB, and then the call can only be denied.
    `proposed_value` is what the model proposed, and differs after an edit. `schema` is the tool's
    schema of arguments (for a question: of the answer) or None when it is not known; a tool that
    changed since has none. `destination` is where the call goes, in words, with the arguments in
    the places of an address. `rules` are the words of
    the rules that led to the verdict, `reasons` those of their authors. `approvals` of `needed`
    people have approved. `choices` are the answers this person may give now. `may_decide`: one of
    them lets the call go on; `why_not` says in a sentence why none does.
    """

    wait: WaitRow
    call: CallRow
    session: SessionRow
    schema: Any
    arguments_value: Any
    proposed_value: Any
    readable: bool
    destination: str
    rules: tuple[str, ...]
    reasons: tuple[str, ...]
    policy_version: int | None
    agent_version: int
    approvals: int
    needed: int
    choices: tuple[str, ...]
    may_decide: bool
    why_not: str | None
    decided: Decision | None


def one(conn: sa.Connection, person: Person, wait_id: str, now: int) -> Card:
    """The card of this wait: at most four statements."""
    found = sessions.rows(conn, _joined().where(w.id == wait_id, *sessions.visible(person)))
    if not found:
        raise NotFound("There is no such wait.", code="wait.not_found")
    return _cards(conn, person, found, now)[0]


def of_session(conn: sa.Connection, person: Person, session_id: str, now: int) -> list[Card]:
    """The cards of the open waits that stand on people, in order: at most four statements."""
    sessions.head(conn, person, session_id)
    query = _joined().where(w.session_id == session_id, waits.is_open, w.kind != "timer")
    found = sessions.rows(conn, query.order_by(w.opened, w.seq).limit(CARDS_MOST))
    return _cards(conn, person, found, now) if found else []


def _joined() -> sa.Select[Any]:
    return (
        sa.select(
            *waits.FULL, *calls.FULL, *sessions.COLUMNS, w.schema, t.by, t.status,
            proposal.c.payload,
        )
        .join_from(tables.waits, tables.effects, f.id == w.effect_id)
        .join(tables.sessions, s.id == w.session_id)
        .join(tables.turns, t.id == w.turn_id)
        .join(
            proposal,
            sa.and_(proposal.c.effect_id == f.id, proposal.c.type == e.CallProposed.TYPE),
        )
    )  # fmt: skip


def _cards(
    conn: sa.Connection, person: Person, found: Sequence[sa.RowMapping], now: int
) -> list[Card]:
    rows = [calls.of(row) for row in found]
    session = sessions.of(found[0])
    listing = listings.get(conn, session.agent, session.agent_version)
    blobs = _blobs(conn, rows)
    answers = _answers(conn, found)
    return [
        _card(person, row, call, listing, blobs, answers, now)
        for row, call in zip(found, rows, strict=True)
    ]


def _card(
    person: Person, row: sa.RowMapping, call: CallRow, listing: listings.Listing | None,
    blobs: dict[str, bytes], answers: dict[str, Any], now: int,
) -> Card:  # fmt: skip
    wait, session = waits.of(row, call), sessions.of(row)
    proposed = codec.event(e.CallProposed.TYPE, row["payload"])
    assert isinstance(proposed, e.CallProposed), "joined by its type"
    readable, value = _value(call.arguments, blobs)
    can_resend = row["status"] not in ENDED and proposed.on_uncertain == "ask"
    choices, why_not = _may(
        person, wait, row["by"], readable=readable, can_resend=can_resend, now=now
    )
    return Card(
        wait=wait, call=call, session=session, readable=readable, arguments_value=value,
        proposed_value=_value(call.proposed, blobs)[1],
        destination=ways.aimed(proposed.origin.kind, proposed.destination, value),
        schema=_schema(row, proposed, listing),
        rules=tuple(rule.words for rule in _matched(call)),
        reasons=tuple(rule.reason for rule in _matched(call) if rule.reason),
        policy_version=call.ruling.policy_version if call.ruling else None,
        agent_version=session.agent_version, approvals=len(wait.approved_by),
        needed=wait.approvers, choices=choices, may_decide=why_not is None, why_not=why_not,
        decided=_decision(wait, answers),
    )  # fmt: skip


def _matched(call: CallRow) -> tuple[e.MatchedRule, ...]:
    """The rules that led to the verdict."""
    if call.ruling is None:
        return ()
    return tuple(rule for rule in call.ruling.rules if rule.effect == call.ruling.verdict)


def _schema(row: sa.RowMapping, proposed: e.CallProposed, listing: listings.Listing | None) -> Any:
    if row["w_kind"] == "question":
        return json.loads(row["schema"]) if row["schema"] else None
    tools = listing.tools if listing else ()
    same = (tool["schema"] for tool in tools if tool.get("hash") == proposed.tool_hash)
    return next(same, None)


# Values -------------------------------------------------------------------------------------------


def _blobs(conn: sa.Connection, rows: Sequence[CallRow]) -> dict[str, bytes]:
    """The bytes of every large value that can be read."""
    held = [content for row in rows for content in (row.arguments, row.proposed) if content]
    hashes = {item.hash for item in held if item.stored and item.size <= READABLE_BYTES}
    if not hashes:
        return {}
    b = tables.blobs.c
    found = conn.execute(sa.select(b.hash, b.data).where(b.hash.in_(hashes)))
    return {hash: bytes(data) for hash, data in found}


def _value(content: e.Content | None, blobs: dict[str, bytes]) -> tuple[bool, Any]:
    """(it can be read, the value)."""
    if content is None:
        return True, None
    if not content.stored:
        return True, content.value
    if content.hash not in blobs:
        return False, None
    return True, contents.parse(blobs[content.hash], content)


def _answers(conn: sa.Connection, found: Sequence[sa.RowMapping]) -> dict[str, Any]:
    """What was answered to the questions among these that are closed, by wait."""
    effects = [row["w_effect_id"] for row in found
               if row["w_kind"] == "question" and row["w_state"] == "closed"]  # fmt: skip
    if not effects:
        return {}
    c = tables.events.c
    query = sa.select(c.payload).where(c.effect_id.in_(effects), c.type == e.DecisionRecorded.TYPE)
    made = [json.loads(payload) for payload in conn.execute(query).scalars()]
    return {item["wait_id"]: item["answer"]["value"] for item in made if item.get("answer")}


def _decision(wait: WaitRow, answers: dict[str, Any]) -> Decision | None:
    if wait.closed is None:
        return None
    return Decision(
        by=wait.closed_by or "", choice=wait.choice or "", at=wait.closed, reason=wait.reason,
        answer=answers.get(wait.id),
    )  # fmt: skip


# Rights -------------------------------------------------------------------------------------------


def _may(
    person: Person, wait: WaitRow, sent_by: str, *, readable: bool, can_resend: bool, now: int
) -> tuple[tuple[str, ...], str | None]:
    """The answers this person may give, and why none of them lets the call go on."""
    why = _closed_to(person, wait, now)
    if why is not None:
        return (), why
    if wait.kind == "question":
        return ("answer", "deny"), None
    if wait.kind == "uncertain":
        return ("ran", "did_not_run", *(("send_again",) if can_resend else ())), None
    why = _not_approve(person, wait, sent_by, readable=readable)
    return (("approve", "deny"), None) if why is None else (("deny",), why)


def _closed_to(person: Person, wait: WaitRow, now: int) -> str | None:
    if wait.state != "open":
        what = PAST.get(str(wait.choice), str(wait.choice))
        return f"Already {what} by {wait.closed_by}."
    if wait.kind == "timer":
        return "This waits for a time, not for a person."
    if wait.deadline is not None and wait.deadline <= now:
        return "This expired and did not run."
    if RANK[person.role] < RANK["operator"]:
        return f"Your role is {person.role}; deciding needs the role operator."
    return None


def _not_approve(person: Person, wait: WaitRow, sent_by: str, *, readable: bool) -> str | None:
    if not readable:
        return "The arguments are too large to be read whole, so this call can only be denied."
    if wait.not_own and person.id in (wait.owner, sent_by):
        return "The policy does not let you decide calls of your own session. Ask somebody else."
    if person.id in wait.approved_by:
        left = wait.approvers - len(wait.approved_by)
        return f"You approved this already. It waits for {left} more of other people."
    return None
