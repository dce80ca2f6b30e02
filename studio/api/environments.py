"""Environments: make, list, read; label, give, delete; their secrets, disk versions and facts."""

from typing import Any

from starlette.responses import Response

from studio.api import answers as a
from studio.api import bodies as b
from studio.api import environment_bodies as eb
from studio.api import stream
from studio.api.disks import version_of
from studio.api.endpoint import Answer, Ask, Endpoint, Link, wants_stream
from studio.core.projections.environments import EnvironmentRow, EnvironmentView
from studio.core.rules.environments import names


async def index(ask: Ask[eb.EnvironmentsQuery, b.NoBody]) -> a.Environments:
    """A page of environments."""
    q = ask.query
    page = await ask.reader.environments(
        ask.person, labels=names.label_filter(q.labels), state=q.state, kind=q.kind, name=q.name,
        manifest=q.manifest, limit=q.limit, cursor=q.cursor,
    )  # fmt: skip
    return a.Environments(items=tuple(_row(row) for row in page.items), next=page.next)


async def make(ask: Ask[b.NoQuery, eb.NewEnvironment]) -> Answer:
    """Make an environment, or find it again."""
    body = ask.body
    made = await ask.runtime.make_environment(
        ask.person, body.name, manifest=body.manifest, definition=body.definition,
        labels=body.labels, owner=body.owner,
    )  # fmt: skip
    return Answer(value=a.take(a.EnvironmentMade, made), status=201 if made.made else 200)


async def show(ask: Ask[b.NoQuery, b.NoBody]) -> a.EnvironmentDetail:
    """One environment."""
    return _detail(await ask.reader.environment(ask.person, ask.part("id")))


