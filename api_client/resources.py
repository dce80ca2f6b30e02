"""The calls as methods of the client: `studio.sessions.send(…)`, one line a verb.

A `Verb` takes the signature of the function that describes the call, so nothing is written twice.
"""

from collections.abc import Iterator

from api_client import (
    agents,
    approvals,
    artifacts,
    collector,
    environment_manifests,
    environments,
    keys,
    models,
    outside_traces,
    plugins,
    policy,
    secrets,
    server,
    servers,
    sessions,
    usage,
    views,
)
from api_client.shapes import Event
from api_client.verbs import Items, Resource, Verb


class Agents(Resource):
    """Agents and their versions."""

    list = Verb(agents.index)
    show = Verb(agents.show)
    versions = Verb(agents.versions)
    diff = Verb(agents.diff)
    save = Verb(agents.save)
    save_many = Verb(agents.save_many)


class Artifacts(Resource):
    """Files and folders of sessions."""

    upload = Verb(artifacts.upload)
    save = Verb(artifacts.save)
    list = Items(artifacts.index)
    show = Verb(artifacts.show)
    save_folder = Verb(artifacts.save_folder)
    keep_folder = Verb(artifacts.keep_folder)
    files = Verb(artifacts.files)
    diff = Verb(artifacts.diff)
    text_diff = Verb(artifacts.text_diff)
    make_link = Verb(artifacts.make_link)
    links = Verb(artifacts.links)
    revoke_link = Verb(artifacts.revoke_link)

    def download(
        self, artifact_id: str, *, version: int | None = None, path: str | bytes = "",
        form: str = "zip",
    ) -> Iterator[bytes]:  # fmt: skip
        """The bytes of a version (without one: the newest), a piece at a time.

        Of a folder: a `zip` or `tar.zst`, or with a `path` one of its files.
        """
        return self.client.pieces(
            artifacts.content(artifact_id, version=version, path=path, form=form)
        )


class Sessions(Resource):
    """Sessions, their facts and their calls."""

    start = Verb(sessions.start)
    list = Items(sessions.index)
    show = Verb(sessions.show)
    events = Verb(sessions.events)
    calls = Verb(sessions.calls)
    call = Verb(sessions.call)
    send = Verb(sessions.send)
    preview = Verb(sessions.preview)
    trace = Verb(sessions.trace)
    deny_and_send = Verb(sessions.deny_and_send)
    cancel = Verb(sessions.cancel)
    choose_model = Verb(sessions.choose_model)

    def follow(self, session_id: str, *, after: int = 0) -> Iterator[Event]:
        """Every fact behind `after`, then each as it is recorded, until you stop."""
        return self.client.follow(session_id, after=after)

    def export(self, session_id: str, *, format: str, inline: bool = False) -> Iterator[bytes]:
        """A session as a file, a piece at a time; its last line has the counts."""
        return self.client.pieces(sessions.export(session_id, format=format, inline=inline))

    def export_many(
        self, *, format: str, of: str = "sessions", inline: bool = False, **filters: str | None
    ) -> Iterator[bytes]:
        """Every session, or turn, that the filters of its list choose, as one file."""
        return self.client.pieces(
            sessions.export_many(format=format, of=of, inline=inline, **filters)
        )


class Approvals(Resource):
    """What waits for a person."""

    list = Items(approvals.index)
    show = Verb(approvals.show)
    decide = Verb(approvals.decide)


class Policy(Resource):
    """The policy."""

    show = Verb(policy.show)
    save = Verb(policy.save)
    dry_run = Verb(policy.dry_run)


class Keys(Resource):
    """Application keys."""

    list = Verb(keys.index)
    make = Verb(keys.make)
    revoke = Verb(keys.revoke)


class Servers(Resource):
    """MCP servers."""

    list = Verb(servers.index)
    preview = Verb(servers.preview)
    show_preview = Verb(servers.show_preview)


class Plugins(Resource):
    """Plugins and skills."""

    list = Verb(plugins.index)
    show = Verb(plugins.show)
    calls = Verb(plugins.calls)
    put = Verb(plugins.put)
    remove = Verb(plugins.remove)
    save_skill = Verb(plugins.save_skill)


class Models(Resource):
    """Saved providers of models."""

    list = Verb(models.index)
    save = Verb(models.save)
    remove = Verb(models.remove)
    test = Verb(models.ask)
    default = Verb(models.default)
    probe = Verb(models.probe)


class Secrets(Resource):
    """Secrets."""

    list = Verb(secrets.index)
    set = Verb(secrets.put)
    remove = Verb(secrets.remove)
    rotate = Verb(secrets.rotate)


class Environments(Resource):
    """Environments, their secrets and the versions of their disks."""

    list = Items(environments.index)
    show = Verb(environments.show)
    make = Verb(environments.make)
    delete = Verb(environments.delete)
    label = Verb(environments.label)
    give = Verb(environments.give)
    fork = Verb(environments.fork)
    secrets = Verb(environments.secrets)
    set_secret = Verb(environments.set_secret)
    remove_secret = Verb(environments.remove_secret)
    versions = Items(environments.versions)
    remove_version = Verb(environments.remove_version)
    egress = Items(environments.egress)
    events = Verb(environments.events)


class EnvironmentManifests(Resource):
    """Environment manifests."""

    list = Verb(environment_manifests.index)
    show = Verb(environment_manifests.show)
    versions = Verb(environment_manifests.versions)
    diff = Verb(environment_manifests.diff)
    save = Verb(environment_manifests.save)
    remove = Verb(environment_manifests.remove)
    keep_file = Verb(environment_manifests.keep_file)


class OutsideTraces(Resource):
    """Traces of agents that run elsewhere."""

    list = Items(outside_traces.index)
    show = Verb(outside_traces.show)
    spans = Verb(outside_traces.spans)
    forget = Verb(outside_traces.forget)
    forget_sender = Verb(outside_traces.forget_sender)


class Views(Resource):
    """Saved views of lists."""

    list = Verb(views.index)
    save = Verb(views.save)
    change = Verb(views.change)
    remove = Verb(views.remove)


class Usage(Resource):
    """Tokens and cost."""

    show = Verb(usage.show)


class Collector(Resource):
    """The export of spans."""

    show = Verb(collector.show)
    backfill = Verb(collector.backfill)
    show_backfill = Verb(collector.show_backfill)


class Server(Resource):
    """The server itself."""

    health = Verb(server.health)
    ready = Verb(server.ready)
