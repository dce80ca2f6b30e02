"""Lines of files that a regular expression matches, looked for by a process that can be ended.

A pattern may need longer than anyone waits, and a thread that matches cannot be stopped. As a
program (`python -m …searching`) this reads what is wanted from its input and answers in JSON.
"""

import asyncio
import itertools
import json
import os
import re
import stat
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from studio.core.sandboxes import paths, patterns
from studio.core.sandboxes.contract import Found, Match, SandboxError
from studio.core.sandboxes.trees import Entry, tree

SECONDS = 10.0
LONGEST = 1_000  # characters of a pattern
LONGEST_LINE = 16 * 1024  # bytes of a line that are looked at
LONGEST_TEXT = 500  # characters of a line that are told
MOST_SIZE = 32 * 1024**2  # bytes of a file that is looked into
_HEAD = 8 * 1024
_ROOT = str(Path(__file__).parents[3])
_PROGRAM = (
    f"import sys; sys.path.insert(0, {_ROOT!r});"
    " from studio.core.sandboxes import searching; searching.main()"
)


async def grep(
    root: Path, pattern: str, *, within: str, most: int, seconds: float = SECONDS
) -> Found:
    """Lines of text files, by path and line, `most` of them. SandboxError `pattern.bad`."""
    patterns.globbed(within)
    _compiled(pattern)
    asked = {"root": str(root), "pattern": pattern, "within": within, "most": most}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", _PROGRAM, stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={},
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            said, wrong = await process.communicate(json.dumps(asked).encode())
    except TimeoutError:
        words = f"The search took more than {seconds:g} seconds. Make the pattern simpler, or name"
        raise SandboxError("pattern.bad", f"{words} fewer files with `within`.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        why = wrong.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SandboxError("sandbox.unavailable", f"The search broke: {why}.")
    answer = json.loads(said)
    matches = tuple(Match(path=path, line=line, text=text) for path, line, text in answer["lines"])
    return Found(matches=matches, more=answer["more"])


def main() -> None:
    """Answer one search."""
    asked = json.load(sys.stdin)
    expression, matcher = _compiled(asked["pattern"]), patterns.globbed(asked["within"])
    with paths.folder(Path(asked["root"])) as top:
        walk = tree(top)
        chosen = (entry for entry in walk if not entry.is_folder and matcher(entry.path))
        hits = (hit for entry in chosen for hit in _lines(entry, expression))
        lines = list(itertools.islice(hits, asked["most"] + 1))
    more = len(lines) > asked["most"] or walk.cut_short
    json.dump({"lines": lines[: asked["most"]], "more": more}, sys.stdout)


def _compiled(pattern: str) -> re.Pattern[str]:
    if not pattern or len(pattern) > LONGEST:
        words = f"A pattern has 1 to {LONGEST:,} characters; this one has {len(pattern):,}."
        raise SandboxError("pattern.bad", words)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as wrong:
        words = f"{pattern[:200]} is not a regular expression: {wrong}."
        raise SandboxError("pattern.bad", words) from None


def _lines(entry: Entry, expression: re.Pattern[str]) -> Iterator[tuple[str, int, str]]:
    """The lines of a text file that match; other files have none."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = open(os.open(entry.name, flags, dir_fd=entry.parent), "rb")  # noqa: SIM115
    except OSError:
        return  # gone, closed to us, a link or a socket
    with file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_SIZE:
            return
        if b"\0" in file.peek(_HEAD)[:_HEAD]:
            return
        for number, line in enumerate(file, 1):
            text = line[:LONGEST_LINE].decode("utf-8", "replace").rstrip("\r\n")
            if expression.search(text):
                yield patterns.shown(entry.path), number, text[:LONGEST_TEXT]


if __name__ == "__main__":
    main()
