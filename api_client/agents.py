"""Calls about agents."""

from collections.abc import Mapping

from api_client.call import Call, Json, get, part, tag, texts
from api_client.shapes import AgentDetail, Agents, Plan, Versions


def index() -> Call[Agents]:
    """Every agent."""
    return get("/v1/agents")


def show(name: str, *, version: int | None = None) -> Call[AgentDetail]:
    """One version of an agent, without `version` its newest."""
    return get(f"/v1/agents/{part(name)}", version=version)


def versions(name: str) -> Call[Versions]:
    """The versions of an agent."""
    return get(f"/v1/agents/{part(name)}/versions")


def save(
    name: str, manifest: Mapping[str, Json], *, dry_run: bool = False, version: int | None = None
) -> Call[Plan]:
    """Save a manifest, or plan to. `version` is the one you looked at (0: there is none yet)."""
    return Call(
        method="PUT", path=f"/v1/agents/{part(name)}", body=dict(manifest),
        query=texts({"dryRun": dry_run or None}),
        headers={} if version is None else {"If-Match": tag(version)},
    )  # fmt: skip
