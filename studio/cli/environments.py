"""Environments from the command line: listed, made, forked, deleted; their secrets."""

from collections.abc import Sequence
from typing import Any

from api_client import Client
from api_client.shapes import ForkPlan
from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.cli.secrets import value_given
from studio.core.rules.errors import Invalid


def index(context: Context) -> None:
    """List environments."""
    given = context.given
    with context.client() as studio:
        items = list(studio.environments.list(labels=_labels(given.label), state=given.state))
    if context.as_json:
        context.terminal.json(items)
        return
    context.terminal.table(
        ("NAME", "KIND", "STATE", "MANIFEST", "LABELS", "SESSIONS", "DISK", "SECRETS", "USED"),
        [
            (e["name"], e["kind"], e["state"], _manifest(e["manifest"], e["manifest_version"]),
             ",".join(f"{k}={v}" for k, v in e["labels"].items()) or "-", e["sessions"],
             f"v{e['version']}" if e["version"] else "-", e["secrets"], e["last_used"])
            for e in items
        ],
        none="No environments. Make one with `studio environments make NAME MANIFEST`.",
    )  # fmt: skip


def show(context: Context) -> None:
    """Show one environment."""
    with context.client() as studio:
        detail = studio.environments.show(id_of(studio, context.given.environment))
        slots = studio.environments.secrets(detail["environment"]["id"])["items"]
        versions = list(studio.environments.versions(detail["environment"]["id"]))
    if context.as_json:
        context.terminal.json({**detail, "secrets": slots, "disk_versions": versions})
        return
    row, say = detail["environment"], context.terminal.say
    say(f"{row['name']} ({row['id']}) is {row['state']}, of kind {row['kind']}.")
    say(f"Made from {_manifest(row['manifest'], row['manifest_version'])} by {row['by']}.")
    if turn := row["turn"]:
        say(f"Turn {turn['number']} of {turn['session_id'] or 'a private session'} is "
            f"{turn['status']}.")  # fmt: skip
    context.terminal.table(
        ("SECRET", "TYPE", "FOR", "VALUE"),
        [(s["name"], s["type"], s["binding"], _set(s)) for s in slots], none="No secrets declared.",
    )  # fmt: skip
    context.terminal.table(
        ("DISK VERSION", "FILES", "BYTES", "REASON", "NOTE", "KEPT"),
        [(v["version"], v["files"], v["bytes"], v["reason"], v["note"] or "-", v["time"])
         for v in versions],
        none="No disk version was kept yet.",
    )  # fmt: skip


def make(context: Context) -> None:
    """Make an environment from a saved manifest, or find it again."""
    given = context.given
    with context.client() as studio:
        done = studio.environments.make(
            given.name, given.manifest, labels=_labels(given.label), owner=given.owner
        )
    if context.as_json:
        context.terminal.json(done)
        return
    word = "made" if done["made"] else "there already, with the same values"
    context.terminal.say(f"{done['name']} ({done['id']}) is {word}.")
    for warning in done["warnings"]:
        context.terminal.warn(warning)


def fork(context: Context) -> None:
    """Fork an environment, or say what that would do."""
    given = context.given
    with context.client() as studio:
        plan = studio.environments.fork(
            id_of(studio, given.environment), given.name, manifest=given.manifest,
            version=given.version, secrets=given.secret, labels=_labels(given.label),
            wider=given.wider or None, dry_run=given.dry_run,
        )  # fmt: skip
    if context.as_json:
        context.terminal.json(plan)
    else:
        _show_fork(context, plan)


def start(context: Context) -> None:
    """Set an environment up and start it, before a turn needs it."""
    given = context.given
    with context.client() as studio:
        done = studio.disks.start(id_of(studio, given.environment))
    if context.as_json:
        context.terminal.json(done)
    else:
        context.terminal.say(f"{given.environment} is set up and running.")


def delete(context: Context) -> None:
    """Delete an environment with its disk and secrets."""
    with context.client() as studio:
        studio.environments.delete(id_of(studio, context.given.environment))
    if context.as_json:
        context.terminal.json({"deleted": context.given.environment})
    else:
        context.terminal.say(f"{context.given.environment} is deleted.")


def secret(context: Context) -> None:
    """Set, remove or list secrets of an environment."""
    given = context.given
    if given.action != "list" and not given.name:
        raise Invalid(f"Which secret? Try: studio environments secret {given.action} "
                      f"{given.environment} NAME", code="secret.name")  # fmt: skip
    value = value_given(given.name) if given.action == "set" else ""
    done: Any
    with context.client() as studio:
        id = id_of(studio, given.environment)
        if given.action == "set":
            done = studio.environments.set_secret(id, given.name, value)
            words = f"{given.name} is set, version {done['version']}."
        elif given.action == "remove":
            studio.environments.remove_secret(id, given.name)
            done, words = {"removed": given.name}, f"{given.name} is removed."
        else:
            done = studio.environments.secrets(id)["items"]
            words = "\n".join(f"{s['name']}: {_set(s)}" for s in done) or "No secrets declared."
    if context.as_json:
        context.terminal.json(done)
    else:
        context.terminal.say(words)


