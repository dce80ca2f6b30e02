"""Foldering: what the worker does for save_artifact and read_artifact when it is about a folder."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from studio.core.faults import fault
from studio.core.rules import context, files, ids, reveal
from studio.core.rules import events as e
from studio.core.rules.calls import Outcome
from studio.core.rules.contents import of, of_text, some_text
from studio.core.rules.errors import Invalid, StudioError
from studio.core.rules.files import Given
from studio.core.sandboxes.contract import SandboxError
from studio.core.store import artifacts
from studio.core.tools import platform
from studio.core.tools.tool import Kit, ToolError
from studio.core.work.environments import folders
from studio.core.work.environments.locks import Locked
from studio.core.work.environments.places import Places

if TYPE_CHECKING:
    from studio.core.work.driver import Driver

NAMES = 500  # of a folder that are listed at once
TOLD = 20  # paths that were left out, in a result


async def save(driver: "Driver", asked: platform.Saving, kit: Kit) -> Outcome:
    """Keep a folder of the session's disk; ToolError says why it cannot be."""
    places = _places(driver)
    session = await driver.journal.session(kit.session_id)
    if session is None or session.environment_id is None:
        raise _refused(
            "artifact.no_disk", "This session has no environment, so there is no folder to keep."
        )
    before = await driver.db.read(
        lambda conn: artifacts.named(conn, kit.session_id, asked.name, folder=True)
    )
    turn = e.TurnRef(session_id=kit.session_id, turn_id=ids.turn_of(kit.effect_id))
    try:
        async with places.at_work(session.environment_id, kit.effect_id, turn) as place:
            found = await folders.take(
                places, place, asked.folder, before=before.hash if before is not None else None
            )
    except Locked:
        words = (
            "The disk of the environment is being kept or put back. Nothing was kept; try again."
        )
        raise _refused("environment_busy", words) from None
    except (SandboxError, StudioError) as wrong:
        raise _refused(wrong.code, driver.mask.text(wrong.message)) from None
    fault("artifact.after_kept")
    given = files.new_version(files.artifact_of_call(kit.effect_id, 1), 1, asked.name, found)
    told = {"saved": asked.name, "files": found.files, "bytes": found.size}
    if found.skipped:
        told["left_out"] = list(found.skipped[:TOLD])
    if found.moving:
        told["changed_meanwhile"] = list(found.moving[:TOLD])
    return Outcome(result=of(told), files=(replace(given, source="agent", by=session.agent),))


async def read(driver: "Driver", given: Given, asked: platform.Reading) -> Outcome:
    """List a folder of a kept folder, or read a page of a file in it."""
    try:
        text = await asyncio.to_thread(_read, _places(driver), given, asked)
    except StudioError as wrong:
        raise _refused(wrong.code, wrong.message) from None
    return Outcome(result=of_text(text), files=(given,))


def _read(places: Places, given: Given, asked: platform.Reading) -> str:
    disks, digest = places.disks, given.ref.hash
    try:
        return _listed(places, given, asked)
    except Invalid as no:
        if no.code != "disk.no_folder":
            raise
    entry = disks.entry(digest, asked.path)
    if entry.type != "file":
        raise _refused("path.kind", f"path: {asked.path} is a link to {entry.target}. Name that.")
    if asked.offset > entry.size:
        raise _refused("tool.bad_arguments", f"offset: it has {entry.size:,} bytes")
    raw = disks.read(entry.hash, offset=asked.offset, most=min(asked.limit, files.PAGE_BYTES)).data
    end = asked.offset + len(raw)
    more = f"; offset {end} reads on" if end < entry.size else "; this is its end"
    return (
        f"[{context.referred(given.ref)} · {reveal.plain(entry.path, one_line=True)} · bytes "
        f"{asked.offset} to {end} of {entry.size}{more}]\n{some_text(raw)}"
    )


def _listed(places: Places, given: Given, asked: platform.Reading) -> str:
    """Names of a folder, a line each; `offset` counts those that were listed before."""
    after, passed = "", 0
    while passed < asked.offset:
        page = places.disks.folder(
            given.ref.hash, asked.path, after=after, limit=min(NAMES, asked.offset - passed)
        )
        if page.next is None:
            passed = page.total
            break
        after, passed = page.next, passed + len(page.entries)
    page = places.disks.folder(given.ref.hash, asked.path, after=after, limit=NAMES)
    entries = page.entries if passed < page.total else ()
    where = reveal.plain(asked.path.strip("/"), one_line=True) or "its top"
    more = f"; offset {passed + len(entries)} lists on" if page.next is not None else ""
    lines = [
        f"{reveal.plain(one.name, one_line=True)}"
        + {"folder": "/", "link": f" -> {reveal.plain(one.target, one_line=True)}"}.get(
            one.type, f" ({one.size:,} bytes)"
        )
        for one in entries
    ]
    head = f"[{context.referred(given.ref)} · {where} · {page.total:,} names{more}]"
    return "\n".join([head, *lines])


def _places(driver: "Driver") -> Places:
    if driver.environments is None:
        raise _refused("artifact.no_disk", "This worker has no environments, so no folders.")
    return driver.environments.places


def _refused(code: str, words: str) -> ToolError:
    return ToolError(code, words, settled=True)
