"""The application key of this machine's commands, kept in a file."""

import asyncio
import os
import secrets
from pathlib import Path

from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.runtime import Runtime
from studio.settings import Settings

COMMAND_LINE = "local command line"


async def leave(runtime: Runtime, reader: Reader, studio: Person, settings: Settings) -> None:
    """Leave an application key for the commands of this machine, readable by its owner alone."""
    path = settings.cli_key_file
    if path.exists():
        plain = path.read_text("ascii").strip()
        if await runtime.person_of_key(plain) is not None:
            return
    for row in await reader.keys(studio):
        if row.name == COMMAND_LINE and not row.revoked:  # its file is gone, so nobody has it
            await runtime.revoke_key(studio, row.id)
    _key, plain = await runtime.make_key(studio, COMMAND_LINE, "admin")
    await asyncio.to_thread(_write, path, plain)


def _write(path: Path, plain: str) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(plain + "\n")
    draft.replace(path)
