"""Exports from the command line: a session, or many, as a file."""

import sys
from collections.abc import Iterator

from studio.cli import taking
from studio.cli.command import Command, argument
from studio.cli.context import Context

ENDINGS = {"markdown": "md", "jsonl": "jsonl", "otlp": "otlp.jsonl"}
WHOLE = (  # how the last line of a whole one begins
    b'{"line":"end","complete":true,', b'{"resourceSpans":[],"studioExport":{"complete":true,',
    b"The end of this export, which is complete:",
)  # fmt: skip
TAIL = 4_096


class Tail:
    """Passes pieces on and keeps the end of them, where an export says whether it is whole."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.end = b""

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.end = (self.end + piece)[-TAIL:]
            yield piece

    @property
    def is_whole(self) -> bool:
        """The last line says so."""
        last = self.end.rstrip(b"\n").rpartition(b"\n")[2]
        return last.startswith(WHOLE)


def session(context: Context) -> int:
    """Take a session away."""
    given = context.given
    with context.client() as studio:
        found = studio.sessions.export(given.id, format=given.format, inline=given.inline)
        return _take(context, found, f"session-{given.id}.{ENDINGS[given.format]}")


def _take(context: Context, pieces: Iterator[bytes], name: str) -> int:
    """Into a file, or to standard output for `--to -`."""
    tail = Tail(pieces)
    if context.given.to == "-":
        for piece in tail:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    else:
        place = taking.place(context.given.to, name, force=context.given.force)
        size = taking.write(place, tail)
        if context.as_json:
            context.terminal.json({"file": str(place), "bytes": size, "complete": tail.is_whole})
        else:
            context.terminal.say(f"{size:,} bytes in {place}.")
    if not tail.is_whole:
        context.terminal.fail("It is not complete: its last line says why.")
    return 0 if tail.is_whole else 1


COMMANDS: tuple[Command, ...] = (
    Command(
        group="sessions", name="export",
        says="take a session away as Markdown, as its facts, or as spans",
        example="studio sessions export ses_01… --format markdown --to talk.md", run=session,
        arguments=(
            argument("id", metavar="SESSION", help="the session's id"),
            argument("--format", choices=tuple(ENDINGS), default="markdown",
                     help="markdown to read, jsonl of facts, otlp spans (default: markdown)"),
            argument("--inline", action="store_true",
                     help="contents over 32 KiB whole, instead of by their hash"),
            argument("--to", metavar="PATH",
                     help="a file or folder, - for standard output; without it here"),
            taking.FORCE,
        ),
    ),
)  # fmt: skip
