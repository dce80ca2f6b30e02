"""Reads the command line, runs one command, and says in words what went wrong."""

import errno
import os
import sys
from collections.abc import Sequence

from studio.cli import server
from studio.cli.command import Command, parser_of
from studio.cli.context import Context
from studio.cli.terminal import Terminal
from studio.core.rules.errors import Invalid, StudioError

INTERRUPTED = 130
MAY_NOT = "Run this as the user it belongs to, or change its owner or mode."
OS_WORDS = {
    errno.EACCES: MAY_NOT,
    errno.EPERM: MAY_NOT,
    errno.ENOSPC: "The disk is full. Make room and try again.",
    errno.EROFS: "It is on a disk that cannot be written to; name another place.",
    errno.EEXIST: "Something else is there; name another place, or move it away.",
    errno.ENOTDIR: "A part of this path is a file; name another place, or move it away.",
    errno.ENOENT: "There is no such file or folder.",
    errno.EADDRINUSE: "Another program has the address. Stop it, or set STUDIO_PORT.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    terminal = Terminal.standard(os.environ)
    given = parser_of(_commands(sys.argv[1:] if argv is None else argv)).parse_args(argv)
    try:
        code: int = given.run(Context(environ=os.environ, terminal=terminal, given=given)) or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        terminal.fail("Stopped.")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on
        return 1
    except OSError as error:
        terminal.fail(_os_words(error))
        return 1
    except Exception as error:
        if not isinstance(error, _told()):
            raise
        terminal.fail(_words(error))
        return 1
    return code


def _commands(argv: Sequence[str]) -> Sequence[Command]:
    """The commands that `argv` may mean: a server starts without loading the client."""
    if argv and argv[0] in {command.name for command in server.COMMANDS}:
        return server.COMMANDS
    from studio.cli.commands import COMMANDS

    return COMMANDS


def _told() -> tuple[type[Exception], ...]:
    """What is a refusal and not a fault: ours, and the client's where it is loaded."""
    client = sys.modules.get("api_client")
    return (StudioError,) if client is None else (StudioError, client.StudioError)


def _words(error: Exception) -> str:
    message = str(getattr(error, "message", error))
    client = sys.modules.get("api_client")
    if client is not None and isinstance(error, client.NotReached):
        message += " Start it with `studio up`, or name a running one with STUDIO_URL."
    if isinstance(error, Invalid) and error.code == "settings.invalid":
        return message  # it lists its fields already
    fields = getattr(error, "fields", {})
    return "\n".join(
        [
            message,
            *(f"  {path}: {words}" if path else f"  {words}" for path, words in fields.items()),
        ]
    )


def _os_words(error: OSError) -> str:
    what = f"{error.filename}: " if error.filename else ""
    known = OS_WORDS.get(error.errno or 0)
    return f"{what}{error.strerror or error}." + (f" {known}" if known else "")
