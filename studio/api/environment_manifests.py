"""Environment manifests: list, read, compare; save, plan, remove; bytes for them to name."""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api import environment_bodies as eb
from studio.api import wire
from studio.api.endpoint import Answer, Ask, Endpoint, Link
from studio.core.rules.errors import Invalid

VERSION = "the version you looked at (its ETag)"
OCTETS = "application/octet-stream"


async def index(ask: Ask[b.NoQuery, b.NoBody]) -> a.EnvironmentManifests:
    """Every manifest."""
    found = await ask.reader.environment_manifests(ask.person)
    return a.EnvironmentManifests(items=a.take_all(a.EnvironmentManifest, found))


async def show(ask: Ask[eb.ManifestQuery, b.NoBody]) -> Answer:
    """One version of a manifest."""
    view = await ask.reader.environment_manifest(ask.person, ask.part("name"), ask.query.version)
    made = tuple(a.MadeFrom(name=name, version=version) for name, version in view.environments)
    detail = a.take(a.EnvironmentManifestDetail, view, environments=made)
    return Answer(value=detail, headers={"ETag": f'"{view.version}"'})


async def versions(ask: Ask[b.VersionsQuery, b.NoBody]) -> a.EnvironmentManifestVersions:
    """The versions of a manifest and what each changed."""
    found = await ask.reader.environment_manifest_versions(
        ask.person, ask.part("name"), before=ask.query.before
    )
    items = a.take_all(a.EnvironmentManifestVersion, found.versions)
    return a.EnvironmentManifestVersions(items=items, latest=found.latest, next=found.next)


async def diff(ask: Ask[b.DiffQuery, b.NoBody]) -> a.EnvironmentManifestDiff:
    """How two versions of a manifest differ."""
    name = ask.part("name")
    new = ask.query.new or (await ask.reader.environment_manifest(ask.person, name)).latest
    old = ask.query.old or max(1, new - 1)
    found = await ask.reader.environment_manifest_diff(ask.person, name, old, new)
    return a.take(a.EnvironmentManifestDiff, found)


async def save(ask: Ask[b.SaveQuery, Any]) -> Answer:
    """Save a manifest as a new version, or say what that would do."""
    name, dry_run = ask.part("name"), ask.query.dryRun
    expect = wire.if_match_version(ask.request, what=VERSION, required=False)
    if not isinstance(ask.body, dict):
        raise Invalid("A manifest is an object.", fields={"": "must be an object"})
    manifest = {"name": name, **ask.body}
    if manifest["name"] != name:
        raise Invalid(
            "The manifest has another name than the path.",
            fields={"name": f"must be {name}, as in the path"},
        )
    plan = await ask.runtime.save_environment_manifest(
        ask.person, manifest, dry_run=dry_run, expect=expect
    )
    saved = plan.creates and not dry_run
    return Answer(
        value=a.take(a.ManifestPlan, plan, saved=saved), status=201 if saved else 200,
        headers={"ETag": f'"{plan.version}"'},
    )  # fmt: skip


async def remove(ask: Ask[b.NoQuery, b.NoBody]) -> None:
    """Remove a manifest that nothing is made from."""
    expect = wire.if_match_version(ask.request, what=VERSION, required=False)
    await ask.runtime.remove_environment_manifest(ask.person, ask.part("name"), expect=expect)


async def keep_file(ask: Ask[b.NoQuery, bytes]) -> Answer:
    """Keep bytes for manifests to name."""
    hash, is_new = await ask.runtime.keep_environment_file(ask.person, ask.body)
    file = a.EnvironmentFile(hash=f"sha256:{hash}", size=len(ask.body), saved=is_new)
    return Answer(value=file, status=201 if is_new else 200)


def _links(value: str) -> tuple[Link, ...]:
    names = ("show_environment_manifest", "list_environment_manifest_versions")
    return tuple(Link(to=name, part="name", value=value) for name in names)


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_environment_manifests", method="GET", path="/environment-manifests", call=index,
        gives=a.EnvironmentManifests, says="List environment manifests.",
        links=_links("$response.body#/items/0/name"),
    ),
    Endpoint(
        name="show_environment_manifest", method="GET", path="/environment-manifests/{name}",
        call=show, gives=a.EnvironmentManifestDetail, query=eb.ManifestQuery, tagged=True,
        says="Read one version of an environment manifest, or its newest.",
    ),
    Endpoint(
        name="list_environment_manifest_versions", method="GET",
        path="/environment-manifests/{name}/versions", call=versions,
        gives=a.EnvironmentManifestVersions, query=b.VersionsQuery,
        says="List the versions of an environment manifest and what each changed.",
    ),
    Endpoint(
        name="diff_environment_manifest", method="GET", path="/environment-manifests/{name}/diff",
        call=diff, gives=a.EnvironmentManifestDiff, query=b.DiffQuery,
        says="Compare two versions of an environment manifest.",
    ),
    Endpoint(
        name="save_environment_manifest", method="PUT", path="/environment-manifests/{name}",
        call=save, gives=a.ManifestPlan, query=b.SaveQuery, body=b.NoBody, free_body=True,
        match=VERSION, tagged=True, errors=(201, 412),
        says="Save an environment manifest as a new version, or plan to.",
    ),
    Endpoint(
        name="remove_environment_manifest", method="DELETE", path="/environment-manifests/{name}",
        call=remove, gives=None, status=204, match=VERSION, errors=(409, 412),
        says="Remove an environment manifest that nothing is made from.",
    ),
    Endpoint(
        name="keep_environment_file", method="POST", path="/environment-files", call=keep_file,
        gives=a.EnvironmentFile, body=bytes, raw=OCTETS, errors=(201,),
        needs=("admin", "send a file for environments"),
        says="Send bytes (at most 10 MiB) for environment manifests to name by their hash.",
    ),
)  # fmt: skip
