"""Secrets from the command line, for admins. A value comes from standard input, never in argv."""

import sys

from studio.cli.command import Command, argument
from studio.cli.context import Context
from studio.core.rules.errors import Invalid


def put(context: Context) -> None:
    """Give a secret the value on standard input."""
    value = value_given(context.given.name)
    with context.client() as studio:
        done = studio.secrets.set(context.given.name, value)
    if context.as_json:
        context.terminal.json(done)
    else:
        context.terminal.say(f"{done['name']} is set, version {done['version']}.")


def index(context: Context) -> None:
    """List secrets."""
    with context.client() as studio:
        items = studio.secrets.list()["items"]
    if context.as_json:
        context.terminal.json(items)
    else:
        context.terminal.table(
            ("NAME", "VERSION", "SET", "BY", "USED", "NAMED BY"),
            [
                (s["name"], s["version"] or "not set", s["time"] or "-", s["by"] or "-",
                 f"{s['used']} {s['used_by']}" if s["used"] else "never",
                 ", ".join(s["agents"]) or "-")
                for s in items
            ],
            none="No secrets.",
        )  # fmt: skip
        for secret in items:
            if secret["problem"]:
                context.terminal.warn(f"{secret['name']}: {secret['problem']}")


def remove(context: Context) -> None:
    """Remove a secret."""
    with context.client() as studio:
        found = [s for s in studio.secrets.list()["items"] if s["name"] == context.given.name]
        studio.secrets.remove(context.given.name)
    if context.as_json:
        context.terminal.json({"removed": context.given.name})
        return
    context.terminal.say(f"{context.given.name} is removed.")
    if found and found[0]["agents"]:
        context.terminal.warn(f"Agents still name it: {', '.join(found[0]['agents'])}.")


def rotate(context: Context) -> None:
    """Seal every secret under a new key."""
    with context.client() as studio:
        done = studio.secrets.rotate()
    if context.as_json:
        context.terminal.json(done)
    else:
        context.terminal.say(
            f"A new key seals {done['count']} secrets. Keep a copy of the key file."
        )


def value_given(name: str) -> str:
    """What is typed or piped in, without the line break at its end."""
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"Value of {name} (not shown): ")
    data = sys.stdin.buffer.read(64 * 1024)
    try:
        return data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise Invalid("The value on standard input is not UTF-8.", code="secret.value") from None


COMMANDS: tuple[Command, ...] = (
    Command(
        group="secrets", name="set", says="give a secret the value on standard input",
        example="studio secrets set CRM_TOKEN < token.txt", run=put,
        arguments=(argument("name", metavar="NAME", help="capital letters, digits and _"),),
    ),
    Command(
        group="secrets", name="list", says="list secrets, without their values",
        example="studio secrets list", run=index,
    ),
    Command(
        group="secrets", name="remove", says="remove a secret",
        example="studio secrets remove CRM_TOKEN", run=remove,
        arguments=(argument("name", metavar="NAME", help="the secret's name"),),
    ),
    Command(
        group="secrets", name="rotate", says="seal every secret under a new key",
        example="studio secrets rotate", run=rotate,
    ),
)  # fmt: skip
