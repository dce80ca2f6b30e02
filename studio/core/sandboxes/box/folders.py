"""The disk's folder as a whole: made, given to its user, emptied. No command runs meanwhile.

Programs do it that follow no links and know no depth that is too deep.
"""

import asyncio
import os
from pathlib import Path

from studio.core.sandboxes.contract import SandboxError


async def make(disk: Path, user: int | None) -> None:
    """Make the folder unless it is there, and see that it belongs to its user."""
    owner = await asyncio.to_thread(_made, disk)
    if user is not None and user != owner:
        await own(disk, user)


async def own(disk: Path, user: int) -> None:
    """Give everything on the disk to one user, and to the group of the same id."""
    await _done("chown", "-hR", "--", f"{user}:{user}", str(disk))


async def empty(disk: Path) -> None:
    """Delete everything on the disk, also folders that were closed to us."""
    if os.geteuid():
        await _done("chmod", "-R", "u+rwX", "--", str(disk))
    await _done("find", str(disk), "-xdev", "-mindepth", "1", "-delete")


def _made(disk: Path) -> int:
    """Make the folder unless it is there; whose it is."""
    try:
        disk.mkdir(mode=0o700, parents=True, exist_ok=True)
        return disk.stat().st_uid
    except OSError as wrong:
        words = f"The folder of the disk cannot be made: {wrong.strerror}. Tell an operator."
        raise SandboxError("sandbox.unavailable", words) from None


async def _done(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, said = await process.communicate()
    if process.returncode:
        words = said.decode("utf-8", "replace").strip()[-300:]
        raise SandboxError("sandbox.unavailable", f"The disk cannot be put in order: {words}")
