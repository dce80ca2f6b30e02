"""Facts of environments: manifests, their lives, setups, disks, operations, egress.

Manifests stand in the journal `environments`, each environment in one of its own, whose
`session_id` is its id.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from studio.core.rules.events.base import Content, Event


@dataclass(frozen=True, kw_only=True)
class TurnRef:
    """A turn of a session, as an environment's fact names it."""

    session_id: str
    turn_id: str


@dataclass(frozen=True, kw_only=True)
class ForkedFrom:
    """Where a fork began: an environment, and the version of its disk, None for an empty one."""

    environment_id: str
    name: str
    version: int | None = None


@dataclass(frozen=True, kw_only=True)
class SetupRun:
    """One command of a setup: `exit` is the shell's code or minus the signal.

    `output` has room for 5 KiB; what is longer lies in the blob store. `began` is when (ms, UTC).
    """

    run: str
    exit: int
    seconds: float
    output: Content
    words: str = ""  # why it was ended early
    began: int | None = None


@dataclass(frozen=True, kw_only=True)
class EnvironmentManifestSaved(Event):
    """A new version of an environment manifest was saved. `manifest` is its JSON as written."""

    TYPE: ClassVar[str] = "environment_manifest.saved"
    ACTOR: ClassVar[str] = "person"
    name: str
    version: int
    manifest: Any
    digest: str
    by: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentManifestRemoved(Event):
    """Every version of a manifest that no environment is made from was removed."""

    TYPE: ClassVar[str] = "environment_manifest.removed"
    ACTOR: ClassVar[str] = "person"
    name: str
    version: int
    by: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentMade(Event):
    """An environment was made. First fact of its journal; `definition` holds for its whole life.

    `manifest` and `manifest_version` name what it was made from, None when it was written inline.
    `digest` is that of the definition, which is whole: defaults are written out.
    """

    TYPE: ClassVar[str] = "environment.made"
    ACTOR: ClassVar[str] = "person"
    name: str
    kind: str
    manifest: str | None
    manifest_version: int | None
    definition: Any
    digest: str
    labels: Any
    owner: str
    by: str
    forked_from: ForkedFrom | None = None


@dataclass(frozen=True, kw_only=True)
class EnvironmentLabelled(Event):
    """A person changed the labels; `labels` are all there are from now on."""

    TYPE: ClassVar[str] = "environment.labelled"
    ACTOR: ClassVar[str] = "person"
    labels: Any
    by: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentOwnerChanged(Event):
    """From now on it is this person's alone to use; "" is everybody's."""

    TYPE: ClassVar[str] = "environment.owner_changed"
    ACTOR: ClassVar[str] = "person"
    owner: str
    by: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentStarted(Event):
    """It is ready for commands. `isolation` is what this machine gave it, `worker` who runs it.

    `gaps` are what it does not enforce, in sentences.
    """

    TYPE: ClassVar[str] = "environment.started"
    isolation: str = ""
    worker: str = ""
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EnvironmentStopped(Event):
    """Its processes have ended; the disk stays. `by` is a person, or "" (idle, the studio ends)."""

    TYPE: ClassVar[str] = "environment.stopped"
    ACTOR: ClassVar[str] = "person"
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class EnvironmentReset(Event):
    """Its disk is empty again; setup runs before the next command. Kept versions stay."""

    TYPE: ClassVar[str] = "environment.reset"
    ACTOR: ClassVar[str] = "person"
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class EnvironmentLost(Event):
    """Its disk or its machine is gone; turns are refused until it is restored or reset."""

    TYPE: ClassVar[str] = "environment.lost"
    reason: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentSecretsChanged(Event):
    """A secret of this environment was set or removed: its own journal says which.

    It stands in the journal `secrets`, which every process follows to open and mask what is new.
    """

    TYPE: ClassVar[str] = "environment.secrets_changed"
    ACTOR: ClassVar[str] = "person"
    environment_id: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentForked(Event):
    """Another environment was made from this one, with this version of its disk or an empty one."""

    TYPE: ClassVar[str] = "environment.forked"
    ACTOR: ClassVar[str] = "person"
    into: str
    name: str
    version: int | None
    by: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentDeleted(Event):
    """It is gone with its disk and its secrets. `by` is a person, or "" when it was long unused."""

    TYPE: ClassVar[str] = "environment.deleted"
    ACTOR: ClassVar[str] = "person"
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class SetupStarted(Event):
    """Intent: the files are staged and so many setup commands are about to run on a new disk.

    `turn_id` is the turn that stands on it.
    """

    TYPE: ClassVar[str] = "setup.started"
    commands: int
    turn_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class SetupFinished(Event):
    """What became of the setup. `failed` is the number (from 1) of the command that failed.

    `problem` says what else stood in the way; when it failed the next turn tries again.
    """

    TYPE: ClassVar[str] = "setup.finished"
    ok: bool
    runs: tuple[SetupRun, ...] = ()
    failed: int | None = None
    problem: str = ""
    turn_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class DiskKept(Event):
    """A version of the disk was kept; its bytes lie in the disk store under `digest`.

    `bytes` is all files together, `added` what was new to the store. `turn` made it, else `by`.
    `skipped` names what is kept by nobody (sockets, devices), `moving` the files that changed while
    they were read; both at most 100 paths. `milliseconds` is how long the keeping took.
    """

    TYPE: ClassVar[str] = "disk.kept"
    ACTOR: ClassVar[str] = "person"
    version: int
    digest: str
    files: int
    folders: int
    bytes: int
    added: int
    reason: Literal["setup", "turn", "hand", "restore", "import", "fork"]
    turn: TurnRef | None = None
    note: str = ""
    by: str = ""
    skipped: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()
    milliseconds: int = 0


