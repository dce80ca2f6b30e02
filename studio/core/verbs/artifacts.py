"""Artifacts: send a file for a message, or keep a file or a folder with a session at once."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import sqlalchemy as sa

from studio.core import folders, intake
from studio.core.faults import fault
from studio.core.rules import access, files
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid, NotFound, Refused, TooLarge
from studio.core.rules.files import Found
from studio.core.rules.media import FOLDER
from studio.core.rules.session import Session
from studio.core.store import artifacts, environments, uploads
from studio.core.store.artifacts import Named
from studio.core.store.uploads import Upload
from studio.core.verbs import parts
from studio.core.verbs.environments import ARCHIVE_BYTES, finding
from studio.core.verbs.parts import Verbs

Chunks = AsyncIterator[bytes]


@dataclass(frozen=True, kw_only=True)
class SavedArtifact:
    """A version of an artifact was kept."""

    session_id: str
    artifact_id: str
    version: int
    name: str
    media: str
    size: int
    hash: str
    files: int = 0


class ArtifactVerbs(Verbs):
    """What one may do with files."""

    async def upload(self, person: Person, *, name: str, media: str, chunks: Chunks) -> Upload:
        """Keep a file for a message of this person; it is swept when none carries it in a day.

        Invalid when its bytes are not of its type, or when no message could carry it.
        """
        access.needs(person, "operator", "send a file")
        name = files.clean_name(name)
        found = await self._take(name, media, chunks)
        if reason := files.unfit(found, name, self.limits):
            raise Invalid(
                f"“{name}” cannot go with a message. {reason}", code="file.unfit",
                fields={"file": reason},
                details={"name": name, "media": found.media, "pages": found.pages},
            )  # fmt: skip
        upload = Upload(id=self.clock.new_id("upl"), name=name, found=found, time=self.clock.now())
        await self.db.touch(lambda conn: uploads.add(conn, person.actor, upload))
        fault("upload.after_kept")
        return upload

    async def uploads(self, person: Person, ids: list[str]) -> list[Upload]:
        """Those of these uploads that are this person's and still here."""
        found = [
            await self.db.read(lambda conn, one=one: uploads.get(conn, person.actor, one))  # type: ignore[misc]
            for one in ids[: files.PARTS]
        ]
        return [upload for upload in found if upload is not None]

    async def drop_upload(self, person: Person, upload_id: str) -> None:
        """Forget an upload that shall not be sent after all. Nothing to forget is well too."""
        access.needs(person, "operator", "remove a file")
        await self.db.touch(lambda conn: uploads.drop(conn, person.actor, upload_id))

    async def save_artifact(
        self, person: Person, session_id: str, *, name: str, media: str, chunks: Chunks,
        artifact_id: str | None = None, key: str | None = None,
    ) -> SavedArtifact:  # fmt: skip
        """Keep a file with a session: a new artifact, or a new version of one that it has."""
        access.needs(person, "operator", "save an artifact")
        await self._see(person, session_id)
        name = files.checked_name(name)
        found = await self._take(name, media, chunks)
        wanted = _Wanted(session_id=session_id, name=name, found=found, artifact_id=artifact_id)
        return await self._save_version(person, wanted, "save_artifact", key)

    async def save_folder(
        self, person: Person, session_id: str, *, name: str, chunks: Chunks,
        artifact_id: str | None = None, key: str | None = None,
    ) -> SavedArtifact:  # fmt: skip
        """Keep what an archive (tar, tar.gz, tar.zst, zip) holds with a session, as a folder.

        A hostile or broken archive is refused and nothing of it is kept: Invalid, TooLarge. What
        the newest version of the artifact holds already makes no other.
        """
        access.needs(person, "operator", "save an artifact")
        await self._see(person, session_id)
        name = files.checked_name(name)
        digest = await self._taken_in(chunks)
        return await self._keep_tree(
            person, session_id, name, digest, artifact_id, "save_folder", key
        )

    async def keep_folder(
        self, person: Person, session_id: str, *, environment: str, version: int, path: str,
        name: str, artifact_id: str | None = None, key: str | None = None,
    ) -> SavedArtifact:  # fmt: skip
        """Keep a folder of a kept version of a disk with a session, as it lies there.

        Without an artifact it is a version of the folder of that name, if the session has one.
        """
        access.needs(person, "operator", "save an artifact")
        await self._see(person, session_id)
        name = files.checked_name(name)
        whole = await self.db.read(lambda conn: _digest(conn, environment, version))
        digest = await asyncio.to_thread(
            self.disks.part, whole, path, limits=folders.limits(self.limits)
        )
        return await self._keep_tree(
            person, session_id, name, digest, artifact_id, "keep_folder", key
        )

    async def _keep_tree(
        self, person: Person, session_id: str, name: str, digest: str, artifact_id: str | None,
        verb: str, key: str | None,
    ) -> SavedArtifact:  # fmt: skip
        """A tree that is in the store becomes a version, unless the newest holds the same."""
        wanted = _Wanted(session_id=session_id, name=name, artifact_id=artifact_id)
        known = await self.db.read(wanted.folder)
        found = await folders.found(
            self.disks, digest, before=known.hash if known is not None else None
        )
        return await self._save_version(person, replace(wanted, found=found), verb, key)

    async def _save_version(
        self, person: Person, wanted: "_Wanted", verb: str, key: str | None
    ) -> SavedArtifact:
        found, place = (
            wanted.found,
            _Place(id=self.clock.new_id("art"), version=1, name=wanted.name),
        )

        def look(conn: sa.Connection, session: Session) -> None:
            nonlocal place
            place = wanted.place(conn, place)

        def rule(session: Session) -> list[e.Event]:
            parts.visible(person, session)
            if place.is_kept:
                return []
            given = files.new_version(place.id, place.version, place.name, found)
            return [files.saved(given, source="upload", by=person.id)]

        done = await self.journal.commit(
            wanted.session_id, rule, at=self.clock.now(), actor=person.actor, before=look,
            receipt=parts.receipt(
                person, verb, wanted.session_id, key,
                [wanted.artifact_id, wanted.name, found.media, found.hash],
            ),
            answer=lambda s, f: {"artifact_id": place.id, "version": place.version,
                                 "name": place.name},
        )  # fmt: skip
        return SavedArtifact(
            session_id=wanted.session_id, media=found.media, size=found.size, hash=found.hash,
            files=found.files, **done.answer,
        )  # fmt: skip

    async def _taken_in(self, chunks: Chunks) -> str:
        """The tree that an archive is, in the store of versions."""
        assert self._data is not None, "the composition root names the folder"
        # nameless, so that nothing of it is left whatever happens
        with tempfile.TemporaryFile(dir=self._data) as file:
            size = 0
            async for chunk in chunks:
                size += len(chunk)
                if size > ARCHIVE_BYTES:
                    raise TooLarge(
                        f"The archive has more than {ARCHIVE_BYTES:,} bytes. Nothing was kept.",
                        code="archive.too_large", details={"limit": ARCHIVE_BYTES},
                    )  # fmt: skip
                await asyncio.to_thread(file.write, chunk)
            if not size:
                words = "There is no archive in this request: it has no body, or an empty file."
                raise Invalid(words, fields={"archive": words}, code="archive.missing")
            file.flush()
            archive = Path(f"/proc/self/fd/{file.fileno()}")
            kept = await asyncio.to_thread(
                self.disks.take_in, archive, limits=folders.limits(self.limits)
            )
        return kept.digest

    async def _see(self, person: Person, session_id: str) -> None:
        """Refuse before the bytes are read, not after."""
        session = await self.journal.session(session_id)
        if session is None:
            raise NotFound("There is no such session.", code="session.not_found")
        parts.visible(person, session)

    async def _take(self, name: str, media: str, chunks: Chunks) -> Found:
        return await intake.take(
            self.db, self.clock.new_id("fil"), chunks, name=name, declared=media,
            at=self.clock.now(), most=self.limits.upload_bytes,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where a version goes. `is_kept`: it is there already."""

    id: str
    version: int
    name: str
    is_kept: bool = False


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What somebody wants to keep with a session, and as a version of what."""

    session_id: str
    name: str
    found: Found = field(default_factory=lambda: Found(media=FOLDER, size=0, hash=""))
    artifact_id: str | None = None

    def folder(self, conn: sa.Connection) -> Named | None:
        """The artifact that a folder becomes a version of; NotFound, Refused when it cannot."""
        if self.artifact_id is None:
            return artifacts.folder_named(conn, self.session_id, self.name)
        known = artifacts.find(conn, self.session_id, self.artifact_id, None)
        if known is None:
            raise _no_artifact()
        if known.found.is_folder != self.found.is_folder:
            was, is_ = ("folder", "file") if known.found.is_folder else ("file", "folder")
            raise Refused(
                f"This artifact is a {was}, so a {is_} cannot be a version of it. Keep the {is_} "
                "under a name of its own.",
                code="artifact.kind",
            )
        return Named(
            id=self.artifact_id, latest=known.ref.version, hash=known.ref.hash,
            name=known.ref.name,
        )  # fmt: skip

    def place(self, conn: sa.Connection, new: _Place) -> _Place:
        """Where it goes, as things stand in this commit."""
        if self.artifact_id is None and not self.found.is_folder:
            return new
        known = self.folder(conn)
        if known is None:
            return new
        is_kept = self.found.is_folder and known.hash == self.found.hash
        return _Place(
            id=known.id, version=known.latest + (not is_kept), name=known.name,
            is_kept=is_kept,
        )  # fmt: skip


def _digest(conn: sa.Connection, environment: str, version: int) -> str:
    """The tree of a kept version of a disk."""
    it = finding.environment(conn, environment)
    found = environments.version(conn, it.id, version) if 0 < version < 2**53 else None
    if found is None:
        raise NotFound("The disk has no such version.", code="disk.not_found")
    return found.digest


def _no_artifact() -> NotFound:
    return NotFound("There is no such artifact.", code="artifact.not_found")
