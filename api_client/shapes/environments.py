"""Environments, their disk versions, secrets and what they tried to reach."""

from typing import Any, TypedDict

from api_client.shapes.calls import Content
from api_client.shapes.sessions import Session


class EnvironmentTurn(TypedDict):
    """A turn that works in an environment; ids are empty when its session is private to others."""

    session_id: str
    title: str
    turn_id: str
    number: int
    status: str


class Environment(TypedDict):
    """An environment in the list."""

    id: str
    name: str
    kind: str
    state: str
    manifest: str | None
    manifest_version: int | None
    latest_manifest: int | None
    labels: dict[str, Any]
    owner: str
    by: str
    made: str
    last_used: str
    deleted: str | None
    sessions: int
    turn: EnvironmentTurn | None
    version: int
    bytes: int
    setup: str
    secrets: str
    secrets_missing: list[str]


class Environments(TypedDict):
    """A page of environments, the one made last first."""

    items: list[Environment]
    next: str | None


class SetupRun(TypedDict):
    """A command of a setup and what came of it."""

    run: str
    exit: int
    seconds: float
    output: Content
    words: str


class EnvironmentSetup(TypedDict):
    """How the setup went on the present disk. `failed` counts commands from 1."""

    state: str
    time: str | None
    runs: list[SetupRun]
    failed: int | None
    problem: str


class ForkedFrom(TypedDict):
    """Where a fork began; `version` is null for an empty disk."""

    environment_id: str
    name: str
    version: int | None


class EnvironmentDetail(TypedDict):
    """An environment with what it is pinned to, its setup and its newest sessions."""

    environment: Environment
    definition: dict[str, Any]
    digest: str
    isolation: str
    gaps: list[str]
    lost: str
    forked_from: ForkedFrom | None
    files: int
    folders: int
    versions: int
    setup: EnvironmentSetup
    sessions: list[Session]
    policy_labels: dict[str, int]
    seq: int


class EnvironmentMade(TypedDict):
    """An environment that was made, or found again with the same values."""

    id: str
    name: str
    made: bool
    manifest: str | None
    manifest_version: int | None
    warnings: list[str]


class ForkPlan(TypedDict):
    """What a fork made, or would make. `id` is null for a dry run."""

    id: str | None
    name: str
    source: str
    source_name: str
    manifest: str | None
    manifest_version: int | None
    kind: str
    version: int | None
    files: int
    bytes: int
    copied: list[str]
    left: list[str]
    missing: list[str]
    widened: dict[str, list[str]]
    labels: dict[str, Any]
    owner: str
    changes: list[str]
    warnings: list[str]


class DiskVersion(TypedDict):
    """A kept version of a disk."""

    version: int
    digest: str
    files: int
    folders: int
    bytes: int
    added: int
    reason: str
    session_id: str | None
    turn_id: str | None
    turn: int | None
    note: str
    by: str
    skipped: int
    moving: int
    time: str
    removed: str | None
    is_latest: bool
    seq: int


class DiskVersions(TypedDict):
    """A page of versions, the newest first."""

    items: list[DiskVersion]
    next: str | None


class EgressTry(TypedDict):
    """A connection that was tried; never a path, a header or a body."""

    seq: int
    time: str
    host: str
    port: int
    outcome: str
    reason: str
    up: int
    down: int
    milliseconds: int
    turns: list[Any]


class EgressTries(TypedDict):
    """A page of connections, the newest first."""

    items: list[EgressTry]
    next: str | None


class EnvironmentSecret(TypedDict):
    """A secret slot; `version` is 0 while it has no value."""

    name: str
    type: str
    binding: str
    required: bool
    description: str
    version: int
    by: str
    time: str | None
    used: str | None
    used_by: str
    effect_id: str | None
    problem: str


class EnvironmentSecrets(TypedDict):
    """The secret slots of an environment, in the order of its manifest."""

    items: list[EnvironmentSecret]