@dataclass(frozen=True, kw_only=True)
class DiskRestored(Event):
    """The disk is as version `source` was; what it became is version `version`."""

    TYPE: ClassVar[str] = "disk.restored"
    ACTOR: ClassVar[str] = "person"
    source: int
    version: int
    by: str


@dataclass(frozen=True, kw_only=True)
class DiskVersionRemoved(Event):
    """A version was removed; its bytes go when no other version holds them."""

    TYPE: ClassVar[str] = "disk.version_removed"
    ACTOR: ClassVar[str] = "person"
    version: int
    by: str


@dataclass(frozen=True, kw_only=True)
class OperationAsked(Event):
    """A person wants something done to the disk as a whole; a worker does it.

    `version` is what is to be restored, `archive` the hash of the bytes that are to be imported.
    """

    TYPE: ClassVar[str] = "operation.asked"
    ACTOR: ClassVar[str] = "person"
    operation_id: str
    act: Literal["keep", "restore", "reset", "start", "stop", "import"]
    by: str
    note: str = ""
    version: int | None = None
    archive: str = ""
    archive_name: str = ""


@dataclass(frozen=True, kw_only=True)
class OperationStarted(Event):
    """Intent: this worker is about to do it. All of them may be begun anew when a worker dies."""

    TYPE: ClassVar[str] = "operation.started"
    operation_id: str
    worker: str


@dataclass(frozen=True, kw_only=True)
class OperationEnded(Event):
    """What came of it; `version` is the one it made. When it is not `ok`, nothing changed."""

    TYPE: ClassVar[str] = "operation.ended"
    operation_id: str
    ok: bool
    version: int | None = None
    code: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class EgressTried(Event):
    """Something in the environment tried to reach a host. Never a path, a header or a body.

    `up` and `down` are bytes; `turns` (at most 16) ran at that moment. `tries` is 1, or how many of
    a command's are counted here that were not told one by one. `effect_id` is the call whose
    command it was, where that is known; its turn is the first. `began` is ms, UTC.
    """

    TYPE: ClassVar[str] = "egress.tried"
    host: str
    port: int
    outcome: Literal["allowed", "refused", "failed"]
    reason: str = ""
    up: int = 0
    down: int = 0
    milliseconds: int = 0
    turns: tuple[TurnRef, ...] = ()
    tries: int = 1
    effect_id: str | None = None
    began: int | None = None
