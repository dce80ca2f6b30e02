"""Agents: list, read, their versions; save a manifest, or plan to."""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api import wire
from studio.api.endpoint import Answer, Ask, Endpoint, Link
from studio.core.rules.errors import Invalid
from studio.core.runtime import Wanted

VERSION = "the version you looked at (its ETag)"


async def index(ask: Ask[b.NoQuery, b.NoBody]) -> a.Agents:
    """Every agent."""
    return a.Agents(items=a.take_all(a.Agent, await ask.reader.agents(ask.person)))


async def show(ask: Ask[b.AgentQuery, b.NoBody]) -> Answer:
    """One version of an agent."""
    view = await ask.reader.agent(ask.person, ask.part("name"), ask.query.version)
    detail = a.take(
        a.AgentDetail, view, tools=a.take_all(a.Tool, view.tools),
        gaps=a.take_all(a.Gap, view.gaps),
    )  # fmt: skip
    return Answer(value=detail, headers={"ETag": f'"{view.version}"'})


async def versions(ask: Ask[b.VersionsQuery, b.NoBody]) -> a.AgentVersions:
    """The versions of an agent and what each changed."""
    found = await ask.reader.agent_versions(ask.person, ask.part("name"), before=ask.query.before)
    items = a.take_all(a.AgentVersion, found.versions)
    return a.AgentVersions(items=items, latest=found.latest, next=found.next)


async def diff(ask: Ask[b.DiffQuery, b.NoBody]) -> a.AgentDiff:
    """How two versions of an agent differ."""
    name = ask.part("name")
    new = ask.query.new or (await ask.reader.agent(ask.person, name)).latest
    old = ask.query.old or max(1, new - 1)
    found = await ask.reader.agent_diff(ask.person, name, old, new)
    return a.take(
        a.AgentDiff, found, old=old, new=new,
        sections=tuple(_section(one) for one in found.sections),
        verdicts=a.take_all(a.DiffVerdict, found.verdicts),
    )  # fmt: skip


def _section(section: Any) -> a.DiffSection:
    things = [a.take(a.DiffThing, one, fields=a.take_all(a.DiffField, one.fields))
              for one in section.things]  # fmt: skip
    return a.take(
        a.DiffSection, section, things=tuple(things),
        fields=a.take_all(a.DiffField, section.fields),
        lines=a.take_all(a.DiffLine, section.lines),
    )  # fmt: skip


async def save(ask: Ask[b.SaveQuery, Any]) -> Answer:
    """Save a manifest as a new version, or say what that would do."""
    name, dry_run = ask.part("name"), ask.query.dryRun
    expect = wire.if_match_version(ask.request, what=VERSION, required=False)
    if not isinstance(ask.body, dict):
        raise Invalid("A manifest is an object.", fields={"": "must be an object"})
    manifest = {"name": name, **ask.body}
    if manifest["name"] != name:
        raise Invalid(
            "The manifest is of another agent than the path.",
            fields={"name": f"must be {name}, as in the path"},
        )
    plan = await ask.runtime.save_agent(ask.person, manifest, dry_run=dry_run, expect=expect)
    saved = plan.creates and not dry_run
    return Answer(
        value=a.take(a.Plan, plan, saved=saved),
        status=201 if saved else 200,
        headers={"ETag": f'"{plan.version}"'},
    )


async def save_many(ask: Ask[b.SaveQuery, b.NewAgents]) -> a.Plans:
    """Save many manifests together, or say what that would do."""
    dry_run = ask.query.dryRun
    wanted = [Wanted(manifest=one.manifest, expect=one.version) for one in ask.body.items]
    plans = await ask.runtime.save_agents(ask.person, wanted, dry_run=dry_run)
    return a.Plans(
        items=tuple(a.take(a.Plan, plan, saved=plan.creates and not dry_run) for plan in plans)
    )


def _links(value: str) -> tuple[Link, ...]:
    names = ("show_agent", "list_agent_versions")
    return tuple(Link(to=name, part="name", value=value) for name in names)


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_agents", method="GET", path="/agents", call=index, gives=a.Agents,
        says="List agents.", links=_links("$response.body#/items/0/name"),
    ),
    Endpoint(
        name="show_agent", method="GET", path="/agents/{name}", call=show, gives=a.AgentDetail,
        query=b.AgentQuery, tagged=True, says="Read one version of an agent, or its newest.",
    ),
    Endpoint(
        name="list_agent_versions", method="GET", path="/agents/{name}/versions", call=versions,
        gives=a.AgentVersions, query=b.VersionsQuery,
        says="List the versions of an agent and what each changed.",
    ),
    Endpoint(
        name="diff_agent", method="GET", path="/agents/{name}/diff", call=diff, gives=a.AgentDiff,
        query=b.DiffQuery,
        says="Compare two versions of an agent, and what the policy says of their tools.",
    ),
    Endpoint(
        name="save_agent", method="PUT", path="/agents/{name}", call=save, gives=a.Plan,
        query=b.SaveQuery, body=b.NoBody, free_body=True, match=VERSION, tagged=True,
        errors=(201, 409), says="Save an agent's manifest as a new version, or plan to.",
    ),
    Endpoint(
        name="save_agents", method="PUT", path="/agents", call=save_many, gives=a.Plans,
        query=b.SaveQuery, body=b.NewAgents, errors=(409,),
        says="Save many agents in one transaction, all of them or none, or plan to.",
    ),
)  # fmt: skip
