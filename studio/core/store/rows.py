"""The tables that pages read, derived from facts; nothing here looks at a clock.

`derive` follows one append, `rebuild` throws everything derived away and makes it anew. How facts
are grouped into appends must not matter, so every change is either final state (from the folded
session) or follows the facts one by one.
"""

from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.rules.events import Fact
from studio.core.rules.session import Session, Turn, apply
from studio.core.store import artifacts, codec, environment_rows, raw, usage_rows, views
from studio.core.store.changes import Changes, Row, find_turn, plain
from studio.core.store.effect_rows import follow as follow_effects
from studio.core.store.facts import facts as facts_of

EXCERPT = 200
TITLE, NAME, TOOLS, FAILURE = 400, 200, 700, 400
PAGE = 500

INSERT_SESSION = (
    "INSERT INTO sessions (seq, position, status, turn_id, turns, held, questions, uncertain, "
    "last, ended, input_tokens, output_tokens, cost, cost_known, maybe_billed, active, search, "
    "id, agent, agent_version, title, owner, private, started, first_position, environment_id) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
UPDATE_SESSION = (
    "UPDATE sessions SET seq = ?, position = ?, status = ?, turn_id = ?, turns = ?, held = ?, "
    "questions = ?, uncertain = ?, last = ?, ended = ?, input_tokens = ?, output_tokens = ?, "
    "cost = ?, cost_known = ?, maybe_billed = ?, active = active + ? WHERE id = ?"
)
SET_MODEL = "UPDATE sessions SET model = ? WHERE id = ?"
SEARCH = "SELECT search FROM sessions WHERE id = ?"
UPDATE_SEARCH = "UPDATE sessions SET search = ? WHERE id = ?"
INSERT_TURN = (
    "INSERT INTO turns (id, session_id, number, status, excerpt, by, opened, code, message, seq, "
    "owner, private) VALUES (?, ?, ?, 'queued', ?, ?, ?, '', '', ?, ?, ?)"
)
UPDATE_TURN = (
    "UPDATE turns SET status = ?, started = ?, active = ?, steps = ?, calls = calls + ? "
    "WHERE id = ?"
)
SPEND_TURN = (
    "UPDATE turns SET input_tokens = input_tokens + ?, output_tokens = output_tokens + ?, "
    "cost = cost + ?, cost_known = CASE WHEN ? = 1 THEN cost_known ELSE 0 END WHERE id = ?"
)
END_TURN = "UPDATE turns SET ended = ?, code = ?, message = ? WHERE id = ?"
INSERT_AGENT = (
    "INSERT INTO agents (name, version, manifest, digest, by, time) VALUES (?, ?, ?, ?, ?, ?)"
)
INSERT_PLUGIN = (
    "INSERT INTO plugins (name, revision, version, hash, description, servers, skills, about, "
    "changes, files, size, by, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
REMOVE_PLUGIN = (
    "UPDATE plugins SET removed = ?, removed_by = ? "
    "WHERE name = ? AND revision <= ? AND removed IS NULL"
)
INSERT_SKILL = (
    "INSERT INTO skills (hash, name, description, requires, license, files, size, by, time) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
INSERT_POLICY = "INSERT INTO policies (version, rules, by, note, time) VALUES (?, ?, ?, ?, ?)"
INSERT_KEY = "INSERT INTO keys (id, name, role, hash, by, made) VALUES (?, ?, ?, ?, ?, ?)"
REVOKE_KEY = "UPDATE keys SET revoked = ? WHERE id = ?"
VALUE_SET = (
    "INSERT INTO secrets (owner, name, version, by, time, removed) VALUES (?, ?, ?, ?, ?, NULL) "
    "ON CONFLICT (owner, name) DO UPDATE SET version = excluded.version, by = excluded.by, "
    "time = excluded.time, removed = NULL"
)
SAVE_PROVIDER = (
    "INSERT INTO providers (name, data, key_version, by, time) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (name) DO UPDATE SET data = excluded.data, key_version = excluded.key_version, "
    "by = excluded.by, time = excluded.time"
)
REMOVE_PROVIDER = "DELETE FROM providers WHERE name = ?"
CHOOSE_DEFAULT = (
    "INSERT INTO default_models (id, provider, model, by, time) VALUES (1, ?, ?, ?, ?) "
    "ON CONFLICT (id) DO UPDATE SET provider = excluded.provider, model = excluded.model, "
    "by = excluded.by, time = excluded.time"
)
INSERT_PROBE = (
    "INSERT INTO probes (id, kind, target, subject, by, asked, state) "
    "VALUES (?, ?, ?, ?, ?, ?, 'asked')"
)
START_PROBE = "UPDATE probes SET state = 'started', started = ?, worker = ?, until = ? WHERE id = ?"
END_PROBE = (
    "UPDATE probes SET state = ?, ended = ?, answer = ?, masked = ?, code = ?, message = ? "
    "WHERE id = ?"
)
VALUE_REMOVED = "UPDATE secrets SET removed = ?, by = ? WHERE owner = ? AND name = ?"

DERIVED = (
    "sessions", "turns", "effects", "waits", "artifacts", "artifact_versions",
    "artifact_links", "agents", "plugins",
    "skills", "session_plugins", "usage_days", "usage_sessions", "usage_plugins", "policies",
    "keys", "secrets", "providers", "default_models", "probes", "environment_manifests",
    "environments", "environment_labels", "disk_versions", "egress", "operations",
    "views", "checkpoints",
)  # fmt: skip
OTHERS = (
    "agents", "plugins", "policy", "people", "secrets", "models", "probes", "environments", "views",
)  # fmt: skip


def derive(conn: sa.Connection, before: Session, after: Session, facts: Sequence[Fact]) -> None:
    """Bring the rows of one session from `before` to `after`, which these facts lead to."""
    changes = Changes()
    _follow_turns(changes, before, after, facts)
    follow_effects(changes, after, facts)
    usage_rows.follow(changes, after, facts)
    artifacts.follow(changes, after.id, facts)
    _follow_session(conn, changes, before, after, facts)
    changes.carry_out(conn)


def derive_other(conn: sa.Connection, facts: Sequence[Fact]) -> None:
    """The rows of agents, plugins, skills, policies, keys, secrets and environments."""
    changes = Changes()
    for fact in facts:
        match fact.event:
            case e.AgentSaved() as f:
                manifest = codec.text(f.manifest)
                row: Row = (f.name, f.version, manifest, f.digest, f.by, fact.time)
                changes.insert(INSERT_AGENT, row)
            case e.PluginInstalled() | e.PluginUpdated() as f:
                changes.insert(INSERT_PLUGIN, _plugin(f, fact.time))
            case e.PluginRemoved() as f:
                changes.update(REMOVE_PLUGIN, (fact.time, f.by, f.name, f.revision))
            case e.SkillSaved() as f:
                row = (
                    f.hash, f.name, plain(f.description), codec.text(f.requires),
                    plain(f.license), f.files, f.size, f.by, fact.time,
                )  # fmt: skip
                changes.insert(INSERT_SKILL, row)
            case e.PolicySaved() as f:
                row = (f.version, codec.text(f.rules), f.by, plain(f.note), fact.time)
                changes.insert(INSERT_POLICY, row)
            case e.KeyMade() as f:
                changes.insert(
                    INSERT_KEY, (f.key_id, plain(f.name), f.role, f.hash, f.by, fact.time)
                )
            case e.KeyRevoked() as f:
                changes.update(REVOKE_KEY, (fact.time, f.key_id))
            case e.SecretSet() as f:
                changes.update(VALUE_SET, (f.owner, f.name, f.version, f.by, fact.time))
            case e.SecretRemoved() as f:
                changes.update(VALUE_REMOVED, (fact.time, f.by, f.owner, f.name))
            case e.ProviderSaved() as f:
                data = codec.text(f.provider)
                changes.update(SAVE_PROVIDER, (f.name, data, f.key_version, f.by, fact.time))
            case e.ProviderRemoved() as f:
                changes.update(REMOVE_PROVIDER, (f.name,))
            case e.DefaultModelChosen() as f:
                changes.update(CHOOSE_DEFAULT, (f.provider, f.model, f.by, fact.time))
            case e.ProbeAsked() | e.ProbeStarted() | e.ProbeAnswered() | e.ProbeFailed():
                _follow_probe(changes, fact)
            case e.ProbeLost():
                _follow_probe(changes, fact)
            case e.ViewSaved() | e.ViewRemoved():
                views.follow(changes, fact)
            case e.EnvironmentManifestSaved() | e.EnvironmentManifestRemoved():
                environment_rows.follow_manifest(changes, fact)
            case _:
                pass
    if facts and is_environment(facts[0].session_id):
        environment_rows.follow(conn, changes, facts)
    changes.carry_out(conn)


def is_environment(journal_id: str) -> bool:
    """The journal is that of one environment."""
    return journal_id.startswith("env_")


def _plugin(f: e.PluginInstalled | e.PluginUpdated, at: int) -> Row:
    changes = (f.changes if isinstance(f, e.PluginUpdated) else None) or []
    return (
        f.name, f.revision, f.version, f.hash, plain(f.description), codec.text(f.servers),
        codec.text(f.skills), codec.text(f.about), codec.text(changes), f.files, f.size, f.by, at,
    )  # fmt: skip


def _follow_probe(changes: Changes, fact: Fact) -> None:
    match fact.event:
        case e.ProbeAsked() as f:
            subject = codec.text(f.subject)
            row: Row = (f.probe_id, f.kind, plain(f.target), subject, f.by, fact.time)
            changes.insert(INSERT_PROBE, row)
        case e.ProbeStarted() as f:
            changes.update(START_PROBE, (fact.time, f.worker, f.until, f.probe_id))
        case e.ProbeAnswered() as f:
            answer = codec.text(f.answer)
            row = ("answered", fact.time, answer, f.masked, "", "", f.probe_id)
            changes.update(END_PROBE, row)
        case e.ProbeFailed() as f:
            row = ("failed", fact.time, None, 0, f.code, plain(f.message), f.probe_id)
            changes.update(END_PROBE, row)
        case e.ProbeLost() as f:
            changes.update(END_PROBE, ("lost", fact.time, None, 0, "", "", f.probe_id))
        case _:
            pass


# Turns --------------------------------------------------------------------------------------------


def _follow_turns(changes: Changes, before: Session, after: Session, facts: Sequence[Fact]) -> None:
    proposed: dict[str, int] = {}
    for fact in facts:
        match fact.event:
            case e.MessageAccepted() as f:
                row = (
                    f.turn_id, after.id, f.number, excerpt(f.text), f.by, fact.time, fact.seq,
                    after.owner, int(after.private),
                )  # fmt: skip
                changes.insert(INSERT_TURN, row)
                proposed.setdefault(f.turn_id, 0)
            case e.CallProposed() as f:
                proposed[f.turn_id] = proposed.get(f.turn_id, 0) + 1
            case e.ModelReplied() as f:
                _spend(changes, f.turn_id, f.usage, billed=True)
            case e.ModelFailed() as f:
                _spend(changes, f.turn_id, f.usage, billed=f.maybe_billed)
            case e.ContextCompacted() as f:
                _spend(changes, f.turn_id, f.usage, billed=True)
            case e.SummaryFailed() as f:
                _spend(changes, f.turn_id, f.usage, billed=f.maybe_billed)
            case e.ModelUncertain() as f:
                changes.update(SPEND_TURN, (0, 0, 0.0, 0, f.turn_id))
            case e.TurnCompleted() as f:
                changes.update(END_TURN, (fact.time, "", "", f.turn_id))
            case e.TurnFailed() as f:
                changes.update(END_TURN, (fact.time, plain(f.code), plain(f.message), f.turn_id))
            case e.TurnCancelled() as f:
                changes.update(END_TURN, (fact.time, "cancelled", plain(f.reason), f.turn_id))
            case _:
                pass
        if fact.turn_id is not None:
            proposed.setdefault(fact.turn_id, 0)
    for turn_id, calls in proposed.items():
        _move_turn(changes, find_turn(before, turn_id), find_turn(after, turn_id), calls)


def _spend(changes: Changes, turn_id: str, usage: e.Usage, *, billed: bool) -> None:
    known = usage.cost is not None or not billed
    row = (
        usage.input_tokens or 0, usage.output_tokens or 0, usage.cost or 0.0, int(known), turn_id,
    )  # fmt: skip
    if row[:4] != (0, 0, 0.0, 1):
        changes.update(SPEND_TURN, row)


def _move_turn(changes: Changes, before: Turn | None, after: Turn | None, calls: int) -> None:
    if after is None:
        return
    now = (after.status, after.started, after.active, after.step)
    if (
        calls
        or before is None
        or now != (before.status, before.started, before.active, before.step)
    ):
        changes.update(UPDATE_TURN, (*now, calls, after.id))


# The session --------------------------------------------------------------------------------------


def _follow_session(
    conn: sa.Connection, changes: Changes, before: Session, after: Session, facts: Sequence[Fact]
) -> None:
    turn = after.turn
    waits = turn.open_waits() if turn is not None and not turn.is_over else []
    row = (
        after.seq, facts[-1].position, after.status, turn.id if turn else None, after.turns,
        sum(wait.kind == "approval" for wait in waits),
        sum(wait.kind == "question" for wait in waits),
        len(after.unsettled), after.time, turn.ended if turn else None, after.input_tokens,
        after.output_tokens, after.cost, int(after.cost_known), after.maybe_billed,
        _active(after, facts),
    )  # fmt: skip
    if before.seq == 0:
        search = _search(_first_words(after), facts)
        rest = (
            search, after.id, after.agent, after.agent_version, plain(after.title), after.owner,
            int(after.private), after.started, facts[0].position, after.environment_id,
        )  # fmt: skip
        changes.insert(INSERT_SESSION, (*row, *rest))
        if after.model is not None:
            changes.update(SET_MODEL, (_model(after), after.id))
        return
    changes.update(UPDATE_SESSION, (*row, after.id))
    if after.model != before.model:
        changes.update(SET_MODEL, (_model(after), after.id))
    if any(isinstance(fact.event, e.CallProposed | e.TurnFailed) for fact in facts):
        old = raw.one(conn, SEARCH, (after.id,))
        search = _search(old[0] if old else _first_words(after), facts)
        if old is None or search != old[0]:
            changes.update(UPDATE_SEARCH, (search, after.id))


def _model(session: Session) -> str:
    """The chosen model in one text, "" for the one that the agent names."""
    chosen = session.model
    return plain(f"{chosen['provider']}/{chosen['name']}") if chosen else ""


def _active(after: Session, facts: Sequence[Fact]) -> int:
    """Active time of the turns that these facts ended."""
    active = 0
    for fact in facts:
        if isinstance(fact.event, e.TurnCompleted | e.TurnFailed | e.TurnCancelled):
            turn = find_turn(after, fact.event.turn_id)
            active += turn.active if turn is not None else 0
    return active


def _first_words(session: Session) -> str:
    """Four lines: the title; agent and owner; tools used; the last failure."""
    names = _words(session.agent, NAME) + " " + _words(session.owner, NAME)
    return f"{_words(session.title, TITLE)}\n{names}\n\n"


def _search(text: str, facts: Sequence[Fact]) -> str:
    title, names, tools, failure = text.split("\n")
    for fact in facts:
        match fact.event:
            case e.CallProposed() as f:
                tool = _words(f.tool, NAME).replace(" ", "_")
                if tool not in tools.split(" ") and len(tools) + len(tool) < TOOLS:
                    tools = f"{tools} {tool}" if tools else tool
            case e.TurnFailed() as f:
                failure = _words(f"{f.code} {f.message}", FAILURE)
            case _:
                pass
    return f"{title}\n{names}\n{tools}\n{failure}"


def _words(text: str, most: int) -> str:
    """Lower case, on one line, cut."""
    return " ".join(plain(text).lower().split())[:most]


def excerpt(content: e.Content) -> str:
    """The first characters of a message."""
    text = content.head if content.stored else str(content.value)
    return plain(text[:EXCERPT])


# All of it anew -----------------------------------------------------------------------------------


def rebuild(conn: sa.Connection) -> None:
    """Throw all derived rows away and make them from the journal. Inside `Db.record`."""
    for table in DERIVED:
        raw.put(conn, f"DELETE FROM {table}")  # noqa: S608 - names of our own
    for (session_id,) in raw.every(conn, "SELECT DISTINCT session_id FROM events"):
        session = Session(id=session_id)
        for facts in _appends(conn, session_id):
            if session_id in OTHERS or is_environment(session_id):
                derive_other(conn, facts)
                continue
            before = session
            for fact in facts:
                session = apply(session, fact)
            derive(conn, before, session, facts)


def _appends(conn: sa.Connection, session_id: str) -> Iterator[list[Fact]]:
    """A session's facts in groups that each open at most one turn, as its window keeps few."""
    group: list[Fact] = []
    after = 0
    while page := facts_of(conn, session_id, after=after, limit=PAGE):
        for fact in page:
            if group and (isinstance(fact.event, e.MessageAccepted) or len(group) >= PAGE):
                yield group
                group = []
            group.append(fact)
            after = fact.seq
    if group:
        yield group
