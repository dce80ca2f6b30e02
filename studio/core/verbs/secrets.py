"""Secrets: set, replaced, removed, and sealed anew under another key. A value only ever goes in."""

import sqlalchemy as sa

from studio.core.rules import access
from studio.core.rules import events as e
from studio.core.rules import secrets as rule_of
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound, Unavailable
from studio.core.sealing import CannotOpen, KeyFile, Place, Ring, Sealed
from studio.core.store import secrets
from studio.core.store.secrets import SealedRow
from studio.core.verbs.parts import Verbs


class SecretVerbs(Verbs):
    """What one may do with secrets."""

    async def set_secret(self, person: Person, name: str, value: str) -> int:
        """Give a secret of the studio a value, sealed; the version that it has now."""
        access.needs(person, "admin", "set a secret")
        rule_of.check(name, value)
        version = 0

        def rule(conn: sa.Connection) -> list[e.Event]:
            nonlocal version
            version = seal(conn, self.seals, rule_of.STUDIO, name, value)
            return [e.SecretSet(owner=rule_of.STUDIO, name=name, version=version, by=person.id)]

        await self.journal.commit_other("secrets", rule, at=self.clock.now(), actor=person.actor)
        return version

    async def remove_secret(self, person: Person, name: str) -> None:
        """Remove a secret of the studio; what names it says so from then on."""
        access.needs(person, "admin", "remove a secret")

        def rule(conn: sa.Connection) -> list[e.Event]:
            found = [row for row in secrets.list_of(conn, rule_of.STUDIO) if row.name == name]
            if not found:
                raise NotFound("There is no such secret.", code="secret.not_found")
            secrets.drop(conn, rule_of.STUDIO, name)
            return [
                e.SecretRemoved(
                    owner=rule_of.STUDIO, name=name, version=found[0].version, by=person.id
                )
            ]

        await self.journal.commit_other("secrets", rule, at=self.clock.now(), actor=person.actor)

    async def rotate_secrets(self, person: Person) -> int:
        """Make a new key and seal everything under it; how many values that were.

        The values are not opened, only the small key of each. What cannot be sealed anew, as its
        key is missing here, stands in the way: nothing changes then.
        """
        access.needs(person, "admin", "rotate the key of the secrets")
        seals, count = _needed(self.seals), 0

        def rule(conn: sa.Connection) -> list[e.Event]:
            nonlocal count
            rows = secrets.all_sealed(conn)
            _check_openable(seals, rows)
            ring = seals.turn() if rows else _ring(conn, seals)
            secrets.wrap(conn, [_again(ring, row) for row in rows])
            count = len(rows)
            return [e.SecretsResealed(key=ring.first, count=count, by=person.id)]

        await self.journal.commit_other("secrets", rule, at=self.clock.now(), actor=person.actor)
        return count


def seal(conn: sa.Connection, seals: KeyFile | None, owner: str, name: str, value: str) -> int:
    """Seal a value and keep it; its version. Inside a rule, whose fact says who set it."""
    ring = _ring(conn, _needed(seals))
    version = secrets.next_version(conn, owner, name)
    place = Place(owner=owner, name=name, version=version)
    sealed = ring.seal(place, value.encode("utf-8"))
    secrets.put(
        conn,
        SealedRow(
            owner=owner, name=name, version=version, key=sealed.key, wrapped=sealed.wrapped,
            value=sealed.value,
        ),
    )  # fmt: skip
    return version


def _needed(seals: KeyFile | None) -> KeyFile:
    if seals is None:
        raise Unavailable("This process has no key file for secrets.", code="keys.none")
    return seals


def _ring(conn: sa.Connection, seals: KeyFile) -> Ring:
    """The keys; a new file only while nothing is sealed, for it would open nothing of that."""
    ring = seals.ring()
    if ring is not None:
        return ring
    if keys := secrets.keys(conn):
        raise Unavailable(
            f"The key file {seals.path} is missing, and secrets of this store are sealed under "
            f"{', '.join(sorted(keys))}. Put the file back, from a backup or from the machine that "
            "has it; or remove those secrets.",
            code="keys.missing",
        )
    return seals.make()


def _check_openable(seals: KeyFile, rows: tuple[SealedRow, ...]) -> None:
    ring = seals.ring()
    known = ring.keys if ring is not None else {}
    lost = sorted({row.key for row in rows if row.key not in known})
    if lost:
        raise Unavailable(
            f"Key {', '.join(lost)} is missing in {seals.path}, so what it seals cannot be sealed "
            "anew. Put the key back, or set those secrets again.",
            code="keys.missing",
        )


def _again(ring: Ring, row: SealedRow) -> SealedRow:
    place = Place(owner=row.owner, name=row.name, version=row.version)
    try:
        sealed = ring.again(place, Sealed(key=row.key, wrapped=row.wrapped, value=row.value))
    except CannotOpen as wrong:
        raise Unavailable(
            f"The secret {row.name} cannot be sealed anew: {wrong}. Set it again first.",
            code="keys.broken_secret",
        ) from None
    return SealedRow(
        owner=row.owner, name=row.name, version=row.version, key=sealed.key,
        wrapped=sealed.wrapped, value=sealed.value,
    )  # fmt: skip
