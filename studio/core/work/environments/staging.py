"""Staging: the files of a session's skills on its disk, as they are by their hashes.

They lie below `skills/<name>@<hash>/` and are put right again before each turn: what an agent wrote
over them is no part of the skill.
"""

import hashlib
import shlex
from collections.abc import Iterable

from studio.core.faults import fault
from studio.core.sandboxes.contract import Command, SandboxError
from studio.core.tools.tool import Staged
from studio.core.work.environments.places import Place


async def stage(place: Place, packages: Iterable[Staged]) -> None:
    """Put them there, writing only what is missing or differs."""
    for package in packages:
        try:
            await _stage(place, package)
        except SandboxError:  # a link or a folder lies where a file should: all of it is put anew
            folder = shlex.quote(f"skills/{package.label}")
            await place.sandbox.shell(Command(line=f"rm -rf -- {folder}"))
            await _stage(place, package)


async def _stage(place: Place, package: Staged) -> None:
    for path, digest in package.listed():
        await _put(place, f"skills/{package.label}/{path}", digest, package, path)


async def _put(place: Place, at: str, digest: str, package: Staged, path: str) -> None:
    known = await _known(place, at)
    if known == digest:
        return
    data = package.read(path)
    assert hashlib.sha256(data).hexdigest() == digest, "a package gives what its hashes say"
    fault("skill.before_write")
    await place.sandbox.write(at, data, known=known)
    fault("skill.after_write")


async def _known(place: Place, at: str) -> str | None:
    try:
        return (await place.sandbox.read(at, most=0)).hash
    except SandboxError as wrong:
        if wrong.code == "path.missing":
            return None
        raise
