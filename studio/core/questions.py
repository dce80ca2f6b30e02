"""What every question of the `Reader` stands on, and those about environments.

As in `reader`: the person first, one read transaction each, nothing is written.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from studio.core.clock import Clock
from studio.core.projections import disk_versions, environment_manifests, environments, pages
from studio.core.projections.collector import Waiting
from studio.core.projections.disk_versions import DiskVersionRow, EgressRow, SlotRow
from studio.core.projections.environment_manifests import (
    ManifestDiff,
    ManifestRow,
    ManifestVersions,
    ManifestView,
)
from studio.core.projections.environments import EnvironmentRow, EnvironmentView
from studio.core.projections.facts import EventRow
from studio.core.projections.pages import Page, Patience
from studio.core.projections.traces import Built
from studio.core.rules.access import Person
from studio.core.sealing import KeyFile
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Journal

T = TypeVar("T")


class Questions:
    """The parts that questions use. `data` is the folder that holds the store."""

    def __init__(
        self, *, db: Db, journal: Journal, feed: Feed, clock: Clock, data: Path,
        seals: KeyFile | None = None, trace_key: bytes = b"",
    ) -> None:  # fmt: skip
        self._db, self._journal, self._feed = db, journal, feed
        self._clock, self._data, self._seals = clock, data, seals
        self._trace_key, self._built = trace_key, Built()
        self._waiting = Waiting()

    async def _read(self, act: Callable[[sa.Connection], T], *texts: str) -> T:
        """Ask the store, once the texts that came from outside are such as it can hold."""
        pages.plain(*texts)
        return await self._db.read(act)

    def _patience(self) -> Patience:
        return Patience(clock=self._clock.monotonic, begun=self._clock.monotonic())

    def _keys(self) -> tuple[frozenset[str] | None, str]:
        """The ids of the keys in the key file, None without one, and where it is."""
        if self._seals is None:
            return None, "in this process"
        ring = self._seals.ring()
        return frozenset(ring.keys) if ring is not None else None, str(self._seals.path)


class EnvironmentQuestions(Questions):
    """Questions about environments and their manifests. `environment` is a name or an id."""

    async def environments(
        self, person: Person, *, labels: Sequence[tuple[str, str]] = (), state: str = "",
        kind: str = "", name: str = "", manifest: str = "", limit: int = 50,
        cursor: str | None = None,
    ) -> Page[EnvironmentRow]:  # fmt: skip
        """Environments with all of these labels, the one made last first.

        Without `state` those that are not deleted; `name` is the beginning of one.
        """
        texts = [text for label in labels for text in label]
        return await self._read(
            lambda conn: environments.page(
                conn, person, labels=labels, state=state, kind=kind, name=name,
                manifest=manifest, limit=limit, cursor=cursor,
            ),
            name, manifest, *texts,
        )  # fmt: skip

    async def environment(self, person: Person, environment: str) -> EnvironmentView:
        """One environment: what it is pinned to, how its setup went, its newest sessions."""
        return await self._read(
            lambda conn: environments.view(conn, person, environment), environment
        )

    async def disk_versions(
        self, person: Person, environment: str, *, removed: bool = False, limit: int = 50,
        cursor: str | None = None,
    ) -> Page[DiskVersionRow]:  # fmt: skip
        """Kept versions of its disk, the newest first."""
        return await self._read(
            lambda conn: disk_versions.page(
                conn, person, environment, removed=removed, limit=limit, cursor=cursor
            ),
            environment,
        )

    async def egress(
        self, person: Person, environment: str, *, outcome: str = "", limit: int = 50,
        cursor: str | None = None,
    ) -> Page[EgressRow]:  # fmt: skip
        """What it tried to reach, the newest first."""
        return await self._read(
            lambda conn: disk_versions.egress(
                conn, person, environment, outcome=outcome, limit=limit, cursor=cursor
            ),
            environment,
        )

    async def environment_secrets(self, person: Person, environment: str) -> list[SlotRow]:
        """Its secret slots and who filled them; never a value."""
        keys, path = self._keys()
        return await self._read(
            lambda conn: disk_versions.slots(conn, person, environment, keys, path), environment
        )

    async def environment_events(
        self, person: Person, environment: str, *, after: int = 0, limit: int = 200
    ) -> list[EventRow]:
        """Its facts with a seq above `after`, oldest first."""
        return await self._read(
            lambda conn: disk_versions.events(
                conn, person, environment, pages.within(after), limit
            ),
            environment,
        )

    async def environment_events_before(
        self, person: Person, environment: str, *, before: int | None = None, limit: int = 200
    ) -> list[EventRow]:
        """Its newest facts, or those with a seq below `before`; oldest first."""
        place = None if before is None else pages.within(before)
        return await self._read(
            lambda conn: disk_versions.events_before(conn, person, environment, place, limit),
            environment,
        )

    async def environment_blob(self, person: Person, hash: str, environment: str) -> bytes:
        """The bytes of a large output that one of its facts refers to."""
        return await self._read(
            lambda conn: disk_versions.blob(conn, environment, hash), environment, hash
        )

    async def environment_manifests(self, person: Person) -> list[ManifestRow]:
        """The newest version of every environment manifest, by name."""
        return await self._read(environment_manifests.rows)

    async def environment_manifest(
        self, person: Person, name: str, version: int | None = None
    ) -> ManifestView:
        """One version of a manifest, without `version` the newest."""
        place = None if version is None else pages.within(version)
        return await self._read(lambda conn: environment_manifests.view(conn, name, place), name)

    async def environment_manifest_versions(
        self, person: Person, name: str, *, before: int | None = None
    ) -> ManifestVersions:
        """The versions of a manifest below `before`, newest first, and what each changed."""
        place = None if before is None else pages.within(before)
        return await self._read(
            lambda conn: environment_manifests.versions(conn, name, place), name
        )

    async def environment_manifest_diff(
        self, person: Person, name: str, old: int, new: int
    ) -> ManifestDiff:
        """How two versions of a manifest differ."""
        first, second = pages.within(old), pages.within(new)
        return await self._read(
            lambda conn: environment_manifests.diff(conn, name, first, second), name
        )
