"""What must hold after any crash, told from outside evidence. It imports nothing of the studio.

Evidence is what clients were answered (with times), what the receivers wrote down, the transcript
of a stream, and the tables of the store at the end. A violation is a sentence that begins with the
invariant it breaks.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NAMES = ("alice", "bob", "charlie")
PEOPLE = {*NAMES, *(f"key:{name}" for name in NAMES)}
ENDS = {"turn.completed", "turn.failed", "turn.cancelled"}
RESULTS = {"call.succeeded", "call.failed", "call.denied", "call.cancelled"}
SENDS = 3
NOT_RUN = {"denied", "cancelled"}

CALL_NEXT: dict[str, set[str]] = {
    "": {"call.proposed"},
    "call.proposed": {
        "wait.opened", "call.started", "call.denied", "call.failed", "call.cancelled",
    },
    "wait.opened": {"decision.recorded", "call.late"},
    "decision.recorded": {
        "decision.recorded", "call.started", "call.denied", "call.failed", "call.succeeded",
        "call.cancelled", "call.settled", "wait.opened",
    },
    "call.started": {"call.started", "call.succeeded", "call.failed", "call.uncertain"},
    "call.uncertain": {"wait.opened"},
    "call.settled": {"call.started", "call.uncertain"},
    "call.succeeded": {"call.late"},
    "call.failed": {"call.late"},
    "call.denied": set(),
    "call.cancelled": set(),
    "call.late": {"decision.recorded"},
}  # fmt: skip
MODEL_NEXT: dict[str, set[str]] = {
    "": {"model.requested"},
    "model.requested": {"model.replied", "model.failed", "model.uncertain"},
    "model.replied": set(),
    "model.failed": set(),
    "model.uncertain": set(),
}
SUMMARY_NEXT: dict[str, set[str]] = {
    "": {"summary.requested"},
    "summary.requested": {"context.compacted", "summary.failed"},
    "context.compacted": set(),
    "summary.failed": set(),
}
KEPT = "artifact.saved"  # stands beside the result of the call that kept it
NEXT = {"model": MODEL_NEXT, "summary": SUMMARY_NEXT}
AFTER_THE_END = {"call.late", "decision.recorded", "call.settled"}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """What a tool promises: `keyed` may be sent again, `approvers` must say yes before."""

    keyed: bool
    approvers: int = 0


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything outside that was seen of one cell."""

    tools: Mapping[str, Tool]
    said: Sequence[Any]
    received: Sequence[dict[str, Any]]
    ids: Sequence[int]
    streamed: Sequence[dict[str, Any]]
    tables: Mapping[str, list[dict[str, Any]]]
    asked_models: int = 0
    store_faults: Sequence[str] = ()


