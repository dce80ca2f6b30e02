"""Disks from the command line: kept, listed, compared, put back, taken away, filled."""

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote_to_bytes

from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.cli.environments import ENVIRONMENT, id_of
from studio.core.rules import reveal
from studio.core.rules.errors import Invalid

SIGNS = {"added": "+", "removed": "-", "changed": "~", "type": "~", "mode": "m", "times": "t"}


def keep(context: Context) -> None:
    """Keep a version."""
    given = context.given
    with context.client() as studio:
        done = studio.disks.keep(id_of(studio, given.environment), note=given.note or "")
    _say(context, done, f"Version {done['version']} is kept." if done["version"] else
         "Nothing has changed since the newest version, so none was made.")  # fmt: skip


def restore(context: Context) -> None:
    """Put a version in the disk's place."""
    given = context.given
    with context.client() as studio:
        done = studio.disks.restore(id_of(studio, given.environment), given.version)
    _say(context, done, f"The disk is as version {given.version} was; that is version "
         f"{done['version']} now, and what was there before is kept.")  # fmt: skip


def index(context: Context) -> None:
    """List the versions of a disk, or the files of one."""
    given = context.given
    with context.client() as studio:
        id = id_of(studio, given.environment)
        if given.version is None:
            _versions(context, list(studio.environments.versions(id)))
            return
        found, after = list[Any](), ""
        while True:
            page = studio.disks.files(id, given.version, given.path, after=after, limit=1_000)
            found += page["items"]
            if page["next"] is None:
                break
            after = page["next"]
    told_files(context, found)


def told_files(context: Context, found: list[Any]) -> None:
    """Names of a folder."""
    if context.as_json:
        context.terminal.json(found)
        return
    context.terminal.table(
        ("NAME", "TYPE", "MODE", "BYTES", "CHANGED"),
        [(_plain(one["name"]), one["type"], one["mode"], one["size"], one["time"])
         for one in found],
        none="The folder is empty.",
    )  # fmt: skip


def diff(context: Context) -> None:
    """Say how two versions differ, or one file of them."""
    given = context.given
    with context.client() as studio:
        id = id_of(studio, given.environment)
        if given.path:
            told_lines(context, studio.disks.text_diff(id, given.before, given.after, given.path))
        else:
            told_diff(context, studio.disks.diff(id, given.before, given.after))


def told_lines(context: Context, text: Any) -> None:
    """How a file differs."""
    say = context.terminal.say
    if context.as_json:
        context.terminal.json(text)
    elif text["state"] == "text":
        say("\n".join(reveal.plain(line) for line in text["lines"]))
    else:
        say({"same": "It is the same.", "binary": "It is not text.",
             "too_large": "It is too large to be compared."}[text["state"]])  # fmt: skip


def told_diff(context: Context, found: Any) -> None:
    """Which paths differ."""
    say = context.terminal.say
    if context.as_json:
        context.terminal.json(found)
        return
    say("\n".join(f"{SIGNS[one['what']]} {_plain(one['path']) or '.'}" for one in found["items"])
        or "They are the same.")  # fmt: skip
    if found["more"]:
        context.terminal.warn(f"Only {len(found['items']):,} of {sum(found['counts'].values()):,}.")


def download(context: Context) -> None:
    """Take a version away as an archive, or one file of it."""
    given = context.given
    with context.client() as studio:
        id = id_of(studio, given.environment)
        if given.path:
            pieces = studio.disks.content(id, given.version, unquote_to_bytes(given.path))
        else:
            pieces = studio.disks.archive(id, given.version, given.form)
        if given.to == "-":
            _write(sys.stdout.buffer, pieces)
            return
        place = Path(given.to or _called(given))
        size = _into(place, pieces)
    if context.as_json:
        context.terminal.json({"file": str(place), "bytes": size})
    else:
        context.terminal.say(f"{place}: {size:,} bytes.")


def take_in(context: Context) -> None:
    """Put what an archive holds in the disk's place."""
    given = context.given
    path = Path(given.archive)
    with opened(path) as file, context.client() as studio:
        pieces = iter(lambda: file.read(256 * 1024), b"")
        done = studio.disks.take_in(id_of(studio, given.environment), pieces, name=path.name)
    _say(context, done, f"The disk holds what {path.name} held, as version {done['version']}.")