def id_of(studio: Client, word: str) -> str:
    """The id of an environment; a name with . or / in it cannot stand in a path."""
    if word.startswith("env_") or not set("./") & set(word):
        return word
    for row in studio.environments.list(name=word):
        if row["name"] == word:
            return row["id"]
    raise Invalid(f"There is no environment {word}.", code="environment.not_found")


def _labels(given: Sequence[str] | None) -> dict[str, str] | None:
    if given is None:
        return None
    pairs = [one.partition("=") for one in given]
    if any(not equals for _, equals, _ in pairs):
        raise Invalid("Write a label as key=value.", code="environment.labels")
    return {key: value for key, _, value in pairs}


def _manifest(name: str | None, version: int | None) -> str:
    return f"{name}@{version}" if name else "an inline definition"


def _set(slot: Any) -> str:
    if slot["version"]:
        return f"set by {slot['by']}" + (f" ({slot['problem']})" if slot["problem"] else "")
    return "MISSING" if slot["required"] else "not set"


def _show_fork(context: Context, plan: ForkPlan) -> None:
    say = context.terminal.say
    disk = f"version {plan['version']}" if plan["version"] else "an empty disk"
    verb = "is" if plan["id"] else "would be"
    say(f"{plan['name']} {verb} made from {plan['source_name']}, with {disk}.")
    for word, names in (("Copied", plan["copied"]), ("Left behind", plan["left"]),
                        ("Missing", plan["missing"]), ("Changed", plan["changes"])):  # fmt: skip
        if names:
            say(f"{word}: {', '.join(names)}.")
    for name, places in plan["widened"].items():
        context.terminal.warn(f"{name} could now reach {', '.join(places)}.")


ENVIRONMENT = argument("environment", metavar="ENVIRONMENT", help="its name or id")
LABEL = argument("--label", action="append", metavar="KEY=VALUE", help="may be given again")

COMMANDS: tuple[Command, ...] = (
    Command(
        group="environments", name="list", says="list environments, by labels",
        example="studio environments list --label team=web", run=index,
        arguments=(
            LABEL,
            argument("--state", choices=("made", "running", "stopped", "lost", "deleted"),
                     help="only those in this state"),
        ),
    ),
    Command(
        group="environments", name="show", says="show an environment, its secrets and disk",
        example="studio environments show team/desk", run=show, arguments=(ENVIRONMENT,),
    ),
    Command(
        group="environments", name="make", says="make an environment, or find it again",
        example="studio environments make team/desk python@2 --label team=web", run=make,
        arguments=(
            argument("name", metavar="NAME", help="letters, digits, . _ - and /"),
            argument("manifest", metavar="MANIFEST", help="name, or name@version"),
            LABEL,
            argument("--owner", metavar="PERSON", help="whose alone it is"),
        ),
    ),
    Command(
        group="environments", name="fork", says="make an environment from another",
        example="studio environments fork team/desk try --version 3 --secret CRM_TOKEN", run=fork,
        arguments=(
            ENVIRONMENT,
            argument("name", metavar="NAME", help="of the new environment"),
            argument("--manifest", metavar="MANIFEST", help="name or name@version; else the same"),
            argument("--version", type=int, metavar="N", help="of its disk; 0 is an empty one"),
            argument("--secret", action="append", metavar="NAME", help="to copy; may be repeated"),
            LABEL,
            argument("--wider", action="store_true", help="secrets may reach more than before"),
            argument("--dry-run", action="store_true", help="only say what it would be"),
        ),
    ),
    Command(
        group="environments", name="start", says="set an environment up and start it",
        example="studio environments start team/desk", run=start, arguments=(ENVIRONMENT,),
    ),
    Command(
        group="environments", name="delete", says="delete an environment with disk and secrets",
        example="studio environments delete team/desk", run=delete, arguments=(ENVIRONMENT,),
    ),
    Command(
        group="environments", name="secret", says="set, remove or list secrets of an environment",
        example="studio environments secret set team/desk CRM_TOKEN < token.txt", run=secret,
        arguments=(
            argument("action", choices=("set", "remove", "list"), help="what to do"),
            ENVIRONMENT,
            argument("name", nargs="?", metavar="NAME", help="of the slot"),
        ),
    ),
)  # fmt: skip