async def remove(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Delete an environment."""
    await ask.runtime.delete_environment(ask.person, ask.part("id"))


async def label(ask: Ask[b.NoQuery, eb.NewLabels]) -> None:
    """Give it other labels."""
    await ask.runtime.label_environment(ask.person, ask.part("id"), ask.body.labels)


async def give(ask: Ask[b.NoQuery, eb.NewOwner]) -> None:
    """Give it to somebody."""
    await ask.runtime.give_environment(ask.person, ask.part("id"), ask.body.owner)


async def fork(ask: Ask[b.SaveQuery, eb.NewFork]) -> Answer:
    """Fork it, or plan to."""
    body, dry_run = ask.body, ask.query.dryRun
    plan = await ask.runtime.fork_environment(
        ask.person, ask.part("id"), body.name, manifest=body.manifest, version=body.version,
        secrets=body.secrets or (), labels=body.labels, owner=body.owner, wider=body.wider,
        dry_run=dry_run,
    )  # fmt: skip
    widened = {name: list(places) for name, places in plan.widened.items()}
    return Answer(value=a.take(a.ForkPlan, plan, widened=widened), status=200 if dry_run else 201)


async def secrets(ask: Ask[b.NoQuery, b.NoBody]) -> a.EnvironmentSecrets:
    """Its secret slots."""
    found = await ask.reader.environment_secrets(ask.person, ask.part("id"))
    return a.EnvironmentSecrets(items=a.take_all(a.EnvironmentSecret, found))


async def set_secret(ask: Ask[b.NoQuery, eb.NewEnvironmentSecret]) -> a.SecretSet:
    """Give a slot a value."""
    name = ask.part("name")
    version = await ask.runtime.set_environment_secret(
        ask.person, ask.part("id"), name, ask.body.value
    )
    return a.SecretSet(name=name, version=version)


async def remove_secret(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Remove the value of a slot."""
    await ask.runtime.remove_environment_secret(ask.person, ask.part("id"), ask.part("name"))


async def versions(ask: Ask[eb.DiskVersionsQuery, b.NoBody]) -> a.DiskVersions:
    """A page of versions of its disk."""
    q = ask.query
    page = await ask.reader.disk_versions(
        ask.person, ask.part("id"), removed=q.removed, limit=q.limit, cursor=q.cursor
    )
    return a.DiskVersions(items=a.take_all(a.DiskVersion, page.items), next=page.next)


async def remove_version(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Remove a version of its disk."""
    await ask.runtime.remove_disk_version(ask.person, ask.part("id"), version_of(ask))


async def egress(ask: Ask[eb.EgressQuery, b.NoBody]) -> a.EgressTries:
    """A page of what it tried to reach."""
    q = ask.query
    page = await ask.reader.egress(
        ask.person, ask.part("id"), outcome=q.outcome, limit=q.limit, cursor=q.cursor
    )
    return a.EgressTries(items=a.take_all(a.EgressTry, page.items), next=page.next)


async def events(ask: Ask[b.EventsQuery, b.NoBody]) -> a.Events | Response:
    """Its facts behind a seq, or all to come as a stream."""
    after, limit, read = stream.start_of(ask), ask.query.limit, ask.reader.environment_events
    if wants_stream(ask.request):
        view = await ask.reader.environment(ask.person, ask.part("id"))
        return await stream.response(ask, view.row.id, after, read)
    rows = await read(ask.person, ask.part("id"), after=after, limit=limit)
    last = rows[-1].seq if rows else after
    return a.Events(items=a.take_all(a.Event, rows), after=last, more=len(rows) == limit)


def _row(row: EnvironmentRow) -> a.Environment:
    return a.take(
        a.Environment, row, labels=dict(row.labels), secrets=row.coverage.words,
        secrets_missing=row.coverage.missing,
        turn=a.take(a.EnvironmentTurn, row.turn) if row.turn is not None else None,
    )  # fmt: skip


def _detail(view: EnvironmentView) -> a.EnvironmentDetail:
    runs = [
        a.take(a.SetupRun, run, output=a.take(a.Content, run.output)) for run in view.setup.runs
    ]
    return a.take(
        a.EnvironmentDetail, view, environment=_row(view.row), definition=dict(view.definition),
        forked_from=a.take(a.ForkedFrom, view.forked_from) if view.forked_from else None,
        setup=a.take(a.EnvironmentSetup, view.setup, runs=tuple(runs)), seq=view.row.seq,
        sessions=a.take_all(a.Session, view.sessions), policy_labels=dict(view.guarded),
    )  # fmt: skip


OF_ONE = (
    "show_environment", "list_environment_secrets", "list_disk_versions", "list_egress",
    "list_environment_events", "list_operations",
)  # fmt: skip


def _links(value: str) -> tuple[Link, ...]:
    return tuple(Link(to=name, part="id", value=value) for name in OF_ONE)


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_environments", method="GET", path="/environments", call=index,
        gives=a.Environments, query=eb.EnvironmentsQuery,
        says="List environments, by labels and state.",
        links=_links("$response.body#/items/0/id"),
    ),
    Endpoint(
        name="make_environment", method="POST", path="/environments", call=make,
        gives=a.EnvironmentMade, body=eb.NewEnvironment, errors=(201, 404, 409),
        says="Make an environment, or find the one of this name with the same values.",
        links=_links("$response.body#/id"),
    ),
    Endpoint(
        name="show_environment", method="GET", path="/environments/{id}", call=show,
        gives=a.EnvironmentDetail, says="Read an environment, by its id or a name without . and /.",
    ),
    Endpoint(
        name="delete_environment", method="DELETE", path="/environments/{id}", call=remove,
        gives=None, status=204, errors=(409,),
        says="Delete an environment with its disk and its secrets.",
    ),
    Endpoint(
        name="label_environment", method="PUT", path="/environments/{id}/labels", call=label,
        gives=None, status=204, body=eb.NewLabels, errors=(409,),
        says="Replace the labels of an environment.",
    ),
    Endpoint(
        name="give_environment", method="PUT", path="/environments/{id}/owner", call=give,
        gives=None, status=204, body=eb.NewOwner, errors=(409,),
        says="Make an environment one person's alone to use, or everybody's.",
    ),
    Endpoint(
        name="fork_environment", method="POST", path="/environments/{id}/forks", call=fork,
        gives=a.ForkPlan, query=b.SaveQuery, body=eb.NewFork, errors=(201, 409),
        says="Make an environment from this one, or plan to.",
    ),
    Endpoint(
        name="list_environment_secrets", method="GET", path="/environments/{id}/secrets",
        call=secrets, gives=a.EnvironmentSecrets,
        says="List the secret slots of an environment, without values.",
    ),
    Endpoint(
        name="set_environment_secret", method="PUT", path="/environments/{id}/secrets/{name}",
        call=set_secret, gives=a.SecretSet, body=eb.NewEnvironmentSecret, errors=(409, 503),
        says="Give a declared slot a value; it is never given back.",
    ),
    Endpoint(
        name="remove_environment_secret", method="DELETE",
        path="/environments/{id}/secrets/{name}", call=remove_secret, gives=None, status=204,
        errors=(409,), says="Remove the value of a slot.",
    ),
    Endpoint(
        name="list_disk_versions", method="GET", path="/environments/{id}/versions",
        call=versions, gives=a.DiskVersions, query=eb.DiskVersionsQuery,
        says="List the kept versions of an environment's disk.",
    ),
    Endpoint(
        name="remove_disk_version", method="DELETE",
        path="/environments/{id}/versions/{version}", call=remove_version, gives=None, status=204,
        errors=(409,), says="Remove a version of the disk that nothing stands on.",
    ),
    Endpoint(
        name="list_egress", method="GET", path="/environments/{id}/egress", call=egress,
        gives=a.EgressTries, query=eb.EgressQuery,
        says="List the connections that an environment tried.",
    ),
    Endpoint(
        name="list_environment_events", method="GET", path="/environments/{id}/events",
        call=events, gives=a.Events, query=b.EventsQuery, streams=True,
        says="Read an environment's facts, or follow them as server-sent events.",
    ),
)  # fmt: skip
