"""The rows of effects (model attempts and calls) and of the waits they stand on."""

from collections.abc import Sequence

from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.events import Fact
from studio.core.rules.session import Session
from studio.core.store import codec
from studio.core.store.changes import Changes, Row, find_call, find_turn, plain

PEEK = 300
SEARCH = 2_000

INSERT_MODEL = (
    'INSERT INTO effects (id, session_id, turn_id, step, "index", kind, tool, server, state, '
    "digest, decided, sent, arguments, proposed, message, code, ruling, sends, proposed_at, "
    "started_at, seq) VALUES (?, ?, ?, ?, ?, 'model', ?, ?, 'started', ?, ?, ?, 'null', 'null', "
    "'', '', 'null', 1, ?, ?, ?)"
)
END_MODEL = (
    "UPDATE effects SET state = ?, result = ?, code = ?, message = ?, asked = ?, maybe_billed = ?, "
    "input_tokens = ?, output_tokens = ?, cached_tokens = ?, cache_write_tokens = ?, "
    "reasoning_tokens = ?, cost = ?, ended_at = ? WHERE id = ?"
)
LOSE_MODEL = "UPDATE effects SET state = 'uncertain', settled = 1, ended_at = ? WHERE id = ?"
INSERT_CALL = (
    'INSERT INTO effects (id, session_id, turn_id, step, "index", kind, tool, server, plugin, '
    "plugin_version, state, verdict, digest, decided, sent, arguments, proposed, peek, size, "
    "message, code, ruling, proposed_at, seq) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?, '', '', ?, ?, ?)"
)
NOTE_PLUGIN = (  # as a change, so that the session's own row is there by then
    "INSERT INTO session_plugins (plugin, first_position, session_id) "
    "SELECT ?, first_position, id FROM sessions WHERE id = ? ON CONFLICT DO NOTHING"
)
SET_STATE = "UPDATE effects SET state = ? WHERE id = ?"
EDIT_CALL = (
    "UPDATE effects SET arguments = ?, decided = ?, peek = ?, size = ?, edited_by = ? WHERE id = ?"
)
DECIDE_CALL = (
    "UPDATE effects SET state = coalesce(?, state), decided_by = ?, choice = ?, decided_at = ? "
    "WHERE id = ?"
)
SEND_CALL = (
    "UPDATE effects SET state = 'started', key = ?, sends = ?, sent = ?, "
    "started_at = coalesce(started_at, ?) WHERE id = ?"
)
END_CALL = (
    "UPDATE effects SET state = ?, result = ?, code = ?, message = ?, settled = ?, ended_at = ? "
    "WHERE id = ?"
)
COUNT_MASKED = "UPDATE effects SET masked = ? WHERE id = ?"
KEEP_FILES = "UPDATE effects SET files = ? WHERE id = ?"
LOSE_CALL = (
    "UPDATE effects SET state = 'uncertain', message = ?, settled = 0, ended_at = ? WHERE id = ?"
)
SETTLE_CALL = "UPDATE effects SET state = ?, message = ?, settled = 1 WHERE id = ?"
REOPEN_CALL = "UPDATE effects SET state = 'ready', settled = 0, ended_at = NULL WHERE id = ?"
HEAR_LATE = "UPDATE effects SET settled = 1 WHERE id = ? AND state = 'uncertain'"

