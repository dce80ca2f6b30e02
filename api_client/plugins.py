"""Calls about plugins and skills. What is put there is a zip archive."""

from api_client.call import Call, get, part, tag, texts
from api_client.shapes import PluginCalls, PluginDetail, PluginPlan, Plugins, SkillSaved

ZIP = "application/zip"


def index() -> Call[Plugins]:
    """Every plugin."""
    return get("/v1/plugins")


def show(name: str) -> Call[PluginDetail]:
    """One plugin."""
    return get(f"/v1/plugins/{part(name)}")


def calls(
    name: str, *, state: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Call[PluginCalls]:
    """A page of the calls of a plugin, the newest first."""
    return get(f"/v1/plugins/{part(name)}/calls", state=state, limit=limit, cursor=cursor)


def put(
    name: str, archive: bytes, *, dry_run: bool = False, revision: int | None = None
) -> Call[PluginPlan]:
    """Put a plugin there, or plan to. `revision` is the one you looked at (0: there is none)."""
    return Call(
        method="PUT", path=f"/v1/plugins/{part(name)}", content=archive, media=ZIP,
        query=texts({"dryRun": dry_run or None}),
        headers={} if revision is None else {"If-Match": tag(revision)},
    )  # fmt: skip


def remove(name: str, *, revision: int | None = None) -> Call[None]:
    """Remove a plugin that no agent uses."""
    headers = {} if revision is None else {"If-Match": tag(revision)}
    return Call(method="DELETE", path=f"/v1/plugins/{part(name)}", headers=headers)


def save_skill(archive: bytes, *, dry_run: bool = False) -> Call[SkillSaved]:
    """Save a skill by its content, for agents to name by its `reference`."""
    return Call(
        method="POST", path="/v1/skills", content=archive, media=ZIP,
        query=texts({"dryRun": dry_run or None}),
    )  # fmt: skip
