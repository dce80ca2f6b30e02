"""Artifacts: send a file to be attached to a message, or keep one with a session at once."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import sqlalchemy as sa

from studio.core import intake
from studio.core.faults import fault
from studio.core.rules import access, files
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid, NotFound
from studio.core.rules.files import Found
from studio.core.rules.session import Session
from studio.core.store import artifacts, uploads
from studio.core.store.uploads import Upload
from studio.core.verbs import parts
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
        new_id, version, saved = self.clock.new_id("art"), 1, name

        def look(conn: sa.Connection, session: Session) -> None:
            nonlocal version, saved
            if artifact_id is None:
                return
            known = artifacts.find(conn, session.id, artifact_id, None)
            if known is None:
                raise _no_artifact()
            version, saved = known.ref.version + 1, known.ref.name

        def rule(session: Session) -> list[e.Event]:
            parts.visible(person, session)
            return [_saved(artifact_id or new_id, version, saved, found, person.id)]

        done = await self.journal.commit(
            session_id, rule, at=self.clock.now(), actor=person.actor, before=look,
            receipt=parts.receipt(
                person, "save_artifact", session_id, key,
                [artifact_id, name, found.media, found.hash],
            ),
            answer=lambda s, f: {"artifact_id": artifact_id or new_id, "version": version,
                                 "name": saved},
        )  # fmt: skip
        return SavedArtifact(
            session_id=session_id, media=found.media, size=found.size, hash=found.hash,
            **done.answer,
        )  # fmt: skip

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


def _saved(
    artifact_id: str, version: int, name: str, found: Found, by: str
) -> e.ArtifactSaved:  # fmt: skip
    return e.ArtifactSaved(
        artifact_id=artifact_id, version=version, name=name, media=found.media, size=found.size,
        hash=found.hash, source="upload", by=by, width=found.width, height=found.height,
        pages=max(found.pages, 0),
    )  # fmt: skip


def _no_artifact() -> NotFound:
    return NotFound("There is no such artifact.", code="artifact.not_found")
