"""Artifacts from the command line: list those of a session, look at one, take its bytes away."""

import secrets
from argparse import ArgumentTypeError
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.core.rules import files
from studio.core.rules.errors import Refused


def index(context: Context) -> None:
    """List the artifacts of a session."""
    with context.client() as studio:
        items = list(studio.artifacts.list(context.given.session))
    if context.as_json:
        context.terminal.json(items)
        return
    context.terminal.table(
        ("ID", "NAME", "TYPE", "BYTES", "VERSION", "BY", "SAVED"),
        [
            (one["id"], one["name"], one["media"], f"{one['size']:,}", one["latest"], one["by"],
             one["saved"])
            for one in items
        ],
        none="This session has no artifacts.",
    )  # fmt: skip


def get(context: Context) -> None:
    """Show one artifact with all its versions."""
    with context.client() as studio:
        found = studio.artifacts.show(context.given.id)
        versions, cursor = [*found["versions"]], found["next"]
        while cursor is not None:
            page = studio.artifacts.show(context.given.id, cursor=cursor)
            versions, cursor = [*versions, *page["versions"]], page["next"]
    artifact = found["artifact"]
    if context.as_json:
        context.terminal.json({"artifact": artifact, "versions": versions})
        return
    context.terminal.pairs(
        [
            ("name", artifact["name"]), ("session", artifact["session_id"]),
            ("from", f"{artifact['source']}, {artifact['by']}"), ("sha256", artifact["hash"]),
        ]
    )  # fmt: skip
    context.terminal.table(
        ("VERSION", "TYPE", "BYTES", "BY", "CALL", "TIME"),
        [
            (one["version"], one["media"], f"{one['size']:,}", one["by"], one["effect_id"] or "-",
             one["time"])
            for one in versions
        ],
        none="It has no versions.",
    )  # fmt: skip


def download(context: Context) -> None:
    """Take the bytes of a version away."""
    given = context.given
    asked, number, path = given.id, given.version, unquote_to_bytes(given.path)
    with context.client() as studio:
        artifact = studio.artifacts.show(asked, limit=1)["artifact"]
        name = path.decode("utf-8", "replace") or artifact["name"]
        if artifact["kind"] == "folder" and not path:
            name = f"{name}.{given.form}"
        place = _place(context.given.to, name)
        if place.exists() and not context.given.force:
            raise Refused(
                f"{place} is there already, and nothing was written. Choose another place with "
                "--to, or add --force.",
                code="file.exists",
            )
        size = _write(
            place, studio.artifacts.download(asked, version=number, path=path, form=given.form)
        )
    if context.as_json:
        context.terminal.json({"file": str(place), "bytes": size})
    else:
        context.terminal.say(f"{size:,} bytes in {place}.")


def _place(given: str | None, name: str) -> Path:
    """Where the bytes go: the name comes from elsewhere, so its last part alone is taken."""
    own = files.clean_name(name)
    if given is None:
        return Path(own)
    return Path(given) / own if Path(given).is_dir() else Path(given)


def _write(place: Path, chunks: Iterable[bytes]) -> int:
    """Write beside the place, and put the file there when it is whole; how many bytes it has."""
    draft = place.with_name(f".{place.name[:80]}.{secrets.token_hex(8)}")
    size = 0
    try:
        with draft.open("xb") as file:
            for chunk in chunks:
                size += file.write(chunk)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
    return size


def _version(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise ArgumentTypeError("a version is a whole number from 1")
    return int(text)


SESSION = argument("session", metavar="SESSION", help="the session's id")
ID = argument("id", metavar="ARTIFACT", help="the artifact's id, art_…")
VERSION: Any = argument("--version", type=_version, help="which one; without it the newest")
TO = argument("--to", metavar="PATH", help="a file or folder; without it here, under its own name")
FORCE = argument("--force", action="store_true", help="write over a file that is there")
PATH = argument(
    "path", nargs="?", default="", metavar="FILE",
    help="of a folder one file, percent-encoded where its name is odd",
)  # fmt: skip
FORM = argument("--form", choices=("zip", "tar.zst"), default="zip", help="as what a folder comes")
COMMANDS: tuple[Command, ...] = (
    Command(
        group="artifacts", name="list", says="list the artifacts of a session",
        example="studio artifacts list ses_01…", run=index, arguments=(SESSION,),
    ),
    Command(
        group="artifacts", name="get", says="show an artifact and all its versions",
        example="studio artifacts get art_01…", run=get, arguments=(ID,),
    ),
    Command(
        group="artifacts", name="download", says="take the bytes of a version away",
        example="studio artifacts download art_01… --version 2 --to report.md", run=download,
        arguments=(ID, PATH, VERSION, FORM, TO, FORCE),
    ),
)  # fmt: skip
