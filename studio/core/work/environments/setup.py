"""Setup: what makes a new disk ready, once: files of the manifest, its commands, a first version.

When it fails the turn fails with the command and the end of its output, and the next turn begins
again with an empty disk. A worker that dies in the middle leaves a setup that is begun anew.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from studio.core.faults import fault
from studio.core.masking import Mask
from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.environments import records
from studio.core.rules.environments.environment import Environment
from studio.core.rules.errors import StudioError
from studio.core.rules.media import FOLDER
from studio.core.sandboxes.contract import Command, Ran, SandboxError
from studio.core.store import artifacts, environment_rows, files
from studio.core.tools.disk import output
from studio.core.work.environments import keeping
from studio.core.work.environments.places import Place, Places

SAID_CHARACTERS = 1_500
CUT_SHORT = "It was ended before it was done: its turn was over, or the studio was stopped."


async def ready(places: Places, id: str, turn: e.TurnRef | None = None) -> str:
    """Have the disk of an environment ready for a turn; "" or why it is not, for the person."""
    environment = records.alive(await places.find(id))
    if environment.kind == "none":
        return ""
    place = await places.open(id)
    if environment.setup == "ok" and _is_there(place):
        return ""
    async with places.locks.alone(id, within=None):
        environment = records.alive(await places.find(id))
        if environment.setup == "ok":
            return "" if _is_there(place) else await _found_again(places, place, environment)
        return await _made(places, place, environment, turn)


def _is_there(place: Place) -> bool:
    """A sandbox whose disk is here has a folder; others know themselves."""
    if place.sandbox.kind == "remote":
        return True
    return (place.folder / "disk").is_dir() and not place.half_put.exists()


async def _found_again(places: Places, place: Place, environment: Environment) -> str:
    """The disk is gone from this machine: it is as its newest version again, or it is lost."""
    if environment.disk is not None:
        await place.sandbox.reset()
        await keeping.put(places, place, environment.disk.digest)
        source = environment.disk.version
        kept = records.Kept(
            digest=environment.disk.digest, files=environment.disk.files,
            folders=environment.disk.folders, bytes=environment.disk.bytes,
        )  # fmt: skip
        await places.record(
            place.id, lambda conn, found: records.note_restored(found, source, kept, by="")
        )
        return ""
    reason = "Its disk is not on this machine, and no version of it was kept."
    await places.record(place.id, lambda conn, found: records.note_lost(found, reason=reason))
    return f"{reason} Reset the environment {environment.name} to begin with a new disk."


async def _made(
    places: Places, place: Place, environment: Environment, turn: e.TurnRef | None
) -> str:
    """Set up a new disk, or give a fork the one it begins with."""
    turn_id = turn.turn_id if turn is not None else None
    await places.record(place.id, lambda conn, found: records.note_setup_started(found, turn_id))
    fault("setup.started")
    runs: list[e.SetupRun] = []
    failed: int | None = None
    problem = ""
    try:
        await place.sandbox.reset()
        await places.started(place)
        if environment.is_unset_fork:
            await keeping.first(places, place, environment)
        else:
            await _files(places, place, environment)
            failed = await _commands(places, place, environment, runs, turn)
        if failed is None:
            await keeping.keep(places, place, "setup")
    except (SandboxError, StudioError, FileMissing, OSError) as wrong:
        problem = places.opening.values.mask.text(str(wrong))
    except asyncio.CancelledError:
        with suppress(StudioError):  # the store may be going, too
            await asyncio.shield(_ended(places, place, runs, failed, CUT_SHORT, turn_id))
        raise
    await _ended(places, place, runs, failed, problem, turn_id)
    if failed is not None:
        return _told(environment, runs[-1], failed)
    return f"The environment {environment.name} could not be set up. {problem}" if problem else ""


async def _ended(
    places: Places, place: Place, runs: list[e.SetupRun], failed: int | None, problem: str,
    turn_id: str | None,
) -> None:  # fmt: skip
    await places.record(
        place.id,
        lambda conn, found: records.note_setup(
            found, runs, failed=failed, problem=problem, turn_id=turn_id
        ),
    )


class FileMissing(Exception):
    """A file that the manifest names is not in the store any more."""


async def _files(places: Places, place: Place, environment: Environment) -> None:
    for entry in environment.definition.get("files", ()):
        async for path, data in _bytes(places, entry):
            await place.sandbox.write(path, data)


async def _bytes(places: Places, entry: Mapping[str, Any]) -> AsyncIterator[tuple[str, bytes]]:
    """The files of one entry, as (path, bytes)."""
    if "text" in entry:
        yield entry["path"], entry["text"].encode("utf-8")
    elif "artifact" in entry:
        given = await places.db.read(
            lambda conn: artifacts.bytes_of(conn, entry["artifact"], entry["version"])
        )
        if given is None:
            words = f"The artifact {entry['artifact']} v{entry['version']} is not here any more."
            raise FileMissing(words)
        hash, size, media = given
        if media == FOLDER:
            async for path, found in _folder(places, hash):
                yield f"{entry['path']}/{path}", found
        else:
            yield entry["path"], await files.whole(places.db, hash, size)
    else:
        for name, hashed in entry["files"].items():
            data = await places.journal.blob(hashed.removeprefix("sha256:"))
            if data is None:
                raise FileMissing(f"The bytes of {name} ({hashed}) are not here any more.")
            yield f"{entry['path']}/{name}", data


async def _folder(places: Places, digest: str) -> AsyncIterator[tuple[str, bytes]]:
    """The files of a folder that was kept, by their paths in it; links are not put anywhere."""
    waiting = [""]
    while waiting:
        above, after = waiting.pop(), ""
        while True:
            page = await asyncio.to_thread(
                places.disks.folder, digest, above, after=after, limit=1_000
            )
            for one in page.entries:
                if one.type == "folder":
                    waiting.append(one.path)
                elif one.type == "file":
                    pieces = places.disks.pieces(one.hash)
                    yield one.path, await asyncio.to_thread(b"".join, pieces)
            if page.next is None:
                break
            after = page.next


async def _commands(
    places: Places, place: Place, environment: Environment, runs: list[e.SetupRun],
    turn: e.TurnRef | None,
) -> int | None:  # fmt: skip
    """Run them one after the other; the number of the one that failed, from 1."""
    definition, attempt = environment.definition, places.clock.new_id("set")
    for number, given in enumerate(definition.get("setup", ()), 1):
        command = Command(
            line=given["run"], cwd=given.get("cwd", "."), seconds=float(given["timeout"]),
            variables=dict(definition.get("variables", {})), egress=f"{attempt}-{number}",
        )  # fmt: skip
        if turn is not None:
            place.past[command.egress] = turn  # what it reaches for is told of the turn
        began = places.clock.now()
        try:
            ran = await place.sandbox.shell(command)
        finally:
            places.over(place, command.egress)
        runs.append(_run(given["run"], ran, places.opening.values.mask, began))
        if ran.exit != 0 or ran.ended is not None:
            return number
    return None


def _run(line: str, ran: Ran, mask: Mask, began: int) -> e.SetupRun:
    text = mask.text(output.plain(ran.output))
    return e.SetupRun(
        run=line, exit=ran.exit, seconds=round(ran.seconds, 3), words=ran.words,
        output=environment_rows.output(text), began=began,
    )  # fmt: skip


def _told(environment: Environment, run: e.SetupRun, number: int) -> str:
    said = contents.words(run.output)[-SAID_CHARACTERS:].strip()
    how = run.words or f"it ended with exit code {run.exit}"
    end = f" The end of its output: {said}" if said else ""
    return (
        f"The environment {environment.name} could not be set up: command {number} ({run.run}) "
        f"failed, {how.rstrip('.')}.{end}"
    )
