"""Disks as wholes: a person asks that one is kept, restored, reset, or filled from an archive.

This process only records the wish; a worker carries it out, one at a time for an environment.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import sqlalchemy as sa

from studio.core.rules import access, files
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import operations as rule_of
from studio.core.rules.environments.environment import Environment
from studio.core.rules.environments.operations import Act
from studio.core.rules.errors import Invalid, TooLarge
from studio.core.store import environments, operations
from studio.core.store import files as kept
from studio.core.verbs.environments import finding
from studio.core.verbs.parts import Verbs

ARCHIVE_BYTES = 1024 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class _Archive:
    """Bytes that wait to be imported."""

    hash: str
    name: str


class DiskVerbs(Verbs):
    """What one may ask of a disk. Each gives the id of an operation; see `Reader.operation`."""

    async def keep_disk(self, person: Person, word: str, *, note: str = "") -> str:
        """Keep a version of a disk as it is, once no command runs on it."""
        return await self._ask(person, word, "keep", note=note)

    async def restore_disk(self, person: Person, word: str, version: int) -> str:
        """Put a version in the disk's place. What is there now is kept first, so nothing is lost.

        Refused while a turn of the environment is not over.
        """
        return await self._ask(person, word, "restore", version=version)

    async def reset_environment(self, person: Person, word: str) -> str:
        """Empty the disk, after keeping it; the next turn sets it up anew."""
        return await self._ask(person, word, "reset")

    async def start_environment(self, person: Person, word: str) -> str:
        """Have it ready before a turn needs it: its disk set up, its sandbox running.

        Asked again it is the same wish while the first is open, and changes nothing once it
        stands. Refused while a turn of the environment is not over: that turn starts it.
        """
        return await self._ask(person, word, "start")

    async def stop_environment(self, person: Person, word: str) -> str:
        """End whatever runs in it; the disk stays, and the next command starts it again."""
        return await self._ask(person, word, "stop")

    async def import_disk(
        self, person: Person, word: str, *, name: str, chunks: AsyncIterator[bytes]
    ) -> str:
        """Put what an archive (tar, tar.gz, tar.zst, zip) holds in the disk's place, as a version.

        The archive is read by the worker: one that is hostile or broken fails the operation, and
        nothing changes. TooLarge beyond 1 GiB.
        """
        access.needs(person, "operator", "import an archive")
        await self.db.read(lambda conn: finding.environment(conn, word))
        try:
            arrived = await kept.keep(
                self.db, self.clock.new_id("fil"), chunks, at=self.clock.now(), most=ARCHIVE_BYTES
            )
        except kept.TooLong:
            raise TooLarge(
                f"The archive has more than {ARCHIVE_BYTES:,} bytes. Nothing of it was kept.",
                code="archive.too_large", details={"limit": ARCHIVE_BYTES},
            ) from None  # fmt: skip
        if not arrived.size:
            words = "There is no archive in this request: it has no body, or an empty file."
            raise Invalid(words, fields={"archive": words}, code="archive.missing")
        archive = _Archive(hash=arrived.hash, name=files.clean_name(name))
        return await self._ask(person, word, "import", archive=archive)

    async def _ask(
        self, person: Person, word: str, act: Act, *, version: int | None = None, note: str = "",
        archive: _Archive | None = None,
    ) -> str:  # fmt: skip
        access.needs(person, "operator", f"{act} a disk")
        id = (await self.db.read(lambda conn: finding.environment(conn, word))).id
        operation_id = self.clock.new_id("opn")

        def rule(conn: sa.Connection, environment: Environment) -> list[e.Event]:
            nonlocal operation_id
            waiting = operations.open_of(conn, id)
            if act == "start" and waiting is not None and waiting.act == act:
                operation_id = waiting.id
                return []
            return rule_of.ask(
                environment, act, operation_id=operation_id, by=person,
                busy=environments.busy(conn, id, person),
                waiting=waiting.act if waiting is not None else None,
                there=environments.versions(conn, id), version=version, note=note,
                archive=archive.hash if archive is not None else "",
                archive_name=archive.name if archive is not None else "",
            )  # fmt: skip

        await self.journal.commit_environment(id, rule, at=self.clock.now(), actor=person.actor)
        return operation_id
