"""A disk with real versions behind the pages: kept in the store of versions, told in facts."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studio.core.disks.disks import Disks
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import records
from tests.core.rules.test_pictures import png
from tests.web.conftest import Studio

ADA = Person(id="ada", role="admin", via="key")
ODD = b"odd \xff\xe2\x80\xae<b>&?#%2F\n.txt"
LONG = b"l" * 250
PNG = png(8, 8)
SANDBOX = e.Origin(kind="sandbox")
FIRST: dict[bytes, bytes] = {
    b"src/a.py": b"a = 1\nb = 2\n", b"pic.png": PNG, b"page.html": b"<script>alert(1)</script>",
    b"gone.txt": b"gone\n", b"bytes.bin": bytes(range(256)) * 40,
}  # fmt: skip
SECOND: dict[bytes, bytes] = {
    **{path: data for path, data in FIRST.items() if path != b"gone.txt"},
    b"src/a.py": b"a = 1\nb = \xe2\x80\xae3\n", ODD: b"odd", LONG: b"",
}  # fmt: skip


class Disk:
    """An environment whose disk is kept by tests."""

    def __init__(self, studio: Studio, id: str, folder: Path) -> None:
        self.studio, self.id, self.folder = studio, id, folder
        self.store = Disks(folder / "versions")

    @property
    def url(self) -> str:
        """Where its pages are."""
        return f"/environments/{self.id}/disk"

    async def keep(self, files: Mapping[bytes, bytes], reason: Any = "hand", **more: Any) -> None:
        """A version that holds these files."""
        top = self.folder / f"made-{len(list(self.folder.glob('made-*')))}"
        top.mkdir()
        for path, data in files.items():
            place = os.path.join(os.fsencode(top), path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            Path(os.fsdecode(place)).write_bytes(data)
        kept = self.store.keep(top)
        row = records.Kept(
            digest=kept.digest, files=kept.version.files, folders=kept.version.folders,
            bytes=kept.version.size, added=kept.stored,
        )  # fmt: skip
        await self.note(lambda it: records.note_kept(it, row, reason, **more))

    async def note(self, rule: Any) -> None:
        """Record what a rule says, as a worker does."""
        await self.studio.story.journal.commit_environment(
            self.id, lambda _, it: rule(it), at=self.studio.story.clock.now(), actor=None
        )

    async def operation(self, **more: Any) -> None:
        """Something that was asked of it ended like this."""
        operation_id = more.pop("operation_id")
        await self.note(lambda _: [e.OperationStarted(operation_id=operation_id, worker="one")])
        await self.note(lambda _: [e.OperationEnded(operation_id=operation_id, **more)])


async def disk(studio: Studio, folder: Path, name: str = "desk", **definition: Any) -> Disk:
    """An environment whose setup is done; no version is kept yet."""
    made = await studio.runtime.make_environment(ADA, name, definition=definition)
    found = Disk(studio, str(made.id), folder)
    await found.note(lambda it: records.note_setup_started(it))
    await found.note(lambda it: records.note_setup(it, ()))
    return found


async def two_versions(studio: Studio, folder: Path, name: str = "desk") -> Disk:
    """A disk with two versions that differ in every way that pages show."""
    found = await disk(studio, folder, name)
    await found.keep(FIRST, "setup")
    await found.keep(SECOND, note="by <b>hand</b>", by="alice")
    return found


async def at_work(studio: Studio, desk: Disk, *calls: dict[str, Any]) -> tuple[str, list[str]]:
    """A session in the environment whose model asked for these calls."""
    story = studio.story
    session_id = story.new_id("ses")
    started = e.SessionStarted(
        agent="helper", agent_version=1, title="At work", owner="alice", environment_id=desk.id
    )
    await story.record(session_id, started)
    await story.message(session_id)
    made = [{"origin": SANDBOX, "tool": "shell", **call} for call in calls]
    return session_id, await story.reply(session_id, "I try.", *made)
