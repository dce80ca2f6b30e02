"""Keeping: what the worker does for save_artifact and read_artifact, and with files in results.

Bytes go into the store first, the fact that tells of them is recorded with the outcome. Who dies
in between leaves bytes that are swept; the call is carried out again and makes the same artifact.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from studio.core import intake
from studio.core.faults import fault
from studio.core.providers.provider import ProviderError
from studio.core.rules import context, files, media, models
from studio.core.rules.calls import Outcome
from studio.core.rules.contents import of, of_text, some_text
from studio.core.rules.errors import Invalid
from studio.core.rules.files import Found, Given
from studio.core.rules.session import Session
from studio.core.store import artifacts
from studio.core.tools import platform
from studio.core.tools.tool import Kit, ResultFile, Tool, ToolError
from studio.core.work import foldering

if TYPE_CHECKING:
    from studio.core.work.driver import Driver


@dataclass
class Placed:
    """An outcome whose saved files get their versions in the transaction that records it.

    The agent's file of the same name in this session gets a new version.
    """

    came: Outcome

    def look(self, conn: Any, session: Session) -> None:
        """See which versions there are by now."""
        if any(given.is_new for given in self.came.files):
            given = tuple(_versioned(conn, session, one) for one in self.came.files)
            self.came = replace(self.came, files=given)


class Keeping:
    """Files of calls, for a driver."""

    def __init__(self, driver: "Driver") -> None:
        self.driver = driver

    async def answer(self, tool: Tool, arguments: Any, kit: Kit) -> Outcome:
        """Carry out one of the platform's own tools; ToolError says why it cannot be."""
        if tool.spec.name == platform.SAVE_ARTIFACT:
            asked = platform.saving_of(arguments)
            if asked.folder:
                return await foldering.save(self.driver, asked, kit)
            return await self._save(asked, kit)
        return await self._read(platform.reading_of(arguments), kit)

    async def _save(self, asked: platform.Saving, kit: Kit) -> Outcome:
        try:
            found = await self._take(asked.data, asked.name, asked.media)
        except Invalid as wrong:
            raise ToolError("file.type", wrong.message, settled=True) from None
        fault("artifact.after_kept")
        session = await self.driver.journal.session(kit.session_id)
        by = session.agent if session is not None else ""
        given = files.new_version(files.artifact_of_call(kit.effect_id, 1), 1, asked.name, found)
        given = replace(given, source="agent", by=by)
        return Outcome(result=of({"saved": asked.name}), files=(given,))

    async def _read(self, asked: platform.Reading, kit: Kit) -> Outcome:
        given = await self.driver.db.read(
            lambda conn: artifacts.find(conn, kit.session_id, asked.id, asked.version)
        )
        if given is None:
            words = "This session has no such artifact, or not in that version."
            raise ToolError("artifact.not_found", words, settled=True)
        if given.found.is_folder:
            return await foldering.read(self.driver, given, asked)
        if asked.path:
            words = "path: this artifact is a file, and nothing lies below it"
            raise ToolError("tool.bad_arguments", words, settled=True)
        if media.kind(given.ref.media) == "text":
            return await self._page(given, asked)
        reads = await self._reads(kit.session_id)
        if reason := files.unreadable(given.ref.media, reads) or files.unfit(
            given.found, given.ref.name, self.driver.limits
        ):
            raise ToolError(
                "artifact.unreadable", f"It cannot be shown to you. {reason}", settled=True
            )
        told = f"[{context.referred(given.ref)} is shown to you below, once.]"
        return Outcome(result=of_text(told), files=(given,))

    async def _page(self, given: Given, asked: platform.Reading) -> Outcome:
        ref = given.ref
        if asked.offset > ref.size:
            words = f"offset: it has {ref.size:,} bytes"
            raise ToolError("tool.bad_arguments", words, settled=True)
        limit = min(asked.limit, files.PAGE_BYTES)
        raw = await self.driver.journal.part(ref.hash, asked.offset, limit) or b""
        end = asked.offset + len(raw)
        more = f"; offset {end} reads on" if end < ref.size else "; this is its end"
        told = f"[{context.referred(ref)} · bytes {asked.offset} to {end} of {ref.size}{more}]\n"
        return Outcome(result=of_text(told + some_text(raw)), files=(given,))

    async def kept(self, found: Iterable[ResultFile], kit: Kit, tool: str) -> tuple[Given, ...]:
        """The files of a result, in the store; bytes that are not what they say are just bytes."""
        made = []
        for number, given in enumerate(found, 1):
            mask = self.driver.mask
            file = replace(given, data=mask.data(given.data), name=mask.text(given.name))
            name = files.clean_name(file.name or f"{tool}-{number}{media.extension(file.media)}")
            try:
                looked = await self._take(file.data, name, file.media)
            except Invalid:
                looked = await self._take(file.data, name, "application/x-unknown")
                looked = replace(looked, media=media.UNKNOWN)
            id = files.artifact_of_call(kit.effect_id, number)
            made.append(files.new_version(id, 1, name, looked))
        return tuple(made)

    async def _take(self, data: bytes, name: str, declared: str) -> Found:
        clock = self.driver.clock
        return await intake.take_bytes(
            self.driver.db, clock.new_id("fil"), data, name=name, declared=declared, at=clock.now()
        )

    async def _reads(self, session_id: str) -> frozenset[str]:
        session = await self.driver.journal.session(session_id)
        assert session is not None, "a call belongs to a session"
        model = (await self.driver.manifest(session)).model
        try:
            return models.reads(await self.driver.shelf.resolved(model))
        except ProviderError:  # its provider is not saved any more: the next step tells
            return models.reads(model)


def _versioned(conn: Any, session: Session, given: Given) -> Given:
    if not given.is_new or given.source != "agent":
        return given
    folder = given.found.is_folder
    known = artifacts.named(conn, session.id, given.ref.name, folder=folder)
    if known is None or known.id == given.ref.artifact_id:
        return given
    is_same = folder and known.hash == given.ref.hash
    version = known.latest if is_same else known.latest + 1
    ref = replace(given.ref, artifact_id=known.id, version=version)
    return replace(given, ref=ref, is_new=not is_same)
