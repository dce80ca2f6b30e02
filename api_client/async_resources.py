"""The calls as methods of the client that is awaited: `await studio.sessions.send(…)`."""

from collections.abc import AsyncIterator

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
from api_client.verbs import AsyncItems, AsyncResource, AsyncVerb


class AsyncAgents(AsyncResource):
    """Agents and their versions."""

    list = AsyncVerb(agents.index)
    show = AsyncVerb(agents.show)
    versions = AsyncVerb(agents.versions)
    diff = AsyncVerb(agents.diff)
    save = AsyncVerb(agents.save)
    save_many = AsyncVerb(agents.save_many)


class AsyncArtifacts(AsyncResource):
    """Files and folders of sessions."""

    upload = AsyncVerb(artifacts.upload)
    save = AsyncVerb(artifacts.save)
    list = AsyncItems(artifacts.index)
    show = AsyncVerb(artifacts.show)
    save_folder = AsyncVerb(artifacts.save_folder)
    keep_folder = AsyncVerb(artifacts.keep_folder)
    files = AsyncVerb(artifacts.files)
    diff = AsyncVerb(artifacts.diff)
    text_diff = AsyncVerb(artifacts.text_diff)
    make_link = AsyncVerb(artifacts.make_link)
    links = AsyncVerb(artifacts.links)
    revoke_link = AsyncVerb(artifacts.revoke_link)

    def download(
        self, artifact_id: str, *, version: int | None = None, path: str | bytes = "",
        form: str = "zip",
    ) -> AsyncIterator[bytes]:  # fmt: skip
        """The bytes of a version (without one: the newest), a piece at a time.

        Of a folder: a `zip` or `tar.zst`, or with a `path` one of its files.
        """
        return self.client.pieces(
            artifacts.content(artifact_id, version=version, path=path, form=form)
        )


class AsyncSessions(AsyncResource):
    """Sessions, their facts and their calls."""

    start = AsyncVerb(sessions.start)
    list = AsyncItems(sessions.index)
    show = AsyncVerb(sessions.show)
    events = AsyncVerb(sessions.events)
    calls = AsyncVerb(sessions.calls)
    call = AsyncVerb(sessions.call)
    send = AsyncVerb(sessions.send)
    preview = AsyncVerb(sessions.preview)
    trace = AsyncVerb(sessions.trace)
    deny_and_send = AsyncVerb(sessions.deny_and_send)
    cancel = AsyncVerb(sessions.cancel)
    choose_model = AsyncVerb(sessions.choose_model)

    def follow(self, session_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Every fact behind `after`, then each as it is recorded, until you stop."""
        return self.client.follow(session_id, after=after)

    def export(self, session_id: str, *, format: str, inline: bool = False) -> AsyncIterator[bytes]:
        """A session as a file, a piece at a time; its last line has the counts."""
        return self.client.pieces(sessions.export(session_id, format=format, inline=inline))

    def export_many(
        self, *, format: str, of: str = "sessions", inline: bool = False, **filters: str | None
    ) -> AsyncIterator[bytes]:
        """Every session, or turn, that the filters of its list choose, as one file."""
        return self.client.pieces(
            sessions.export_many(format=format, of=of, inline=inline, **filters)
        )


class AsyncApprovals(AsyncResource):
    """What waits for a person."""

    list = AsyncItems(approvals.index)
    show = AsyncVerb(approvals.show)
    decide = AsyncVerb(approvals.decide)


class AsyncPolicy(AsyncResource):
    """The policy."""

    show = AsyncVerb(policy.show)
    save = AsyncVerb(policy.save)
    dry_run = AsyncVerb(policy.dry_run)


class AsyncKeys(AsyncResource):
    """Application keys."""

    list = AsyncVerb(keys.index)
    make = AsyncVerb(keys.make)
    revoke = AsyncVerb(keys.revoke)


class AsyncServers(AsyncResource):
    """MCP servers."""

    list = AsyncVerb(servers.index)
    preview = AsyncVerb(servers.preview)
    show_preview = AsyncVerb(servers.show_preview)


class AsyncPlugins(AsyncResource):
    """Plugins and skills."""

    list = AsyncVerb(plugins.index)
    show = AsyncVerb(plugins.show)
    calls = AsyncVerb(plugins.calls)
    put = AsyncVerb(plugins.put)
    remove = AsyncVerb(plugins.remove)
    save_skill = AsyncVerb(plugins.save_skill)


class AsyncModels(AsyncResource):
    """Saved providers of models."""

    list = AsyncVerb(models.index)
    save = AsyncVerb(models.save)
    remove = AsyncVerb(models.remove)
    test = AsyncVerb(models.ask)
    default = AsyncVerb(models.default)
    probe = AsyncVerb(models.probe)


class AsyncSecrets(AsyncResource):
    """Secrets."""

    list = AsyncVerb(secrets.index)
    set = AsyncVerb(secrets.put)
    remove = AsyncVerb(secrets.remove)
    rotate = AsyncVerb(secrets.rotate)


class AsyncEnvironments(AsyncResource):
    """Environments, their secrets and the versions of their disks."""

    list = AsyncItems(environments.index)
    show = AsyncVerb(environments.show)
    make = AsyncVerb(environments.make)
    delete = AsyncVerb(environments.delete)
    label = AsyncVerb(environments.label)
    give = AsyncVerb(environments.give)
    fork = AsyncVerb(environments.fork)
    secrets = AsyncVerb(environments.secrets)
    set_secret = AsyncVerb(environments.set_secret)
    remove_secret = AsyncVerb(environments.remove_secret)
    versions = AsyncItems(environments.versions)
    remove_version = AsyncVerb(environments.remove_version)
    egress = AsyncItems(environments.egress)
    events = AsyncVerb(environments.events)


class AsyncEnvironmentManifests(AsyncResource):
    """Environment manifests."""

    list = AsyncVerb(environment_manifests.index)
    show = AsyncVerb(environment_manifests.show)
    versions = AsyncVerb(environment_manifests.versions)
    diff = AsyncVerb(environment_manifests.diff)
    save = AsyncVerb(environment_manifests.save)
    remove = AsyncVerb(environment_manifests.remove)
    keep_file = AsyncVerb(environment_manifests.keep_file)


class AsyncOutsideTraces(AsyncResource):
    """Traces of agents that run elsewhere."""

    list = AsyncItems(outside_traces.index)
    show = AsyncVerb(outside_traces.show)
    spans = AsyncVerb(outside_traces.spans)
    forget = AsyncVerb(outside_traces.forget)
    forget_sender = AsyncVerb(outside_traces.forget_sender)


class AsyncViews(AsyncResource):
    """Saved views of lists."""

    list = AsyncVerb(views.index)
    save = AsyncVerb(views.save)
    change = AsyncVerb(views.change)
    remove = AsyncVerb(views.remove)


class AsyncUsage(AsyncResource):
    """Tokens and cost."""

    show = AsyncVerb(usage.show)


class AsyncCollector(AsyncResource):
    """The export of spans."""

    show = AsyncVerb(collector.show)
    backfill = AsyncVerb(collector.backfill)
    show_backfill = AsyncVerb(collector.show_backfill)


class AsyncServer(AsyncResource):
    """The server itself."""

    health = AsyncVerb(server.health)
    ready = AsyncVerb(server.ready)
