"""The rows of environments and their manifests, derived from facts.

An environment's row is its folded state: read, moved on by each fact, written once an append. How
facts are grouped into appends does not matter.
"""

from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa

from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.environments import environment as rule_of
from studio.core.rules.environments.environment import Environment
from studio.core.rules.events import Event, Fact
from studio.core.store import blobs, codec, environments
from studio.core.store.changes import Changes, Row, plain

OUTPUT_ROOM = 5 * 1024  # bytes of the output of one setup command that may stand in the fact

SAVE_MANIFEST = (
    "INSERT INTO environment_manifests (name, version, manifest, digest, by, time) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
REMOVE_MANIFEST = (
    "UPDATE environment_manifests SET removed = ? "
    "WHERE name = ? AND version <= ? AND removed IS NULL"
)
INSERT = (
    "INSERT INTO environments (seq, state, owner, last, used, deleted, version, bytes, folded, id, "
    "first_position, name, kind, manifest, manifest_version, digest, by, made, delete_after, "
    "definition) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
UPDATE = (
    "UPDATE environments SET seq = ?, state = ?, owner = ?, last = ?, used = ?, deleted = ?, "
    "version = ?, bytes = ?, folded = ? WHERE id = ?"
)
UNLABEL = "DELETE FROM environment_labels WHERE environment_id = ?"
LABEL = "INSERT INTO environment_labels (environment_id, key, value) VALUES (?, ?, ?)"
KEEP = (
    "INSERT INTO disk_versions (environment_id, version, seq, digest, files, folders, bytes, "
    "added, reason, session_id, turn_id, note, by, skipped, moving, time) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
REMOVE = "UPDATE disk_versions SET removed = ? WHERE environment_id = ? AND version = ?"
TRIED = (
    "INSERT INTO egress (environment_id, seq, host, port, outcome, reason, up, down, milliseconds, "
    "turns, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

ASKED = (
    "INSERT INTO operations (id, environment_id, act, source, archive, archive_name, note, by, "
    "state, asked, code, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'asked', ?, '', '')"
)
STARTED = "UPDATE operations SET state = 'started', worker = ?, started = ? WHERE id = ?"
ENDED = (
    "UPDATE operations SET state = ?, ended = ?, version = ?, code = ?, message = ? WHERE id = ?"
)


def follow_manifest(changes: Changes, fact: Fact) -> None:
    """The row of a version that was saved, or the end of all of a name."""
    match fact.event:
        case e.EnvironmentManifestSaved() as f:
            row: Row = (f.name, f.version, codec.text(f.manifest), f.digest, f.by, fact.time)
            changes.insert(SAVE_MANIFEST, row)
        case e.EnvironmentManifestRemoved() as f:
            changes.update(REMOVE_MANIFEST, (fact.time, f.name, f.version))
        case _:
            pass


def follow(conn: sa.Connection, changes: Changes, facts: Sequence[Fact]) -> None:
    """Bring the rows of one environment on by facts of its journal."""
    id = facts[0].session_id
    before = environments.folded(conn, id)
    environment = before or Environment(id=id)
    for fact in facts:
        environment = rule_of.apply(environment, fact)
        _follow_parts(changes, id, fact)
    moving: Row = (
        environment.seq, environment.state, plain(environment.owner), environment.time,
        environment.used, environment.deleted, environment.version,
        environment.disk.bytes if environment.disk is not None else 0, _folded(environment), id,
    )  # fmt: skip
    if before is not None:
        changes.update(UPDATE, moving)
    else:
        changes.insert(INSERT, (*moving, *_fixed(environment, facts[0])))
    if before is None or dict(before.labels) != dict(environment.labels):
        changes.update(UNLABEL, (id,))
        for key, value in environment.labels.items():
            changes.update(LABEL, (id, key, plain(value)))


def spilled(conn: sa.Connection, event: Event, at: int) -> Event:
    """The event, with outputs that are too long for a fact moved to the blobs."""
    if not isinstance(event, e.SetupFinished):
        return event
    runs = [
        replace(run, output=blobs.keep(conn, replace(run.output, room=OUTPUT_ROOM), at))
        for run in event.runs
    ]
    return replace(event, runs=tuple(runs))


def secrets_changed(facts: Sequence[Fact]) -> list[Event]:
    """What the journal `secrets` is told of these facts of environments."""
    owners = [
        fact.session_id for fact in facts if isinstance(fact.event, e.SecretSet | e.SecretRemoved)
    ]
    return [
        e.EnvironmentSecretsChanged(environment_id=owner)
        for owner in dict.fromkeys(owners)
        if owner.startswith("env_")
    ]


def output(text: str) -> e.Content:
    """The output of a setup command, as `SetupRun` has it."""
    return replace(contents.of_text(text), room=OUTPUT_ROOM)


def _follow_parts(changes: Changes, id: str, fact: Fact) -> None:
    """Rows beside that of the environment itself."""
    match fact.event:
        case e.DiskKept() as f:
            session_id, turn_id = (f.turn.session_id, f.turn.turn_id) if f.turn else (None, None)
            row: Row = (
                id, f.version, fact.seq, f.digest, f.files, f.folders, f.bytes, f.added, f.reason,
                session_id, turn_id, plain(f.note), plain(f.by), len(f.skipped), len(f.moving),
                fact.time,
            )  # fmt: skip
            changes.insert(KEEP, row)
        case e.DiskVersionRemoved() as f:
            changes.update(REMOVE, (fact.time, id, f.version))
        case e.EgressTried() as f:
            turns = [{"session_id": one.session_id, "turn_id": one.turn_id} for one in f.turns]
            row = (
                id, fact.seq, plain(f.host), f.port, f.outcome, plain(f.reason), f.up, f.down,
                f.milliseconds, codec.text(turns), fact.time,
            )  # fmt: skip
            changes.insert(TRIED, row)
        case e.OperationAsked() | e.OperationStarted() | e.OperationEnded():
            _follow_operation(changes, id, fact)
        case _:
            pass


def _follow_operation(changes: Changes, id: str, fact: Fact) -> None:
    match fact.event:
        case e.OperationAsked() as f:
            row: Row = (
                f.operation_id, id, f.act, f.version, f.archive, plain(f.archive_name),
                plain(f.note), plain(f.by), fact.time,
            )  # fmt: skip
            changes.insert(ASKED, row)
        case e.OperationStarted() as f:
            changes.update(STARTED, (f.worker, fact.time, f.operation_id))
        case e.OperationEnded() as f:
            state = "done" if f.ok else "failed"
            row = (state, fact.time, f.version, f.code, plain(f.message), f.operation_id)
            changes.update(ENDED, row)
        case _:
            pass


def _fixed(environment: Environment, first: Fact) -> Row:
    """What of the row never changes."""
    return (
        first.position, environment.name, environment.kind, environment.manifest,
        environment.manifest_version, environment.digest, plain(environment.by), environment.made,
        environment.delete_after, codec.text(environment.definition),
    )  # fmt: skip


def _folded(environment: Environment) -> str:
    slots = environment.definition.get("secrets", [])
    return codec.value(replace(environment, definition={"secrets": slots}))