INSERT_WAIT = (
    "INSERT INTO waits (id, session_id, turn_id, effect_id, kind, state, opened, deadline, "
    "approvers, not_own, approved_by, prompt, schema, digest, reason, agent, tool, server, plugin, "
    "owner, private, title, search, seq) "
    "VALUES (?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, '[]', ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
APPROVE_WAIT = "UPDATE waits SET approved_by = ?, digest = coalesce(?, digest) WHERE id = ?"
CLOSE_WAIT = (
    "UPDATE waits SET state = 'closed', choice = ?, closed_by = ?, closed = ?, reason = ? "
    "WHERE id = ?"
)


def follow(changes: Changes, after: Session, facts: Sequence[Fact]) -> None:
    """The changes these facts ask for; `after` is the session they lead to."""
    for fact in facts:
        match fact.event:
            case e.ModelRequested() | e.ModelReplied() | e.ModelFailed() | e.ModelUncertain():
                _model(changes, after, fact)
            case e.SummaryRequested() | e.ContextCompacted() | e.SummaryFailed():
                _model(changes, after, fact)
            case e.WaitOpened() | e.DecisionRecorded():
                _wait(changes, after, fact)
            case e.CallSettled() | e.CallLate() | e.CallUncertain():
                _uncertain(changes, fact)
            case _:
                _call(changes, after, fact)


def _model(changes: Changes, after: Session, fact: Fact) -> None:
    at = fact.time
    match fact.event:
        case e.ModelRequested() | e.SummaryRequested() as f:
            row = (
                f.effect_id, after.id, f.turn_id, f.step, f.attempt, plain(f.model), f.provider,
                f.request_hash, f.request_hash, f.request_hash, at, at, fact.seq,
            )  # fmt: skip
            changes.insert(INSERT_MODEL, row)
        case e.ModelReplied() as f:
            said = ("succeeded", codec.value(f.text), "", "", f.calls, 0)
            changes.update(END_MODEL, (*said, *_usage(f.usage), at, f.effect_id))
            _masked(changes, f)
        case e.ContextCompacted() as f:
            said = ("succeeded", codec.value(f.text), "", "", 0, 0)
            changes.update(END_MODEL, (*said, *_usage(f.usage), at, f.effect_id))
        case e.ModelFailed() | e.SummaryFailed() as f:
            said_not = ("failed", None, plain(f.code), plain(f.message), None, int(f.maybe_billed))
            changes.update(END_MODEL, (*said_not, *_usage(f.usage), at, f.effect_id))
        case e.ModelUncertain() as f:
            changes.update(LOSE_MODEL, (at, f.effect_id))
        case _:
            pass


def _usage(usage: e.Usage) -> tuple[int | float | None, ...]:
    return (
        usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cache_write_tokens,
        usage.reasoning_tokens, usage.cost,
    )  # fmt: skip


def _call(changes: Changes, after: Session, fact: Fact) -> None:
    at = fact.time
    match fact.event:
        case e.CallProposed() as f:
            changes.insert(INSERT_CALL, _proposed(after, f, fact))
            if f.origin.plugin is not None:
                changes.update(NOTE_PLUGIN, (f.origin.plugin, after.id))
        case e.CallStarted() as f:
            changes.update(SEND_CALL, (f.key, f.send, f.digest_sent, at, f.effect_id))
        case e.CallSucceeded() as f:
            row: Row = ("succeeded", codec.value(f.result), "", "", 0, at, f.effect_id)
            changes.update(END_CALL, row)
            _files(changes, f)
            _masked(changes, f)
        case e.CallFailed() as f:
            result = codec.value(f.result) if f.result is not None else None
            said = (result, plain(f.code), plain(f.message), int(f.settled))
            changes.update(END_CALL, ("failed", *said, at, f.effect_id))
            _files(changes, f)
            _masked(changes, f)
        case e.CallDenied() as f:
            row = ("denied", None, "", plain(f.reason), 0, at, f.effect_id)
            changes.update(END_CALL, row)
        case e.CallCancelled() as f:
            row = ("cancelled", None, "", plain(f.reason), 0, at, f.effect_id)
            changes.update(END_CALL, row)
        case _:
            pass


def _masked(changes: Changes, f: e.CallSucceeded | e.CallFailed | e.ModelReplied) -> None:
    if f.masked:
        changes.update(COUNT_MASKED, (f.masked, f.effect_id))


def _files(changes: Changes, f: e.CallSucceeded | e.CallFailed) -> None:
    if f.files:
        files = codec.text([vars(ref) for ref in f.files])
        changes.update(KEEP_FILES, (files, f.effect_id))


def _proposed(after: Session, f: e.CallProposed, fact: Fact) -> Row:
    arguments = codec.value(f.arguments)
    state = "ready" if f.ruling.verdict == "allow" else "proposed"
    return (
        f.effect_id, after.id, f.turn_id, f.step, f.index, f.origin.kind, plain(f.tool),
        f.origin.server, f.origin.plugin, f.origin.plugin_version, state, f.ruling.verdict,
        f.digest, f.digest, arguments, arguments, _peek(f.arguments), f.arguments.size,
        codec.value(f.ruling), fact.time, fact.seq,
    )  # fmt: skip


def _peek(content: e.Content) -> str:
    return plain(contents.words(content)[:PEEK])


def _uncertain(changes: Changes, fact: Fact) -> None:
    match fact.event:
        case e.CallUncertain() as f:
            changes.update(LOSE_CALL, (plain(f.reason), fact.time, f.effect_id))
        case e.CallSettled(choice="ran") as f:
            words = plain(f.reason) or "A person confirmed that it ran."
            changes.update(SETTLE_CALL, ("uncertain", words, f.effect_id))
        case e.CallSettled(choice="did_not_run") as f:
            words = plain(f.reason) or "A person confirmed that it did not run."
            changes.update(SETTLE_CALL, ("failed", words, f.effect_id))
        case e.CallSettled() as f:
            changes.update(REOPEN_CALL, (f.effect_id,))
        case e.CallLate() as f:
            changes.update(HEAR_LATE, (f.effect_id,))
        case _:
            pass


def _wait(changes: Changes, after: Session, fact: Fact) -> None:
    match fact.event:
        case e.WaitOpened() as f:
            changes.insert(INSERT_WAIT, _opened(after, f, fact))
            state = {"approval": "held", "uncertain": "uncertain"}.get(f.kind, "waiting")
            changes.update(SET_STATE, (state, f.effect_id))
        case e.DecisionRecorded() as f:
            _decided(changes, after, f, fact.time)
        case _:
            pass


def _opened(after: Session, f: e.WaitOpened, fact: Fact) -> Row:
    call = find_call(after, f.turn_id, f.effect_id)
    assert call is not None, "a wait is opened by a call of the turn in hand"
    digest = call.digest if f.kind == "approval" else call.decided
    server, plugin = call.origin.server, call.origin.plugin
    words = (call.tool, after.agent, after.title, plugin or "", server or "")
    search = " ".join((*words, contents.words(call.proposed)[:SEARCH]))
    return (
        f.wait_id, after.id, f.turn_id, f.effect_id, f.kind, fact.time, f.deadline, f.approvers,
        int(f.not_own), plain(f.prompt), None if f.schema is None else codec.text(f.schema), digest,
        after.agent, plain(call.tool), server, plugin, after.owner, int(after.private),
        plain(after.title), plain(search.lower())[:SEARCH], fact.seq,
    )  # fmt: skip


def _decided(changes: Changes, after: Session, f: e.DecisionRecorded, at: int) -> None:
    if f.arguments is not None:
        row = (
            codec.value(f.arguments), f.digest_decided, _peek(f.arguments), f.arguments.size, f.by,
            f.effect_id,
        )  # fmt: skip
        changes.update(EDIT_CALL, row)
    if f.choice == "approve":
        turn = find_turn(after, f.turn_id)
        wait = turn.waits.get(f.wait_id) if turn is not None else None
        assert wait is not None, "an approval is given in the turn in hand"
        # who decides next is shown what the edit made of it
        digest = f.digest_decided if f.arguments is not None and not f.closes else None
        changes.update(APPROVE_WAIT, (codec.text(list(wait.approved_by)), digest, f.wait_id))
    if f.closes:
        reason = plain(f.reason)
        changes.update(CLOSE_WAIT, (f.choice, f.by, at, reason, f.wait_id))
        state = "ready" if f.choice == "approve" else None
        changes.update(DECIDE_CALL, (state, f.by, f.choice, at, f.effect_id))
