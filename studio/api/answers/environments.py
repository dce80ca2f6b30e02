"""Environments and their manifests, as programs are given them. Never a secret's value."""

from dataclasses import dataclass
from typing import Annotated

from studio.api.answers.calls import Content
from studio.api.answers.sessions import Session
from studio.api.shapes import JSON, Time

Bytes = Annotated[int, "Bytes."]


@dataclass(frozen=True, kw_only=True)
class EnvironmentTurn:
    """A turn that works in an environment; ids are empty when its session is private to others."""

    session_id: str
    title: str
    turn_id: str
    number: int
    status: str


@dataclass(frozen=True, kw_only=True)
class Environment:
    """An environment in the list."""

    id: str
    name: str
    kind: Annotated[str, "none, sandbox, container or remote."]
    state: Annotated[str, "made, running, stopped, lost or deleted."]
    manifest: Annotated[str | None, "Null when its definition was written inline."]
    manifest_version: int | None
    latest_manifest: Annotated[int | None, "The newest version of that manifest."]
    labels: dict[str, JSON]
    owner: Annotated[str, "Whose alone it is; empty: everybody's."]
    by: str
    made: Time
    last_used: Time
    deleted: Time | None
    sessions: int
    turn: EnvironmentTurn | None
    version: Annotated[int, "Of the disk, 0 while none was kept."]
    bytes: Bytes
    setup: Annotated[str, "Empty, started, ok or failed: on the present disk."]
    secrets: Annotated[str, "Such as: 3 of 4 set, 1 required missing."]
    secrets_missing: Annotated[tuple[str, ...], "Required slots without a value."]


@dataclass(frozen=True, kw_only=True)
class Environments:
    """A page of environments, the one made last first."""

    items: tuple[Environment, ...]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class SetupRun:
    """A command of a setup and what came of it."""

    run: str
    exit: int
    seconds: float
    output: Content
    words: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentSetup:
    """How the setup went on the present disk. `failed` counts commands from 1."""

    state: str
    time: Time | None
    runs: tuple[SetupRun, ...]
    failed: int | None
    problem: str


@dataclass(frozen=True, kw_only=True)
class ForkedFrom:
    """Where a fork began; `version` is null for an empty disk."""

    environment_id: str
    name: str
    version: int | None


@dataclass(frozen=True, kw_only=True)
class EnvironmentDetail:
    """An environment with what it is pinned to, its setup and its newest sessions."""

    environment: Environment
    definition: Annotated[dict[str, JSON], "Its manifest with every default written out."]
    digest: str
    isolation: Annotated[str, "What it was last given: bubblewrap, landlock, none, or its kind."]
    gaps: Annotated[tuple[str, ...], "What that does not enforce, in sentences."]
    lost: str
    forked_from: ForkedFrom | None
    files: int
    folders: int
    versions: Annotated[int, "Kept versions that are there."]
    setup: EnvironmentSetup
    sessions: tuple[Session, ...]
    policy_labels: Annotated[
        dict[str, JSON], "Labels (key=value) that the policy asks about, each with the rule."
    ]
    seq: Annotated[int, "Of its newest fact; `after` of the events."]


@dataclass(frozen=True, kw_only=True)
class EnvironmentMade:
    """An environment that was made, or found again with the same values."""

    id: str
    name: str
    made: bool
    manifest: str | None
    manifest_version: int | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ForkPlan:
    """What a fork made, or would make. `id` is null for a dry run."""

    id: str | None
    name: str
    source: str
    source_name: str
    manifest: str | None
    manifest_version: int | None
    kind: str
    version: Annotated[int | None, "Of the source's disk; null for an empty one."]
    files: int
    bytes: Bytes
    copied: tuple[str, ...]
    left: Annotated[tuple[str, ...], "Secrets of the source that do not come along."]
    missing: Annotated[tuple[str, ...], "Secrets that it needs and has not."]
    widened: Annotated[
        dict[str, JSON], "Copied secrets that could reach more than at the source: names of places."
    ]
    labels: dict[str, JSON]
    owner: str
    changes: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DiskVersion:
    """A kept version of a disk."""

    version: int
    digest: str
    files: int
    folders: int
    bytes: Bytes
    added: Annotated[int, "Bytes that were new to the disk store."]
    reason: Annotated[str, "setup, turn, hand, restore, import or fork."]
    session_id: str | None
    turn_id: str | None
    turn: Annotated[int | None, "The number of the turn that made it."]
    note: str
    by: str
    skipped: Annotated[int, "Files that nobody keeps: sockets, devices."]
    moving: Annotated[int, "Files that changed while they were read."]
    time: Time
    removed: Time | None
    is_latest: bool
    seq: Annotated[int, "Of the fact that names those files."]


@dataclass(frozen=True, kw_only=True)
class DiskVersions:
    """A page of versions, the newest first."""

    items: tuple[DiskVersion, ...]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class EgressTry:
    """A connection that was tried; never a path, a header or a body."""

    seq: int
    time: Time
    host: str
    port: int
    outcome: Annotated[str, "allowed, refused or failed."]
    reason: str
    up: Bytes
    down: Bytes
    milliseconds: int
    turns: Annotated[tuple[JSON, ...], "Those that ran then: session_id, turn_id."]


@dataclass(frozen=True, kw_only=True)
class EgressTries:
    """A page of connections, the newest first."""

    items: tuple[EgressTry, ...]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class EnvironmentSecret:
    """A secret slot; `version` is 0 while it has no value."""

    name: str
    type: Annotated[str, "bearer, headers, variable or file."]
    binding: str
    required: bool
    description: str
    version: int
    by: str
    time: Time | None
    used: Time | None
    used_by: str
    effect_id: str | None
    problem: Annotated[str, "Why the value cannot be opened."]


@dataclass(frozen=True, kw_only=True)
class EnvironmentSecrets:
    """The secret slots of an environment, in the order of its manifest."""

    items: tuple[EnvironmentSecret, ...]
