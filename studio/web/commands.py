"""Calls of an environment's tools as people read them: a command line, a file's text, an exit.

Only what is understood whole is shown so: a call with any argument that has no place here, or of a
shape that the tools do not have, stays a tree of exact values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from studio.core.reader import CallRow
from studio.core.rules.environments import tools
from studio.core.rules.events import Content
from studio.web import arguments
from studio.web.arguments import Chars

MOST = 64 * 1024  # characters of one text
ENDED = "command."
NO_END = ("", True, "no-line-end stands here")
TEXTS = frozenset({"command", "text", "old", "new"})
Types = Mapping[str, type | tuple[type, ...]]
KNOWN: Mapping[str, Types] = {
    tools.SHELL: {"command": str, "cwd": str, "seconds": (int, float), "secrets": list},
    tools.WRITE: {"path": str, "text": str},
    tools.EDIT: {"path": str, "old": str, "new": str, "every": bool},
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """A text of a call: `change` is "" (a command), added or removed; `lines` are its lines."""

    change: str
    lines: tuple[Chars, ...]


@dataclass(frozen=True, kw_only=True)
class Command:
    """A call that is a command, or writes a file. `path` is the file; `facts` are (name, value)."""

    tool: str
    path: Chars
    facts: tuple[tuple[str, Chars], ...]
    parts: tuple[Part, ...]
    first: str


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What came of a command. `ended` is why it was ended, "" when it ended by itself.

    `exit` is None where it had none, `milliseconds` how long it ran.
    """

    exit: int | None
    ended: str
    milliseconds: int
    output: str

    @property
    def went_wrong(self) -> bool:
        """It was ended, or its exit says so."""
        return bool(self.ended) or self.exit != 0


def command(call: CallRow) -> Command | None:
    """The call as a command or a change of a file, when it is one that is understood whole."""
    content = call.arguments
    if call.kind != "sandbox" or content is None or content.stored:
        return None
    return of(call.tool, content.value)


def of(tool: str, value: Any) -> Command | None:
    """The arguments of a tool as a command; None when they say anything else besides."""
    known = KNOWN.get(tool)
    if known is None or not isinstance(value, Mapping) or not _fits(value, known):
        return None
    if any(len(value.get(name, "")) > MOST for name in TEXTS):
        return None
    if tool == tools.SHELL and "command" in value:
        return Command(
            tool=tool, path=(), facts=tuple(_facts(value)), first=value["command"],
            parts=(_part("", value["command"]),),
        )  # fmt: skip
    if tool == tools.WRITE and value.keys() == known.keys():
        return _file(tool, value, _part("added", value["text"]))
    if tool == tools.EDIT and {"path", "old", "new"} <= value.keys():
        return _file(tool, value, _part("removed", value["old"]), _part("added", value["new"]))
    return None


def ran(call: CallRow) -> Ran | None:
    """What came of a command, when it ran and what it wrote is at hand."""
    content: Content | None = call.result
    value = content.value if content is not None and not content.stored else None
    if call.kind != "sandbox" or call.tool != tools.SHELL or not isinstance(value, Mapping):
        return None
    ended = call.code.removeprefix(ENDED) if call.code.startswith(ENDED) else ""
    exit, seconds, output = (value.get(name) for name in ("exit", "seconds", "output"))
    if not isinstance(output, str) or not isinstance(seconds, int | float):
        return None
    return Ran(
        exit=exit if isinstance(exit, int) else None, ended=ended, output=output,
        milliseconds=round(seconds * 1_000),
    )  # fmt: skip


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _fits(value: Mapping[str, Any], known: Types) -> bool:
    return all(
        name in known
        and isinstance(item, known[name])
        and (name == "every" or not isinstance(item, bool))
        and (name != "secrets" or _are_texts(item))
        for name, item in value.items()
    )


def _facts(value: Mapping[str, Any]) -> list[tuple[str, Chars]]:
    """Where it runs, for how long at most, and with which secrets, as far as it says."""
    told: list[tuple[str, str]] = [("in", value.get("cwd", "/work"))]
    if "seconds" in value:
        told.append(("ended after", f"{value['seconds']!r} s"))
    told += [("secret", str(name)) for name in value.get("secrets") or ()]
    return [(name, arguments.chars(text)) for name, text in told]


def _file(tool: str, value: Mapping[str, Any], *parts: Part) -> Command:
    every = [("replaces", arguments.chars("every occurrence"))] if value.get("every") else []
    return Command(
        tool=tool, path=arguments.chars(value["path"]), facts=tuple(every), parts=parts,
        first=value["path"],
    )  # fmt: skip


def _part(change: str, text: str) -> Part:
    """The lines of a text. Of a file's, the last says so when it has no line end."""
    lines = text.split("\n")
    if not change:
        return Part(change=change, lines=tuple(arguments.chars(line) for line in lines))
    last = lines.pop()
    shown = [arguments.chars(line) for line in lines]
    if last:
        shown.append((*arguments.chars(last), NO_END))
    return Part(change=change, lines=tuple(shown))
