"""What a fork takes along: a disk version, chosen secrets, and what differs from its source."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from studio.core.rules import events as e
from studio.core.rules.environments import manifest, slots
from studio.core.rules.environments.environment import Environment
from studio.core.rules.errors import Invalid, Refused


@dataclass(frozen=True, kw_only=True)
class Target:
    """What the new environment is pinned to."""

    kind: str
    manifest: str | None
    manifest_version: int | None
    definition: Mapping[str, Any]
    digest: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Taken:
    """Secrets by name: copied, left behind at the source, and needed but not there."""

    copied: tuple[str, ...]
    left: tuple[str, ...]
    missing: tuple[str, ...]


def same_as(source: Environment) -> Target:
    """The very definition of the source."""
    return Target(
        kind=source.kind, manifest=source.manifest, manifest_version=source.manifest_version,
        definition=source.definition, digest=source.digest,
    )  # fmt: skip


def disk(source: Environment, target: Target, asked: int | None) -> int | None:
    """The number of the disk version to begin with: `asked`, or the newest; None for empty."""
    if target.kind == "none":
        if asked:
            words = "The new environment is of kind none and has no disk to begin with."
            raise Invalid(words, fields={"version": words}, code="environment.no_disk")
        return None
    number = source.version if asked is None else asked
    return number or None


def secrets(
    source: Environment, target: Target, filled: Collection[str], chosen: Sequence[str]
) -> Taken:
    """Which secrets come along, or why one that was chosen may not.

    Refused (`secret_not_in_manifest`) where the target declares none of that name,
    (`secret.moved`) where it would go to another place than it was set for, and
    (`secret_host_taken`) where two of those chosen would go to one host.
    """
    declared = slots.of_definition(target.definition)
    before = {slot.name: slot for slot in source.slots}
    for name in chosen:
        slot = slots.slot_named(declared, name)
        if name not in filled or name not in before:
            words = f"{source.name} has no value for {name}, so there is nothing to copy."
            raise Invalid(words, fields={"secrets": words}, code="secret.not_set")
        old = before[name]
        if (slot.type, slot.binding) != (old.type, old.binding):
            raise Refused(
                f"{name} was set for {old.binding}, and the target would send it to "
                f"{slot.binding}. Set it there anew.",
                code="secret.moved",
            )
        slots.one_for_a_host(declared, name, chosen)
    copied = tuple(sorted(set(chosen)))
    left = tuple(sorted(name for name in filled if name not in copied))
    return Taken(copied=copied, left=left, missing=slots.coverage(declared, copied).missing)


def meant(widened: Mapping[str, Sequence[str]], *, wider: bool) -> None:
    """Refuse a fork in which secrets could reach more than before, unless that is said."""
    if not widened or wider:
        return
    told = "; ".join(
        f"the secret {name} could now reach {', '.join(places)}" for name, places in widened.items()
    )
    places_of = {name: list(places) for name, places in widened.items()}
    raise Refused(
        f"In this fork {told}. Say that this is meant, or do not copy "
        f"{'it' if len(widened) == 1 else 'them'}.",
        code="fork.wider", details={"widened": places_of},
    )  # fmt: skip


def changes(source: Environment, target: Target) -> tuple[str, ...]:
    """What differs between the definitions, in lines."""
    return tuple(manifest.diff(source.definition, target.definition))


def first_version(
    source: Environment, digest: str, files: int, folders: int, size: int, version: int, by: str
) -> e.DiskKept:
    """Version 1 of the new disk: the same bytes, of which none move."""
    return e.DiskKept(
        version=1, digest=digest, files=files, folders=folders, bytes=size, added=0,
        reason="fork", note=f"From version {version} of {source.name}.", by=by,
    )  # fmt: skip
