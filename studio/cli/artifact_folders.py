"""Folders among the artifacts from the command line: kept, listed, compared; and links."""

from pathlib import Path
from typing import Any

from studio.cli import disks
from studio.cli.artifacts import ID, SESSION, VERSION
from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.cli.environments import ENVIRONMENT, id_of

PIECE = 256 * 1024


def save(context: Context) -> None:
    """Keep what an archive holds with a session, as a folder."""
    given, path = context.given, Path(context.given.archive)
    with disks.opened(path) as file, context.client() as studio:
        done = studio.artifacts.save_folder(
            given.session, iter(lambda: file.read(PIECE), b""), name=given.name or path.name,
            artifact=given.artifact,
        )  # fmt: skip
    _saved(context, done)


def keep(context: Context) -> None:
    """Keep a folder of a kept disk with a session."""
    given = context.given
    with context.client() as studio:
        done = studio.artifacts.keep_folder(
            id_of(studio, given.environment), given.number, given.path, session_id=given.session,
            name=given.name or given.path.rpartition("/")[2] or "disk",
        )  # fmt: skip
    _saved(context, done)


def files(context: Context) -> None:
    """List a folder of an artifact."""
    given, found, after = context.given, list[Any](), ""
    with context.client() as studio:
        while True:
            page = studio.artifacts.files(
                given.id, given.path, version=given.version, after=after, limit=1_000
            )
            found += page["items"]
            if page["next"] is None:
                break
            after = page["next"]
    disks.told_files(context, found)


def diff(context: Context) -> None:
    """Say how two versions differ: of a folder by path, of a file by line."""
    given = context.given
    with context.client() as studio:
        is_file = studio.artifacts.show(given.id, limit=1)["artifact"]["kind"] == "file"
        if given.path or is_file:
            disks.told_lines(
                context, studio.artifacts.text_diff(given.id, given.before, given.after, given.path)
            )
        else:
            disks.told_diff(context, studio.artifacts.diff(given.id, given.before, given.after))


def link(context: Context) -> None:
    """Make a link, list the newest, or revoke one."""
    given = context.given
    with context.client() as studio:
        if given.revoke:
            studio.artifacts.revoke_link(given.id, given.revoke)
            context.terminal.say("The link works no more.")
        elif given.list:
            _links(context, studio.artifacts.links(given.id)["items"])
        else:
            made = studio.artifacts.make_link(
                given.id, version=given.version, minutes=given.minutes
            )
            url = f"{context.settings.url}{made['path']}"
            if context.as_json:
                context.terminal.json({**made, "url": url})
            else:
                context.terminal.say(f"{url}\nIt works until {made['expires']}.")


def _links(context: Context, items: Any) -> None:
    if context.as_json:
        context.terminal.json(items)
        return
    context.terminal.table(
        ("LINK", "VERSION", "STATE", "BY", "UNTIL", "USED", "LAST"),
        [
            (one["id"], one["version"], one["state"], one["by"], one["expires"], one["uses"],
             one["last"] or "-")
            for one in items
        ],
        none="There are no links to it.",
    )  # fmt: skip


def _saved(context: Context, done: Any) -> None:
    if context.as_json:
        context.terminal.json(done)
    else:
        context.terminal.say(
            f"{done['artifact_id']} has it as version {done['version']}: {done['files']:,} files, "
            f"{done['size']:,} bytes."
        )


PATH = argument("path", nargs="?", default="", metavar="PATH", help="in it")
NAME = argument("--name", help="what it is called; without it as what it is kept from")

COMMANDS: tuple[Command, ...] = (
    Command(
        group="artifacts", name="save-folder", says="keep an archive's contents as a folder",
        example="studio artifacts save-folder ses_01… site.tar.gz --name site", run=save,
        arguments=(
            SESSION, argument("archive", metavar="FILE", help="tar.gz, tar.zst, zip…"), NAME,
            argument("--artifact", metavar="ARTIFACT", help="the folder that gets a version"),
        ),
    ),
    Command(
        group="artifacts", name="keep", says="keep a folder of a kept disk",
        example="studio artifacts keep team/desk 4 site --session ses_01…", run=keep,
        arguments=(
            ENVIRONMENT,
            argument("number", type=int, metavar="N", help="number of the disk's version"), PATH,
            argument("--session", required=True, help="the session that gets it"), NAME,
        ),
    ),
    Command(
        group="artifacts", name="files", says="list a folder of an artifact",
        example="studio artifacts files art_01… css --version 2", run=files,
        arguments=(ID, PATH, VERSION),
    ),
    Command(
        group="artifacts", name="diff", says="say how two versions differ",
        example="studio artifacts diff art_01… 1 2 css/a.css", run=diff,
        arguments=(
            ID, argument("before", type=int, metavar="BEFORE", help="the earlier version"),
            argument("after", type=int, metavar="AFTER", help="the later version"), PATH,
        ),
    ),
    Command(
        group="artifacts", name="link", says="make a link for minutes, list them, revoke one",
        example="studio artifacts link art_01… --minutes 5", run=link,
        arguments=(
            ID, VERSION,
            argument("--minutes", type=int, default=15, help="how long it works, 1 to 15"),
            argument("--list", action="store_true", help="list the newest"),
            argument("--revoke", metavar="LINK", help="the id of one that is to work no more"),
        ),
    ),
)  # fmt: skip
