"""Calls about agents."""

from collections.abc import Iterable, Mapping

from api_client.call import Call, Json, get, part, tag, texts
from api_client.shapes import AgentDetail, AgentDiff, Agents, AgentVersions, Plan, Plans


def index() -> Call[Agents]:
    """Every agent."""
    return get("/v1/agents")


def show(name: str, *, version: int | None = None) -> Call[AgentDetail]:
    """One version of an agent, without `version` its newest."""
    return get(f"/v1/agents/{part(name)}", version=version)


def versions(name: str, *, before: int | None = None) -> Call[AgentVersions]:
    """The versions of an agent and what each changed, the newest first, 50 at a time."""
    return get(f"/v1/agents/{part(name)}/versions", before=before)


def diff(name: str, *, old: int | None = None, new: int | None = None) -> Call[AgentDiff]:
    """How two versions differ; without them the newest and the one before it."""
    return get(f"/v1/agents/{part(name)}/diff", old=old, new=new)


def save(
    name: str, manifest: Mapping[str, Json], *, dry_run: bool = False, version: int | None = None
) -> Call[Plan]:
    """Save a manifest, or plan to. `version` is the one you looked at (0: there is none yet)."""
    return Call(
        method="PUT", path=f"/v1/agents/{part(name)}", body=dict(manifest),
        query=texts({"dryRun": dry_run or None}),
        headers={} if version is None else {"If-Match": tag(version)},
    )  # fmt: skip


def save_many(
    items: Iterable[tuple[Mapping[str, Json], int | None]], *, dry_run: bool = False
) -> Call[Plans]:
    """Save (manifest, version you looked at) in one transaction, all or none, or plan to."""
    body = [
        {"manifest": dict(manifest), **({} if version is None else {"version": version})}
        for manifest, version in items
    ]
    query = texts({"dryRun": dry_run or None})
    return Call(method="PUT", path="/v1/agents", body={"items": body}, query=query)
