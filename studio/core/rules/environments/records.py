"""What is recorded of an environment next, and what is refused. Pure: given what is, these facts.

The worker and the disk service ask these inside a commit of the environment's journal.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from studio.core.rules import access
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments.environment import Environment
from studio.core.rules.environments.manifest import differing
from studio.core.rules.environments.slots import Coverage
from studio.core.rules.errors import NotFound, Refused

Reason = Literal["setup", "turn", "hand", "restore", "import", "fork"]
MOST_PATHS, MOST_TURNS = 100, 16
LONGEST_NOTE = 500


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A state of a disk that the disk store holds. Sizes are bytes; paths are as it names them.

    `milliseconds` is how long it took to keep it.
    """

    digest: str
    files: int
    folders: int
    bytes: int
    added: int = 0
    skipped: Sequence[str] = ()
    moving: Sequence[str] = ()
    milliseconds: int = 0


@dataclass(frozen=True, kw_only=True)
class Busy:
    """A turn that is not over, of a session in an environment. Ids are "" when they are private."""

    session_id: str
    title: str
    turn_id: str
    number: int
    status: str


# Guards -------------------------------------------------------------------------------------------


def alive(environment: Environment | None) -> Environment:
    """The environment, or why nothing more becomes of it."""
    if environment is None:
        raise NotFound("There is no such environment.", code="environment.not_found")
    if environment.deleted is not None:
        raise Refused(
            f"The environment {environment.name} was deleted, with its disk and its secrets.",
            code="environment.deleted",
        )
    return environment


def guarded(person: Person, environment: Environment) -> None:
    """Refuse a person whom the owner guard keeps out; admins pass."""
    if environment.owner in ("", person.id) or person.role == "admin":
        return
    raise Refused(
        f"The environment {environment.name} is {environment.owner}'s alone to use. Ask them or an "
        "admin, or fork it.",
        code="environment.owner_mismatch", details={"owner": environment.owner},
    )  # fmt: skip


def usable(person: Person, environment: Environment, coverage: Coverage) -> None:
    """Refuse a session that could not work here: deleted, another's, required secrets missing."""
    guarded(person, alive(environment))
    if coverage.missing:
        raise Refused(
            f"The environment {environment.name} has {coverage.words}: "
            f"{', '.join(coverage.missing)}. An admin sets secrets on its page.",
            code="environment.secrets_missing", details={"missing": list(coverage.missing)},
        )  # fmt: skip


def idle(environment: Environment, busy: Busy | None, what: str) -> None:
    """Refuse to `what` (such as `delete it`) while a turn works in the environment."""
    if busy is None:
        return
    whose = f"turn {busy.number} of the session “{busy.title}”" if busy.session_id else (
        "a turn of a private session")  # fmt: skip
    raise Refused(
        f"The environment {environment.name} is busy: {whose} is {busy.status}. Wait for it or "
        f"stop it, then {what}.",
        code="environment_busy",
        details={"session_id": busy.session_id, "turn_id": busy.turn_id, "status": busy.status},
    )


def same_again(
    environment: Environment, *, manifest: str | None, version: int | None,
    definition: Mapping[str, Any] | None, labels: Mapping[str, str] | None, owner: str | None,
) -> None:  # fmt: skip
    """Refuse to make what is there already with other values; what is None was not asked for."""
    fields = []
    if definition is not None:
        fields += list(differing(environment.definition, definition))
    if manifest is not None and manifest != environment.manifest:
        fields.append("manifest")
    elif version is not None and version != environment.manifest_version:
        fields.append("manifest version")
    if labels is not None and dict(labels) != dict(environment.labels):
        fields.append("labels")
    if owner is not None and owner != environment.owner:
        fields.append("owner")
    if not fields:
        return
    raise Refused(
        f"There is an environment {environment.name} with other values: {', '.join(fields)}. It "
        "never changes but for its labels and owner, which have verbs of their own; for the rest, "
        "fork it or choose another name.",
        code="environment_immutable", details={"fields": fields, "id": environment.id},
    )  # fmt: skip


# What people change -------------------------------------------------------------------------------


def label(environment: Environment, labels: Mapping[str, str], by: Person) -> list[e.Event]:
    """Other labels, in place of all there are."""
    guarded(by, alive(environment))
    if dict(labels) == dict(environment.labels):
        return []
    return [e.EnvironmentLabelled(labels=dict(labels), by=by.id)]


def give(environment: Environment, owner: str, by: Person) -> list[e.Event]:
    """Another owner, or "" for everybody."""
    guarded(by, alive(environment))
    if owner == environment.owner:
        return []
    return [e.EnvironmentOwnerChanged(owner=owner, by=by.id)]