def violations(seen: Evidence) -> list[str]:
    """Every invariant that does not hold, in words."""
    facts = _facts(seen)
    checks = (
        _acknowledged, _whole_or_absent, _no_lost_event, _once, _decisions, _shown_is_what_ran,
        _progress, _legal, _cancelled, _models,
    )  # fmt: skip
    found = [words for check in checks for words in check(seen, facts)]
    return [*found, *(f"I15: the store is damaged: {fault}" for fault in seen.store_faults)]


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One line of the journal, its payload opened."""

    seq: int
    position: int
    id: str
    type: str
    session_id: str
    turn_id: str
    effect_id: str
    time: int
    payload: dict[str, Any]


def _facts(seen: Evidence) -> list[Fact]:
    mine = {row["id"] for row in seen.tables["sessions"]}
    rows = [row for row in seen.tables["events"] if row["session_id"] in mine]
    return [
        Fact(
            seq=row["seq"], position=row["position"], id=row["id"], type=row["type"],
            session_id=row["session_id"], turn_id=row["turn_id"] or "",
            effect_id=row["effect_id"] or "", time=row["time"], payload=json.loads(row["payload"]),
        )
        for row in sorted(rows, key=lambda row: row["position"])
    ]  # fmt: skip


def _of(facts: Sequence[Fact], *types: str) -> list[Fact]:
    return [fact for fact in facts if fact.type in types]


def _by_effect(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    grouped: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.effect_id:
            grouped[fact.effect_id].append(fact)
    return grouped


def _answered(seen: Evidence, verb: str) -> dict[str, Any]:
    """The commands of a verb that were acknowledged, by key."""
    return {said.key: said for said in seen.said if said.verb == verb and 200 <= said.status < 300}


# Commands -----------------------------------------------------------------------------------------


def _acknowledged(seen: Evidence, facts: Sequence[Fact]) -> Iterator[str]:
    """I1: what was acknowledged is there."""
    sessions = {fact.session_id for fact in _of(facts, "session.started")}
    messages = {fact.turn_id for fact in _of(facts, "message.accepted")}
    cancelled = {fact.turn_id for fact in _of(facts, "turn.cancelled")}
    decided = {
        (fact.payload["wait_id"], fact.payload["by"], fact.payload["choice"])
        for fact in _of(facts, "decision.recorded")
    }
    for said in _answered(seen, "start").values():
        if said.answer["session_id"] not in sessions or said.answer["turn_id"] not in messages:
            yield f"I1: an acknowledged session is lost: {said.answer}"
    for said in _answered(seen, "send").values():
        if said.answer["turn_id"] not in messages:
            yield f"I1: an acknowledged message is lost: {said.answer}"
    for said in _answered(seen, "cancel").values():
        if said.answer["turn_id"] not in cancelled:
            yield f"I1: an acknowledged stop is lost: {said.answer}"
    for said in _answered(seen, "decide").values():
        if (said.answer["wait_id"], said.who, said.answer["choice"]) not in decided:
            yield f"I1: an acknowledged decision is lost: {said.answer}"


def _whole_or_absent(seen: Evidence, facts: Sequence[Fact]) -> Iterator[str]:
    """I2: a command is there once or not at all, and its key always answers the same."""
    kept = {row["key"]: json.loads(row["answer"]) for row in seen.tables["receipts"]}
    answers: dict[str, list[Any]] = defaultdict(list)
    for said in seen.said:
        if 200 <= said.status < 300:
            answers[said.key].append(said.answer)
        elif said.status >= 500:
            yield f"I2: {said.verb} was answered {said.status}: {said.answer}"
    for key, given in answers.items():
        if any(answer != given[0] for answer in given):
            yield f"I2: one key had two answers: {given}"
        if "-browser-" in key:  # a form has a token of its own, and no key
            continue
        if key not in kept or any(kept[key][name] != given[0].get(name) for name in kept[key]):
            yield f"I2: the receipt of an acknowledged command is not its answer: {given[0]}"
    counts = {
        "session.started": len(_answered(seen, "start")),
        "message.accepted": len(_answered(seen, "start")) + len(_answered(seen, "send")),
        "turn.cancelled": len(_answered(seen, "cancel")),
    }
    for kind, count in counts.items():
        if len(_of(facts, kind)) != count:
            yield f"I2: {count} commands made {len(_of(facts, kind))} facts {kind}"
    by_people = [
        fact
        for fact in _of(facts, "decision.recorded")
        if fact.payload["by"] in PEOPLE and fact.payload["choice"] != "stopped"
    ]
    if len(by_people) != len(_answered(seen, "decide")):
        yield f"I2: {len(_answered(seen, 'decide'))} decisions made {len(by_people)} facts"


def _no_lost_event(seen: Evidence, facts: Sequence[Fact]) -> Iterator[str]:
    """I3: the journal has no gap, and the stream told exactly the journal."""
    sessions: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        sessions[fact.session_id].append(fact)
    for session_id, told in sessions.items():
        if [fact.seq for fact in told] != list(range(1, len(told) + 1)):
            yield f"I3: {session_id} has a gap or a repeat: {[fact.seq for fact in told]}"
    positions = sorted(row["position"] for row in seen.tables["events"])
    if positions != list(range(1, len(positions) + 1)):
        yield "I3: the positions of the store have a gap"
    if seen.tables["positions"][0]["last"] != len(positions):
        yield "I3: the newest position is not that of the newest fact"
    if seen.streamed:
        theirs = [(event["seq"], event["id"], event["type"]) for event in seen.streamed]
        mine = {event["session_id"] for event in _answers_of(seen, "start")}
        ours = [(fact.seq, fact.id, fact.type) for fact in facts if fact.session_id in mine]
        if theirs != ours:
            yield f"I3: the stream told {len(theirs)} events and the journal has {len(ours)}"
        if list(seen.ids) != [event["seq"] for event in seen.streamed]:
            yield "I3: the ids of the stream are not the events' seq"


def _answers_of(seen: Evidence, verb: str) -> list[Any]:
    return [said.answer for said in _answered(seen, verb).values()]


# Effects ------------------------------------------------------------------------------------------


def _once(seen: Evidence, facts: Sequence[Fact]) -> Iterator[str]:
    """I4 and I5: a key is applied once, with one body; an unkeyed call goes out once at most."""
    sent: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in seen.received:
        sent[line["key"]].append(line)
    calls = {row["key"]: row for row in seen.tables["effects"] if row["key"]}
    again = {f.effect_id for f in _of(facts, "call.settled") if f.payload["choice"] == "send_again"}
    for key, lines in sent.items():
        row = calls.get(key)
        if row is None:
            yield f"I4: a call with a key that nobody recorded: {lines[0]['body']}"
            continue
        keyed = seen.tools[row["tool"]].keyed
        if sum(line["applied"] for line in lines) != 1:
            yield f"I4: {row['tool']} was applied {sum(line['applied'] for line in lines)} times"
        if len({line["hash"] for line in lines}) != 1:
            yield f"I4: {row['tool']} was sent again with another body"
        if keyed and len(lines) > SENDS:
            yield f"I4: {row['tool']} was sent {len(lines)} times"
        if not keyed and len(lines) > 1 and row["id"] not in again:
            yield f"I5: {row['tool']} was sent {len(lines)} times, and nobody asked for it"
        if row["state"] in NOT_RUN:
            yield f"I5: {row['tool']} went out and is said to be {row['state']}"
        if row["sends"] < len(lines):
            yield f"I4: {row['tool']} went out {len(lines)} times and {row['sends']} are recorded"
    for row in seen.tables["effects"]:
        ran = row["key"] and row["key"] in sent
        if row["kind"] == "http" and row["state"] == "succeeded" and not ran:
            yield f"I4: {row['tool']} is said to have succeeded and never came"
        started = [f for f in _of(facts, "call.started") if f.effect_id == row["id"]]
        if row["state"] == "failed" and started and row["code"] == "" and not row["settled"]:
            yield f"I4: {row['tool']} failed and nobody says why"


def _decisions(seen: Evidence, facts: Sequence[Fact]) -> Iterator[str]:
    """I6: one end for each wait, as many people as the policy wants, and nothing runs denied."""
    by_wait: dict[str, list[Fact]] = defaultdict(list)
    for fact in _of(facts, "decision.recorded"):
        by_wait[fact.payload["wait_id"]].append(fact)
    for wait in seen.tables["waits"]:
        closing = [fact for fact in by_wait[wait["id"]] if fact.payload["closes"]]
        if wait["state"] == "closed" and len(closing) != 1:
            yield f"I6: a closed wait has {len(closing)} decisions"
        if wait["state"] == "open" and closing:
            yield "I6: a decided wait is still open"
    for effect_id, told in _by_effect(facts).items():
        proposed = next((fact for fact in told if fact.type == "call.proposed"), None)
        if proposed is None:
            continue
        needed = seen.tools[proposed.payload["tool"]].approvers
        started = next((fact for fact in told if fact.type == "call.started"), None)
        approved = [f for f in _of(told, "decision.recorded") if f.payload["choice"] == "approve"]
        if started is not None and needed:
            people = {f.payload["by"] for f in approved if f.seq < started.seq}
            if len(people) < needed:
                yield f"I6: {effect_id} went out with {len(people)} approvals of {needed}"
        closed = [fact for fact in approved if fact.payload["closes"]]
        over = {fact.turn_id for fact in _of(facts, "turn.completed")}
        if closed and started is None and proposed.turn_id in over:
            yield f"I6: {effect_id} was approved and never went out"


def _shown_is_what_ran(seen: Evidence, facts: Sequence[Fact]) -> Iterator[str]:
    """I7: proposed = shown = decided = sent, and the receiver got those arguments."""
    shown = {
        (said.answer["wait_id"], said.who): said.shown
        for said in _answered(seen, "decide").values()
    }
    rows = {row["id"]: row for row in seen.tables["effects"]}
    by_key = {row["key"]: row for row in seen.tables["effects"] if row["key"]}
    for effect_id, told in _by_effect(facts).items():
        may_run = None
        for fact in told:
            match fact.type:
                case "call.proposed":
                    may_run = fact.payload["digest"]
                case "decision.recorded":
                    who = (fact.payload["wait_id"], fact.payload["by"])
                    if who in shown and fact.payload["digest_shown"] != shown[who]:
                        yield f"I7: {who[1]} was shown another digest than is recorded"
                    if who in shown and shown[who] != may_run:
                        yield f"I7: {who[1]} decided on something else than what may run"
                    if fact.payload["choice"] == "approve":
                        may_run = fact.payload["digest_decided"]
                case "call.started":
                    if fact.payload["digest_sent"] != may_run:
                        yield f"I7: {rows[effect_id]['tool']} was sent and not what may run"
                case _:
                    pass
    for line in seen.received:
        row = by_key.get(line["key"])
        if row is not None and json.loads(row["arguments"])["value"] != line["body"]:
            yield f"I7: {row['tool']} received {line['body']}"


# Turns --------------------------------------------------------------------------------------------


def _progress(seen: Evidence, facts: Sequence[Fact]) -> Iterator[str]:
    """I9: every turn came to its end, and nothing is held or due."""
    opened = {fact.turn_id for fact in _of(facts, "message.accepted")}
    ended = {fact.turn_id for fact in _of(facts, *ENDS)}
    if opened - ended:
        yield f"I9: {len(opened - ended)} turns never ended"
    for wake in seen.tables["wakes"]:
        if wake["owner"] is not None or wake["due"] is not None:
            yield f"I9: a wake is left: {wake}"


def _legal(seen: Evidence, facts: Sequence[Fact]) -> Iterator[str]:
    """I10: every fact may follow the one before it, and what ended stays as it is."""
    for effect_id, all_of_it in _by_effect(facts).items():
        told = [fact for fact in all_of_it if fact.type != KEPT]
        if len(told) < len(all_of_it) and not _of(told, "call.succeeded"):
            yield f"I10: {effect_id} kept a file and did not succeed"
        table = NEXT.get(told[0].type.partition(".")[0], CALL_NEXT)
        before = ""
        for fact in told:
            if fact.type not in table[before]:
                yield f"I10: {effect_id}: {fact.type} after {before or 'nothing'}"
            before = fact.type
        if len(_of(told, *RESULTS)) > 1:
            yield f"I10: {effect_id} has {len(_of(told, *RESULTS))} results"
    for turn_id in {fact.turn_id for fact in facts if fact.turn_id}:
        told = [fact for fact in facts if fact.turn_id == turn_id]
        ends = [place for place, fact in enumerate(told) if fact.type in ENDS]
        if len(ends) > 1:
            yield f"I10: a turn ended {len(ends)} times"
        if ends and {fact.type for fact in told[ends[0] + 1 :]} - AFTER_THE_END:
            yield f"I10: a turn went on after its end: {[f.type for f in told[ends[0] :]]}"
    for row in seen.tables["turns"]:
        ended = [fact for fact in _of(facts, *ENDS) if fact.turn_id == row["id"]]
        if ended and row["status"] != ended[0].type.removeprefix("turn."):
            yield f"I10: a turn is said to be {row['status']} and is {ended[0].type}"


def _cancelled(seen: Evidence, facts: Sequence[Fact]) -> Iterator[str]:
    """I11: after an acknowledged stop nothing goes out, and what comes late is not used."""
    for said in _answered(seen, "cancel").values():
        turn_id = said.answer["turn_id"]
        keys = {
            row["key"]: row
            for row in seen.tables["effects"]
            if row["turn_id"] == turn_id and row["key"]
        }
        for line in seen.received:
            if line["key"] in keys and line["time"] > said.answered:
                late = line["time"] - said.answered
                yield f"I11: {keys[line['key']]['tool']} went out {late:.3f} s after the stop"
        named = {*said.answer["ran"], *said.answer["unknown"]}
        for key in {line["key"] for line in seen.received if line["key"] in keys}:
            if keys[key]["id"] not in named:
                yield f"I11: {keys[key]['tool']} had gone out and the stop does not name it"


def _models(seen: Evidence, facts: Sequence[Fact]) -> Iterator[str]:
    """I12: every model call is in the ledger, and no call is there that was not made."""
    requested = len(_of(facts, "model.requested"))
    replied = len(_of(facts, "model.replied"))
    if seen.asked_models and not replied <= seen.asked_models <= requested:
        yield f"I12: the model served {seen.asked_models} calls, {requested} are recorded"
