"""The studio itself: serve, work, up, migrate, doctor, login, version."""

import gc
import logging
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from studio import __version__
from studio.cli.command import Argument, Command, argument
from studio.cli.context import Context
from studio.core import serving
from studio.settings import Settings

QUIET = (
    "httpx",
    "httpcore",
    "httpx2",
    "httpcore2",
    "mcp",
    "openai",
    "uvicorn.error",
    "alembic",
    "sse_starlette",
)


def serve(context: Context) -> None:
    """Answer people and programs; another process moves the sessions."""
    _tell_sqlite(context, "moves its sessions")
    _run(context, web=True, work=False, demo=False)


def work(context: Context) -> None:
    """Move sessions; another process answers."""
    _tell_sqlite(context, "answers people")
    _run(context, web=False, work=True, demo=False)


def up(context: Context) -> None:
    """Everything in one process."""
    _run(context, web=True, work=True, demo=_settings(context).demo != "off")


def migrate(context: Context) -> None:
    """Bring the database up to date."""
    settings = context.settings
    from studio import app

    revision = app.migrate(settings)
    if context.as_json:
        context.terminal.json({"revision": revision})
    else:
        context.terminal.say(f"The database is at schema {revision}.")


def doctor(context: Context) -> int:
    """Look at everything the studio stands on."""
    settings = context.settings
    from studio import doctor as examination

    checks = examination.examine(settings)
    if context.as_json:
        context.terminal.json([asdict(check) for check in checks])
    else:
        rows = [("ok" if check.ok else "fault", check.name, check.words) for check in checks]
        context.terminal.table(("", "WHAT", "FOUND"), rows, none="Nothing to look at.")
    return 0 if all(check.ok for check in checks) else 1


def login(context: Context) -> None:
    """Print a single-use link to sign in."""
    settings, given = context.settings, context.given
    from studio import app

    running = None if context.environ.get("STUDIO_URL") else serving.found(settings.data)
    if running is not None:
        settings = replace(settings, url=running.url)
    elif not context.environ.get("STUDIO_URL"):
        context.terminal.warn(
            f"No studio that runs now has the data folder {settings.data}, so where it will be is "
            f"not known: the link leads to {settings.url}. Start it, or set STUDIO_URL."
        )
    url = app.login(settings, given.person, given.role)
    if context.as_json:
        context.terminal.json({"url": url, "person": given.person, "role": given.role})
    else:
        context.terminal.note("This link signs you in once, within two minutes:")
        context.terminal.say(url)


def version(context: Context) -> None:
    """Print the version."""
    if context.as_json:
        context.terminal.json({"version": __version__})
    else:
        context.terminal.say(f"studio {__version__}")


def _run(context: Context, *, web: bool, work: bool, demo: bool) -> None:
    settings = _settings(context)
    gc.disable()  # until `warming.settle`: what is loaded now stays
    from studio import app

    _log(settings.log)

    def ready(url: str, link: str) -> None:
        if context.as_json:
            context.terminal.line({"url": url, "sign_in": link})
        else:
            context.terminal.say(f"Operator Studio is at {url}")
            context.terminal.say(f"Sign in (once, within two minutes): {link}")
            context.terminal.say(f"Another link: {called()} login. Stop: Ctrl-C.")

    app.serve(settings, web=web, work=work, demo=demo, ready=ready)


def called() -> str:
    """How a person calls this command again: by its path where `studio` alone is not found."""
    name = Path(sys.argv[0])
    return str(name) if name.name == "studio" and not shutil.which("studio") else "studio"


def _tell_sqlite(context: Context, what: str) -> None:
    """One process alone may open a SQLite file, so the other half will not come."""
    if context.settings.database_url.startswith("sqlite"):
        words = f"With SQLite no other process {what}; `studio up` does both."
        context.terminal.warn(words)


def _settings(context: Context) -> Settings:
    """The settings, with what the command line says instead."""
    given: dict[str, Any] = {
        "STUDIO_HOST": getattr(context.given, "host", None),
        "STUDIO_PORT": getattr(context.given, "port", None),
    }
    said = {name: value for name, value in given.items() if value is not None}
    if not said:
        return context.settings
    return Settings.from_env({**context.environ, **said})


def _log(level: str) -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))


LISTEN: tuple[Argument, ...] = (
    argument("--host", help="the address to listen on, instead of STUDIO_HOST"),
    argument("--port", help="the port to listen on, instead of STUDIO_PORT; 0 is any free one"),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        name="up", says="start everything in one process, and print the link to sign in",
        example="studio up --port 8400", run=up, arguments=LISTEN,
    ),
    Command(
        name="serve", says="answer people and programs; `studio work` elsewhere moves the sessions",
        example="STUDIO_DATABASE_URL=postgresql://db/studio studio serve", run=serve,
        arguments=LISTEN,
    ),
    Command(
        name="work", says="move sessions; `studio serve` elsewhere answers",
        example="STUDIO_DATABASE_URL=postgresql://db/studio studio work", run=work,
    ),
    Command(
        name="migrate", says="bring the database up to date; starting does so too",
        example="studio migrate", run=migrate,
    ),
    Command(
        name="doctor", says="look at everything the studio stands on, and say what is wrong",
        example="studio doctor", run=doctor,
    ),
    Command(
        name="login", says="print a link that signs one person in, once, within two minutes",
        example="studio login --person ann --role operator", run=login,
        arguments=(
            argument("--person", default="operator", help="who signs in (default: operator)"),
            argument(
                "--role", choices=("viewer", "operator", "admin"), default="admin",
                help="what they may do (default: admin)",
            ),
        ),
    ),
    Command(name="version", says="print the version", example="studio version", run=version),
)  # fmt: skip