def opened(path: Path) -> BinaryIO:
    """An archive, to be read."""
    try:
        return path.open("rb")
    except OSError as wrong:
        words = f"{path} cannot be read: {wrong.strerror}."
        raise Invalid(words, code="archive.missing") from None


def _called(given: Any) -> str:
    """What a download is called here: nothing but plain letters of the name that it had."""
    if not given.path:
        return f"disk-v{given.version}.{given.form}"
    last = given.path.rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9._-]", "_", last).lstrip(".") or "file"


def _into(place: Path, pieces: Iterator[bytes]) -> int:
    """A new file with these bytes; one that is there already is left alone."""
    first = next(pieces, b"")  # so that what is refused leaves no empty file
    try:
        with place.open("xb") as file:
            return _write(file, chain([first], pieces))
    except FileExistsError:
        words = f"{place} is there already; say another with --to."
        raise Invalid(words, code="download.there") from None


def _write(file: BinaryIO, pieces: Iterable[bytes]) -> int:
    return sum(file.write(piece) for piece in pieces)


def _versions(context: Context, found: list[Any]) -> None:
    if context.as_json:
        context.terminal.json(found)
        return
    context.terminal.table(
        ("VERSION", "KEPT", "REASON", "FILES", "BYTES", "NEW", "BY", "NOTE"),
        [(one["version"], one["time"], one["reason"], one["files"], one["bytes"], one["added"],
          f"turn {one['turn']}" if one["turn"] else one["by"] or "-", one["note"] or "-")
         for one in found],
        none="No version was kept yet.",
    )  # fmt: skip


def _say(context: Context, done: Any, words: str) -> None:
    if context.as_json:
        context.terminal.json(done)
    else:
        context.terminal.say(words)


def _plain(name: str) -> str:
    return reveal.plain(name, one_line=True)


VERSION = argument("version", type=int, metavar="N", help="number of the version")

COMMANDS: tuple[Command, ...] = (
    Command(
        group="disks", name="keep", says="keep a version of an environment's disk",
        example='studio disks keep team/desk --note "before the upgrade"', run=keep,
        arguments=(ENVIRONMENT, argument("--note", metavar="TEXT", help="why")),
    ),
    Command(
        group="disks", name="list", says="list versions, or the files of one",
        example="studio disks list team/desk 4 src", run=index,
        arguments=(
            ENVIRONMENT,
            argument("version", type=int, nargs="?", metavar="N", help="whose files to list"),
            argument("path", nargs="?", default="", metavar="FOLDER", help="of that version"),
        ),
    ),
    Command(
        group="disks", name="diff", says="say how two versions differ",
        example="studio disks diff team/desk 4 5 src/app.py", run=diff,
        arguments=(
            ENVIRONMENT,
            argument("before", type=int, metavar="BEFORE", help="number of the earlier version"),
            argument("after", type=int, metavar="AFTER", help="number of the later version"),
            argument("path", nargs="?", default="", metavar="FILE", help="line by line"),
        ),
    ),
    Command(
        group="disks", name="restore", says="put a version in the disk's place",
        example="studio disks restore team/desk 4", run=restore, arguments=(ENVIRONMENT, VERSION),
    ),
    Command(
        group="disks", name="download", says="take a version or one of its files away",
        example="studio disks download team/desk 4 --form zip", run=download,
        arguments=(
            ENVIRONMENT, VERSION,
            argument("path", nargs="?", default="", metavar="FILE",
                     help="one file, percent-encoded where its name is odd"),
            argument("--form", choices=("tar.zst", "zip"), default="tar.zst", help="of archive"),
            argument("--to", metavar="FILE", help="where to write; - is the output"),
        ),
    ),
    Command(
        group="disks", name="import", says="put what an archive holds in the disk's place",
        example="studio disks import team/desk site.tar.gz", run=take_in,
        arguments=(ENVIRONMENT, argument("archive", metavar="FILE", help="tar.gz, tar.zst, zip…")),
    ),
)  # fmt: skip
