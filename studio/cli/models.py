"""Providers of models from the command line, for admins. A key comes from standard input."""

import sys
import time

from studio.cli.command import Command, argument
from studio.cli.context import Context

PATIENCE = 120.0
OVER = ("answered", "failed", "unknown")


def index(context: Context) -> None:
    """List saved providers."""
    with context.client() as studio:
        found = studio.models.list()
    if context.as_json:
        context.terminal.json(found)
        return
    default = found["default"]
    chosen = f"{default['provider']}/{default['name']}" if default else "none"
    context.terminal.table(
        ("NAME", "KIND", "KEY", "MODELS", "NAMED BY"),
        [
            (p["name"], p["kind"], "sealed" if p["has_key"] else "none", ", ".join(p["models"]),
             ", ".join(p["agents"]) or "-")
            for p in found["items"]
        ],
        none="No providers.",
    )  # fmt: skip
    context.terminal.note(f"Default: {chosen}.")


def add(context: Context) -> None:
    """Save a provider; with --key its key is read from standard input."""
    given = context.given
    key = {"key": sys.stdin.read(64 * 1024).strip()} if given.key else {}
    with context.client() as studio:
        studio.models.save(
            given.name, kind=given.kind, models=given.model, base_url=given.base_url or "", **key
        )
    if context.as_json:
        context.terminal.json({"saved": given.name})
    else:
        context.terminal.say(f"{given.name} is saved. Try it: studio models test {given.name}")


def test(context: Context) -> int:
    """Have a worker ask a model, and wait for what comes of it."""
    until = time.monotonic() + PATIENCE
    with context.client() as studio:
        probe = studio.models.test(context.given.name, context.given.model or "")
        while probe["state"] not in OVER and time.monotonic() < until:
            time.sleep(0.2)
            probe = studio.models.probe(probe["id"])
    if context.as_json:
        context.terminal.json(probe)
    elif probe["state"] == "answered":
        answer = probe["answer"]
        context.terminal.say(answer["text"])
        context.terminal.note(
            f"{answer['model']}: first word after {answer['first_ms']} ms, "
            f"all of it after {answer['total_ms']} ms."
        )
    else:
        context.terminal.fail(probe["message"] or f"The test is {probe['state']}.")
    return 0 if probe["state"] == "answered" else 1


def remove(context: Context) -> None:
    """Remove a provider with its key."""
    with context.client() as studio:
        studio.models.remove(context.given.name)
    if context.as_json:
        context.terminal.json({"removed": context.given.name})
    else:
        context.terminal.say(f"{context.given.name} is removed, with its key.")


COMMANDS: tuple[Command, ...] = (
    Command(
        group="models", name="list", says="list saved providers and the default model",
        example="studio models list", run=index,
    ),
    Command(
        group="models", name="add", says="save a provider, or change one",
        example="studio models add house --kind anthropic --model claude-sonnet-5 --key < key.txt",
        run=add,
        arguments=(
            argument("name", metavar="NAME", help="what agents name it by"),
            argument("--kind", choices=("anthropic", "openai", "google", "chat"), required=True,
                     help="how it is spoken to"),
            argument("--model", action="append", required=True, metavar="MODEL",
                     help="a model that it offers; may be given more than once"),
            argument("--base-url", metavar="URL", help="where it is, when not the provider's own"),
            argument("--key", action="store_true", help="read its key from standard input"),
        ),
    ),
    Command(
        group="models", name="test", says="have a worker ask a model, and wait for its answer",
        example="studio models test house", run=test,
        arguments=(
            argument("name", metavar="NAME", help="the provider"),
            argument("--model", metavar="MODEL", help="one of its models (default: the first)"),
        ),
    ),
    Command(
        group="models", name="remove", says="remove a provider with its key",
        example="studio models remove house", run=remove,
        arguments=(argument("name", metavar="NAME", help="the provider"),),
    ),
)  # fmt: skip
