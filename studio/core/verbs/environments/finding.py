"""Finding an environment or a manifest inside a commit, and checks that several verbs share."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from studio.core.rules.access import Person
from studio.core.rules.environments import files, names, records
from studio.core.rules.environments import manifest as rule_of
from studio.core.rules.environments import operations as rule_of_operations
from studio.core.rules.environments.environment import Environment
from studio.core.rules.environments.manifest import Manifest
from studio.core.rules.errors import NotFound
from studio.core.rules.session import Session
from studio.core.store import environment_manifests, environments, operations
from studio.core.store.environment_manifests import SavedManifest


def environment(conn: sa.Connection, word: str) -> Environment:
    """The environment with this id or name; NotFound, or Refused when it was deleted."""
    return records.alive(environments.find(conn, word))


def saved(conn: sa.Connection, reference: str) -> tuple[SavedManifest, Manifest]:
    """The manifest that `name` or `name@version` means, as it lies in the store and as it reads."""
    name, version = names.reference(reference)
    found = environment_manifests.get(conn, name, version)
    if found is None:
        which = f" in version {version}" if version is not None else ""
        raise NotFound(
            f"There is no environment manifest {name}{which}.", code="manifest.not_found"
        )
    return found, rule_of.parse(found.manifest)


def file_faults(
    conn: sa.Connection, person: Person, definition: Mapping[str, Any]
) -> dict[str, str]:
    """What is wrong with the files that a definition names elsewhere, by field."""
    faults = {}
    named = list(files.hashes(definition.get("files")))
    missing = set(environments.missing_files(conn, [hash for _, hash in named]))
    for path, hash in named:
        if hash in missing:
            faults[path] = "has not been sent here yet; send its bytes first."
    for path, artifact_id, version in files.artifacts(definition.get("files")):
        if not environments.may_take(conn, person, artifact_id, version):
            faults[path] = "is no artifact, or has no such version, that you may see."
    return dict(list(faults.items())[:50])


def usable(conn: sa.Connection, person: Person, word: str) -> Environment:
    """The environment that a session may be started on, or why none may."""
    found = environments.find(conn, word)
    records.alive(found)
    assert found is not None, "it is alive"
    records.usable(person, found, environments.coverage(conn, found))
    _at_rest(conn, found)
    return found


def still_usable(conn: sa.Connection, person: Person, session: Session) -> None:
    """Refuse a turn of a session whose environment is gone, or another's alone by now."""
    if session.environment_id is not None:
        found = environment(conn, session.environment_id)
        records.guarded(person, found)
        _at_rest(conn, found)


def _at_rest(conn: sa.Connection, found: Environment) -> None:
    """Refuse a turn while something that somebody asked for changes the disk as a whole."""
    waiting = operations.open_of(conn, found.id)
    rule_of_operations.at_rest(found, waiting.act if waiting is not None else None)