def delete(environment: Environment, busy: Busy | None, by: Person | None) -> list[e.Event]:
    """The end of it; by nobody when it was unused for as long as it says."""
    alive(environment)
    idle(environment, busy, "delete it")
    if by is not None:
        access.needs(by, "admin", "delete an environment")
    return [e.EnvironmentDeleted(by=by.id if by is not None else "")]


def remove_version(
    environment: Environment, version: int, *, there: Collection[int], referred: Collection[int],
    by: Person,
) -> list[e.Event]:  # fmt: skip
    """One kept version less. `there` are those there are, `referred` those a turn stands on."""
    alive(environment)
    if version not in there:
        raise NotFound("The disk has no such version.", code="disk.not_found")
    if version == environment.version:
        raise Refused(
            f"Version {version} is the newest of this disk and stays. Keep another one first.",
            code="disk.newest",
        )
    if version in referred:
        raise Refused(
            f"A turn in hand began on version {version}. Wait for it or stop it first.",
            code="disk.in_use",
        )
    return [e.DiskVersionRemoved(version=version, by=by.id)]


# What happens in it -------------------------------------------------------------------------------


def note_started(
    environment: Environment, *, isolation: str, worker: str, gaps: tuple[str, ...] = ()
) -> list[e.Event]:
    """It is ready for commands; again on another worker is a fact of its own."""
    alive(environment)
    return [e.EnvironmentStarted(isolation=isolation, worker=worker, gaps=gaps)]


def note_stopped(environment: Environment, *, by: str = "", reason: str = "") -> list[e.Event]:
    """Its processes ended; nothing when none ran."""
    alive(environment)
    return [e.EnvironmentStopped(by=by, reason=reason)] if environment.state == "running" else []


def note_reset(environment: Environment, busy: Busy | None, *, by: str) -> list[e.Event]:
    """Its disk is empty."""
    alive(environment)
    idle(environment, busy, "reset it")
    return [e.EnvironmentReset(by=by)]


def note_lost(environment: Environment, *, reason: str) -> list[e.Event]:
    """Its disk is gone, and why; told once."""
    alive(environment)
    return [] if environment.state == "lost" else [e.EnvironmentLost(reason=reason)]


def note_setup_started(environment: Environment, turn_id: str | None = None) -> list[e.Event]:
    """The setup is about to run, for this turn."""
    alive(environment)
    commands = len(environment.definition.get("setup", ()))
    return [e.SetupStarted(commands=commands, turn_id=turn_id)]


def note_setup(
    environment: Environment, runs: Sequence[e.SetupRun], *, failed: int | None = None,
    problem: str = "", turn_id: str | None = None,
) -> list[e.Event]:  # fmt: skip
    """How the setup went. `failed` counts from 1; `problem` is what no command could help."""
    alive(environment)
    ok = failed is None and not problem
    return [
        e.SetupFinished(ok=ok, runs=tuple(runs), failed=failed, problem=problem, turn_id=turn_id)
    ]


def note_kept(
    environment: Environment, kept: Kept, reason: Reason, *, turn: e.TurnRef | None = None,
    note: str = "", by: str = "",
) -> list[e.Event]:  # fmt: skip
    """A version of the disk; none when nothing differs from the newest one."""
    alive(environment)
    disk = environment.disk
    if disk is not None and disk.digest == kept.digest and reason in ("setup", "turn", "hand"):
        return []
    return [_kept(environment, kept, reason, turn, note, by)]


def note_restored(environment: Environment, source: int, kept: Kept, *, by: str) -> list[e.Event]:
    """The disk is as version `source` was (`kept`), which is a new version by that."""
    alive(environment)
    made = _kept(environment, kept, "restore", None, f"Version {source} restored.", by)
    return [made, e.DiskRestored(source=source, version=made.version, by=by)]


def note_egress(tries: Sequence[e.EgressTried]) -> list[e.Event]:
    """What was tried to reach, also when the environment was deleted meanwhile."""
    return list(tries)


def _kept(
    environment: Environment, kept: Kept, reason: Reason, turn: e.TurnRef | None, note: str, by: str
) -> e.DiskKept:
    return e.DiskKept(
        version=environment.version + 1, digest=kept.digest, files=kept.files,
        folders=kept.folders, bytes=kept.bytes, added=kept.added, reason=reason, turn=turn,
        note=note[:LONGEST_NOTE], by=by, skipped=tuple(kept.skipped[:MOST_PATHS]),
        moving=tuple(kept.moving[:MOST_PATHS]), milliseconds=kept.milliseconds,
    )  # fmt: skip
