"""Application keys from the command line, for admins."""

from studio.cli.command import Command, argument
from studio.cli.context import Context


def make(context: Context) -> None:
    """Make a key; it is printed this once."""
    with context.client() as studio:
        made = studio.keys.make(context.given.name, role=context.given.role)
    if context.as_json:
        context.terminal.json(made)
    else:
        context.terminal.note(f"{made['id']}, {made['role']}. The key is shown this once:")
        context.terminal.say(made["key"])


def index(context: Context) -> None:
    """List keys."""
    with context.client() as studio:
        keys = studio.keys.list()["items"]
    if context.as_json:
        context.terminal.json(keys)
    else:
        context.terminal.table(
            ("ID", "ROLE", "MADE", "BY", "USED", "REVOKED", "NAME"),
            [
                (k["id"], k["role"], k["made"], k["by"], k["used"] or "never",
                 k["revoked"] or "-", k["name"])
                for k in keys
            ],
            none="No application keys.",
        )  # fmt: skip


def revoke(context: Context) -> None:
    """Revoke a key."""
    with context.client() as studio:
        studio.keys.revoke(context.given.id)
    if context.as_json:
        context.terminal.json({"revoked": context.given.id})
    else:
        context.terminal.say(f"Revoked {context.given.id}. It opens nothing from now on.")


COMMANDS: tuple[Command, ...] = (
    Command(
        group="keys", name="make", says="make an application key; it is printed this once",
        example="studio keys make deploy-bot --role operator", run=make,
        arguments=(
            argument("name", metavar="NAME", help="what it is for"),
            argument("--role", choices=("sender", "viewer", "operator", "admin"),
                     default="operator",
                     help="what it may do (default: operator)"),
        ),
    ),
    Command(
        group="keys", name="list", says="list application keys", example="studio keys list",
        run=index,
    ),
    Command(
        group="keys", name="revoke", says="revoke an application key",
        example="studio keys revoke key_01…", run=revoke,
        arguments=(argument("id", metavar="KEY", help="the key's id"),),
    ),
)  # fmt: skip
