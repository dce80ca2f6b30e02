"""Plugins and skills: list, read, put here from a zip archive, remove."""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api import wire
from studio.api.endpoint import Answer, Ask, Endpoint, Link
from studio.api.sessions import call_of
from studio.core.reader import PluginView
from studio.core.rules.plugins import skill_data
from studio.core.runtime import PluginPlan

ZIP = "application/zip"
REVISION = "the revision you looked at (its ETag)"


async def index(ask: Ask[b.NoQuery, b.NoBody]) -> a.Plugins:
    """Every plugin."""
    found = await ask.reader.plugins(ask.person)
    return a.Plugins(items=tuple(_row(row) for row in found))


async def show(ask: Ask[b.NoQuery, b.NoBody]) -> Answer:
    """One plugin."""
    view = await ask.reader.plugin(ask.person, ask.part("name"))
    return Answer(value=_detail(view), headers={"ETag": f'"{view.row.revision}"'})


async def calls(ask: Ask[b.PluginCallsQuery, b.NoBody]) -> a.PluginCalls:
    """Calls of a plugin."""
    asked = ask.query
    found = await ask.reader.plugin_calls(
        ask.person, ask.part("name"), state=asked.state, limit=asked.limit, cursor=asked.cursor
    )
    return a.PluginCalls(items=tuple(call_of(row) for row in found.items), next=found.next)


async def put(ask: Ask[b.SaveQuery, bytes]) -> Answer:
    """Put a plugin here, or say what that would change."""
    expect = wire.if_match_version(ask.request, what=REVISION, required=False)
    dry_run = ask.query.dryRun
    plan = await ask.runtime.put_plugin(
        ask.person, ask.body, name=ask.part("name"), dry_run=dry_run, expect=expect
    )
    saved = plan.creates and not dry_run
    return Answer(
        value=_plan(plan, saved=saved), status=201 if saved else 200,
        headers={"ETag": f'"{plan.revision}"'},
    )  # fmt: skip


async def remove(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Remove a plugin that no agent uses."""
    expect = wire.if_match_version(ask.request, what=REVISION, required=False)
    await ask.runtime.remove_plugin(ask.person, ask.part("name"), expect=expect)


async def save_skill(ask: Ask[b.SaveQuery, bytes]) -> Answer:
    """Save a skill by its content."""
    done = await ask.runtime.save_skill(ask.person, ask.body, dry_run=ask.query.dryRun)
    saved = done.creates and not ask.query.dryRun
    skill = done.skill
    value = a.SkillSaved(
        name=skill.name, hash=skill.hash, reference=done.reference, saved=saved,
        description=skill.description, files=skill.files, size=skill.size,
    )  # fmt: skip
    return Answer(value=value, status=201 if saved else 200)


def _row(row: Any) -> a.Plugin:
    return a.take(a.Plugin, row, counts=a.take(a.PluginCounts, row.counts))


def _detail(view: PluginView) -> a.PluginDetail:
    return a.PluginDetail(
        plugin=_row(view.row),
        servers=tuple(
            a.take(a.PluginServer, server, tools=tuple(tool["name"] for tool in server.tools))
            for server in view.servers
        ),
        skills=tuple(
            a.take(
                a.PluginSkill, one.skill, requires=skill_data(one.skill)["requires"],
                files=a.take_all(a.PluginFile, one.files),
            )
            for one in view.skills
        ),
        history=tuple(
            a.take(a.PluginRevision, one, changes=a.take_all(a.PluginChange, one.changes))
            for one in view.history
        ),
        removed=view.is_removed,
    )  # fmt: skip


def _plan(plan: PluginPlan, *, saved: bool) -> a.PluginPlan:
    plugin = plan.plugin
    return a.take(
        a.PluginPlan, plan, name=plugin.name, version=plugin.version, hash=plugin.hash,
        saved=saved, files=len(plugin.files), size=plugin.size,
        changes=a.take_all(a.PluginChange, plan.changes),
    )  # fmt: skip


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_plugins", method="GET", path="/plugins", call=index, gives=a.Plugins,
        says="List plugins, installed or in folders.",
        links=(Link(to="show_plugin", part="name", value="$response.body#/items/0/name"),),
    ),
    Endpoint(
        name="show_plugin", method="GET", path="/plugins/{name}", call=show,
        gives=a.PluginDetail, tagged=True, says="Read one plugin.",
    ),
    Endpoint(
        name="list_plugin_calls", method="GET", path="/plugins/{name}/calls", call=calls,
        gives=a.PluginCalls, query=b.PluginCallsQuery, says="List calls of a plugin.",
    ),
    Endpoint(
        name="put_plugin", method="PUT", path="/plugins/{name}", call=put, gives=a.PluginPlan,
        query=b.SaveQuery, body=bytes, raw=ZIP, match=REVISION, tagged=True, errors=(201, 409),
        needs=("admin", "install a plugin"),
        says="Put a plugin here from a zip archive, or plan to.",
    ),
    Endpoint(
        name="remove_plugin", method="DELETE", path="/plugins/{name}", call=remove, gives=None,
        status=204, match=REVISION, errors=(409,), says="Remove a plugin that no agent uses.",
    ),
    Endpoint(
        name="save_skill", method="POST", path="/skills", call=save_skill, gives=a.SkillSaved,
        query=b.SaveQuery, body=bytes, raw=ZIP, errors=(201,), needs=("admin", "save a skill"),
        says="Save a skill from a zip archive by its content.",
    ),
)  # fmt: skip
