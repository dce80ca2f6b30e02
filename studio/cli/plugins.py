"""Plugins from the command line: put a folder or an archive there, look, remove."""

from pathlib import Path
from typing import Any

from api_client import Client
from api_client.errors import NotFound
from api_client.shapes import PluginPlan
from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.core.packages import archive, folder, package
from studio.core.rules.errors import Invalid, Refused


def add(context: Context) -> None:
    """Install a plugin from a folder or a zip archive."""
    _put(context, update=False)


def update(context: Context) -> None:
    """Put another version in the place of the one that is installed."""
    _put(context, update=True)


def index(context: Context) -> None:
    """List plugins."""
    with context.client() as studio:
        items = studio.plugins.list()["items"]
    if context.as_json:
        context.terminal.json(items)
        return
    context.terminal.table(
        ("NAME", "VERSION", "FROM", "SERVERS", "SKILLS", "AGENTS", "CALLS", "FAILED", "HELD"),
        [
            (p["name"], p["version"] or "-", p["source"], ", ".join(p["servers"]) or "-",
             ", ".join(p["skills"]) or "-", ", ".join(p["agents"]) or "-", p["counts"]["calls"],
             p["counts"]["failed"], p["counts"]["held"])
            for p in items
        ],
        none="No plugins. Install one with `studio plugins add <folder or zip>`.",
    )  # fmt: skip
    for plugin in items:
        if plugin["problem"]:
            context.terminal.warn(f"{plugin['name']} in {plugin['where']}: {plugin['problem']}")


def show(context: Context) -> None:
    """Show one plugin."""
    with context.client() as studio:
        found = studio.plugins.show(context.given.name)
    if context.as_json:
        context.terminal.json(found)
        return
    plugin, say = found["plugin"], context.terminal.say
    say(f"{plugin['name']} {plugin['version']}: {plugin['description']}")
    say(f"{plugin['source']} {plugin['where'] or 'revision ' + str(plugin['revision'])}".strip())
    for server in found["servers"]:
        say(f"server {server['name']}: {server['target']}")
        if server["tools"]:
            say(f"  tools: {', '.join(server['tools'])}")
    for skill in found["skills"]:
        say(f"skill {skill['name']}: {skill['description']}")
    say(f"used by: {', '.join(plugin['agents']) or 'no agent'}")
    for one in found["history"]:
        gone = ", removed" if one["removed"] else ""
        say(f"revision {one['revision']}: {one['version']}, {one['time']} by {one['by']}{gone}")
        for change in one["changes"]:
            say(f"  {change['words']}")


def remove(context: Context) -> None:
    """Remove a plugin."""
    with context.client() as studio:
        studio.plugins.remove(context.given.name)
    if context.as_json:
        context.terminal.json({"removed": context.given.name})
    else:
        context.terminal.say(f"{context.given.name} is removed.")


def _put(context: Context, *, update: bool) -> None:
    name, data = _packed(Path(context.given.path))
    with context.client() as studio:
        if update != _is_installed(studio, name):
            raise _other_verb(name, update=update)
        plan = studio.plugins.put(name, data, dry_run=True)
        asks = update and plan["creates"] and not (context.given.yes or context.given.dry_run)
        if asks and not _agreed(context, plan):
            raise Refused(
                "Nothing was changed. Add --yes to confirm what was shown.", code="plan.unconfirmed"
            )
        if plan["creates"] and not context.given.dry_run:
            plan = studio.plugins.put(name, data, revision=plan["current"])
    if context.as_json:
        context.terminal.json(plan)
    elif not asks:
        _show(context, plan)
    else:
        context.terminal.say(f"{name} is at version {plan['version']} now.")


def _is_installed(studio: Client, name: str) -> bool:
    try:
        found = studio.plugins.show(name)
    except NotFound:
        return False
    return found["plugin"]["source"] == "installed" and not found["removed"]


def _other_verb(name: str, *, update: bool) -> Refused:
    if update:
        words = f"{name} is not installed. Use `studio plugins add`."
    else:
        words = f"{name} is installed already. Use `studio plugins update`."
    return Refused(words, code="plugin.other_verb")


def _agreed(context: Context, plan: PluginPlan) -> bool:
    if context.as_json:
        return False
    _show(context, plan)
    if not context.terminal.can_ask:
        return False
    return context.terminal.ask("Put it there? [y/N] ").strip().lower() in {"y", "yes"}


def _show(context: Context, plan: PluginPlan) -> None:
    outcome = "is there" if plan["saved"] else "would be put there"
    if not plan["creates"]:
        outcome = "is there already, unchanged"
    context.terminal.say(f"{plan['name']} {plan['version']} {outcome}.")
    for change in plan["changes"]:
        context.terminal.say(f"  {change['kind']}: {change['words']}")
    for warning in plan["warnings"]:
        context.terminal.warn(warning)


def _packed(path: Path) -> tuple[str, bytes]:
    """The plugin's name and its archive; what is wrong is told before anything is sent."""
    if path.is_dir():
        files = folder.read(path)
        data = folder.packed(files)
    elif path.is_file():
        data = path.read_bytes()
        files = archive.read(data)
    else:
        raise Invalid(f"{path} is neither a folder nor a file.", code="plugin.no_file")
    found: Any = package.plugin(files, what=str(path))
    return str(found.name), data


PATH = argument("path", metavar="PATH", help="a folder with plugin.json, or a zip archive of one")
NAME = argument("name", metavar="NAME", help="the plugin's name")
DRY_RUN = argument("--dry-run", action="store_true", help="only say what would change")
YES = argument("--yes", action="store_true", help="confirm what changes without being asked")
COMMANDS: tuple[Command, ...] = (
    Command(
        group="plugins", name="add", says="install a plugin from a folder or a zip archive",
        example="studio plugins add ./release-kit", run=add, arguments=(PATH, DRY_RUN, YES),
    ),
    Command(
        group="plugins", name="update", says="put another version in its place, once confirmed",
        example="studio plugins update release-kit-1.3.0.zip", run=update,
        arguments=(PATH, DRY_RUN, YES),
    ),
    Command(
        group="plugins", name="list", says="list plugins", example="studio plugins list",
        run=index,
    ),
    Command(
        group="plugins", name="show", says="show what a plugin brings, and its history",
        example="studio plugins show release-kit", run=show, arguments=(NAME,),
    ),
    Command(
        group="plugins", name="remove", says="remove a plugin that no agent uses",
        example="studio plugins remove release-kit", run=remove, arguments=(NAME,),
    ),
)  # fmt: skip
