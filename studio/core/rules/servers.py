"""MCP servers as a thing of their own: one description is one server, whoever names it."""

from collections.abc import Mapping
from typing import Any

from studio.core.rules import ids, sources
from studio.core.rules.errors import Invalid
from studio.core.rules.reading import Faults, top

GIVEN = " The reason given: “"  # what the protocol, or whoever answered, gave as one follows
SAID = (" It said: “", " It wrote something that is not MCP: “")  # what a server said follows


def identity(
    entry: Mapping[str, Any], plugin: str | None = None, version: str | None = None
) -> str:
    """The same for the same description from the same plugin; it holds no secret."""
    return ids.digest([dict(entry), plugin, version])[:24]


def destination(entry: Mapping[str, Any]) -> str:
    """Where a server is, in words a person can check."""
    if entry.get("transport", "stdio") == "http":
        return str(entry.get("url", ""))
    command = entry.get("command")
    parts = command if isinstance(command, list) else []
    return " ".join(str(part) for part in parts).replace("${python}", "python")


def unsaid(words: str) -> str:
    """Why a server is down in our own words: what it said itself may be of anybody's session."""
    for mark in (GIVEN, *SAID):
        words = words.partition(mark)[0]
    return words


def described(entry: object) -> Mapping[str, Any]:
    """The description of one server, or Invalid with a sentence for each field."""
    faults = Faults()
    reader = top({"servers": [entry]}, "", faults)
    assert reader is not None, "it is an object"
    found = sources.servers(reader)
    if faults.fields:
        fields = {path.removeprefix("servers[0]").lstrip("."): words
                  for path, words in faults.fields.items()}  # fmt: skip
        raise Invalid(
            "The server's description is not right.", fields=fields, code="server.invalid"
        )
    return found[0]
