"""Saved views of lists from the command line."""

from studio.cli.command import Command, argument
from studio.cli.context import Context


def index(context: Context) -> None:
    """List saved views."""
    with context.client() as studio:
        found = studio.views.list(context.given.list or "")
    items, left_out = found["items"], found["left_out"]
    if context.as_json:
        context.terminal.json(items)
        return
    context.terminal.table(
        ("ID", "LIST", "NAME", "FILTERS", "SEEN BY", "OWNER"),
        [
            (one["id"], one["list"], one["name"], one["query"],
             "everybody" if one["shared"] else "you alone", one["owner"])
            for one in items
        ],
        none="No saved views.",
    )  # fmt: skip
    if left_out:
        context.terminal.note(f"{left_out:,} more shared views are left out; yours are all here.")


def save(context: Context) -> None:
    """Keep filters under a name."""
    given = context.given
    with context.client() as studio:
        saved = studio.views.save(given.list, given.name, given.query, shared=given.share)
    if context.as_json:
        context.terminal.json(saved)
    else:
        context.terminal.say(saved["id"])


def remove(context: Context) -> None:
    """Delete a view."""
    with context.client() as studio:
        studio.views.remove(context.given.id)
    if context.as_json:
        context.terminal.json({"removed": context.given.id})
    else:
        context.terminal.say(f"{context.given.id} is deleted.")


LISTS = ("traces", "sessions")
COMMANDS: tuple[Command, ...] = (
    Command(
        group="views", name="list", says="list saved views: yours, and those that are shared",
        example="studio views list --list traces", run=index,
        arguments=(argument("--list", choices=LISTS, help="only of this list"),),
    ),
    Command(
        group="views", name="save", says="keep filters of a list under a name",
        example='studio views save traces "Slow turns" "seconds=60&status=failed" --share',
        run=save,
        arguments=(
            argument("list", choices=LISTS, help="the list"),
            argument("name", metavar="NAME", help="what it is called"),
            argument("query", metavar="FILTERS", help="as the list's URL has them"),
            argument("--share", action="store_true", help="everybody sees it"),
        ),
    ),
    Command(
        group="views", name="remove", says="delete a saved view",
        example="studio views remove viw_01…", run=remove,
        arguments=(argument("id", metavar="VIEW", help="the view's id, viw_…"),),
    ),
)  # fmt: skip
