"""A command as a value, and the parser made from all of them."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from studio.cli.context import Context

ABOUT = """Operator Studio: watch AI agents, and decide what they may do.

`studio up` starts everything on this machine and prints the link to sign in.
The other commands ask a running studio: this machine's, or the one that STUDIO_URL
and STUDIO_API_KEY name."""


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One argument: its flags (or its name), and what argparse needs to know of it."""

    flags: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


def argument(*flags: str, **options: Any) -> Argument:
    """An argument, in argparse's words."""
    return Argument(flags=flags, options=options)


def how_many(text: str) -> int:
    """The value of `--limit`."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, not {text!r}")
    return int(text)


def limit() -> Argument:
    """How much of a list is shown."""
    return argument("--limit", type=how_many, default=50, help="at most so many (default: 50)")


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command: `group` is empty for those of one word."""

    group: str = ""
    name: str
    says: str
    example: str
    run: Callable[[Context], int | None]
    arguments: Sequence[Argument] = ()


GROUPS = {
    "agents": "save and list agents",
    "sessions": "start, read and steer sessions",
    "artifacts": "list files of sessions, and take them away",
    "approvals": "see what waits for a person, and decide",
    "keys": "make and revoke application keys",
    "traces": "see how spans are exported, and send past ones once more",
    "servers": "see how MCP servers are, and what one would bring",
    "plugins": "install, update, read and remove plugins",
    "models": "save providers of models, and try them",
    "environments": "save manifests; make, fork and delete environments",
    "disks": "keep, list, compare, restore and take away versions of disks",
    "outside": "read traces of agents that run elsewhere",
    "views": "save, list and delete filters of lists under a name",
    "secrets": "set and remove what tools and models are given in secret",
}


def parser_of(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = _parser("studio", ABOUT)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    groups: dict[str, Any] = {}
    for command in commands:
        if not command.group:
            _add(subparsers, command)
        else:
            if command.group not in groups:
                says = GROUPS[command.group]
                group = subparsers.add_parser(command.group, help=says, description=_sentence(says))
                groups[command.group] = group.add_subparsers(
                    title="commands", metavar="COMMAND", required=True
                )
            _add(groups[command.group], command)
    return parser


def _add(subparsers: Any, command: Command) -> None:
    parser = subparsers.add_parser(
        command.name, help=command.says, description=_sentence(command.says),
        epilog=f"example:\n  {command.example}",
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    for one in command.arguments:
        parser.add_argument(*one.flags, **one.options)
    parser.add_argument(
        "--json", action="store_true", help="write JSON for programs instead of text for people"
    )
    parser.set_defaults(run=command.run)


def _parser(name: str, about: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog=name, description=about, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
