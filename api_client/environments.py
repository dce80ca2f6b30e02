"""Calls about environments. A secret's value only ever goes in."""

from collections.abc import Mapping, Sequence

from api_client.call import Call, Json, Listing, get, part, texts
from api_client.shapes import (
    DiskVersion,
    EgressTry,
    Environment,
    EnvironmentDetail,
    EnvironmentMade,
    EnvironmentSecrets,
    Events,
    ForkPlan,
    SecretSet,
)


def index(
    *, labels: Mapping[str, str] | None = None, state: str | None = None, kind: str | None = None,
    name: str | None = None, manifest: str | None = None, limit: int | None = None,
) -> Listing[Environment]:  # fmt: skip
    """Environments with all of these labels, the one made last first."""
    written = ",".join(f"{key}={value}" for key, value in (labels or {}).items()) or None
    return Listing(
        first=get("/v1/environments", labels=written, state=state, kind=kind, name=name,
                  manifest=manifest, limit=limit)
    )  # fmt: skip


def show(environment: str) -> Call[EnvironmentDetail]:
    """One environment by its id, or by a name without . and /."""
    return get(_path(environment))


def make(
    name: str, manifest: str | None = None, *, definition: Mapping[str, Json] | None = None,
    labels: Mapping[str, str] | None = None, owner: str | None = None,
) -> Call[EnvironmentMade]:  # fmt: skip
    """Make an environment from `name` or `name@version` of a manifest, or find it again."""
    body = _given(name=name, manifest=manifest, definition=definition, labels=labels, owner=owner)
    return Call(method="POST", path="/v1/environments", body=body)


def delete(environment: str) -> Call[None]:
    """Delete an environment with its disk and its secrets."""
    return Call(method="DELETE", path=_path(environment))


def label(environment: str, labels: Mapping[str, str]) -> Call[None]:
    """Give an environment these labels in place of all it has."""
    body = {"labels": dict(labels)}
    return Call(method="PUT", path=f"{_path(environment)}/labels", body=body)


def give(environment: str, owner: str) -> Call[None]:
    """Make an environment one person's alone to use, or ("") everybody's."""
    return Call(method="PUT", path=f"{_path(environment)}/owner", body={"owner": owner})


def fork(
    environment: str, name: str, *, manifest: str | None = None, version: int | None = None,
    secrets: Sequence[str] | None = None, labels: Mapping[str, str] | None = None,
    owner: str | None = None, wider: bool | None = None, dry_run: bool = False,
) -> Call[ForkPlan]:  # fmt: skip
    """Fork an environment, or plan to. `version` is of its disk, 0 for an empty one.

    `wider` says that copied secrets may reach more than at the source (`widened` of the plan).
    """
    body = _given(
        name=name, manifest=manifest, version=version, labels=labels, owner=owner,
        secrets=None if secrets is None else list(secrets), wider=wider,
    )  # fmt: skip
    query = texts({"dryRun": dry_run or None})
    return Call(method="POST", path=f"{_path(environment)}/forks", body=body, query=query)


def secrets(environment: str) -> Call[EnvironmentSecrets]:
    """The secret slots of an environment, without values."""
    return get(f"{_path(environment)}/secrets")


def set_secret(environment: str, name: str, value: str) -> Call[SecretSet]:
    """Give a declared slot a value; of headers it is JSON, a map of header to value."""
    path = f"{_path(environment)}/secrets/{part(name)}"
    return Call(method="PUT", path=path, body={"value": value})


def remove_secret(environment: str, name: str) -> Call[None]:
    """Remove the value of a slot."""
    return Call(method="DELETE", path=f"{_path(environment)}/secrets/{part(name)}")


def versions(
    environment: str, *, removed: bool | None = None, limit: int | None = None
) -> Listing[DiskVersion]:
    """The kept versions of an environment's disk, the newest first."""
    return Listing(first=get(f"{_path(environment)}/versions", removed=removed, limit=limit))


def remove_version(environment: str, version: int) -> Call[None]:
    """Remove a version of the disk that nothing stands on."""
    return Call(method="DELETE", path=f"{_path(environment)}/versions/{version}")


def egress(
    environment: str, *, outcome: str | None = None, limit: int | None = None
) -> Listing[EgressTry]:
    """What an environment tried to reach, the newest first."""
    return Listing(first=get(f"{_path(environment)}/egress", outcome=outcome, limit=limit))


def events(environment: str, *, after: int = 0, limit: int | None = None) -> Call[Events]:
    """Facts of an environment behind a seq, oldest first."""
    return get(f"{_path(environment)}/events", after=after, limit=limit)


def _path(environment: str) -> str:
    return f"/v1/environments/{part(environment)}"


def _given(**fields: object) -> dict[str, Json]:
    """A body of those fields that are not None."""
    return {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in fields.items()
        if value is not None
    }
