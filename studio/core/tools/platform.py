"""The platform's own tools: ask a person, wait. Specs and parsing only.

They are never sent anywhere: the worker opens a wait for them, and the answer is their result.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from studio.core import schemas
from studio.core.rules import ids
from studio.core.rules.events import Origin
from studio.core.tools import strict
from studio.core.tools.tool import Kit, Result, Tool, ToolError, ToolSpec

ASK_PERSON, WAIT_UNTIL = "ask_person", "wait_until"
LONGEST_WAIT_SECONDS = 30 * 86_400
ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
}

_ASK_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "minLength": 1, "description": "The question, in words"},
        "schema": {"type": "object", "description": "JSON Schema of the answer"},
        "expires_seconds": {
            "type": "integer",
            "minimum": 1,
            "maximum": LONGEST_WAIT_SECONDS,
            "description": "How long the question stays open",
        },
    },
    "required": ["prompt"],
    "additionalProperties": False,
}
_WAIT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "seconds": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_SECONDS},
        "at": {"type": "string", "description": "ISO 8601 with its zone: 2030-01-31T09:00:00Z"},
    },
    "oneOf": [{"required": ["seconds"]}, {"required": ["at"]}],
    "additionalProperties": False,
}


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a person is asked, the JSON Schema of the answer, and how long it stays open."""

    prompt: str
    schema: Mapping[str, Any]
    expires_seconds: int | None = None


@dataclass(kw_only=True)
class PlatformTool:
    """A tool that the worker answers by a wait; calling it is a mistake of ours."""

    spec: ToolSpec

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Refuse: nothing is ever sent."""
        raise ToolError(
            "tool.not_sendable", f"{self.spec.name} is answered by the studio.", settled=True
        )


def question_of(arguments: Any) -> Question:
    """The question in the arguments of ask_person; ToolError says what is wrong with them."""
    _check(_ASK_SCHEMA, arguments)
    schema = arguments.get("schema", ANSWER_SCHEMA)
    if wrong := schemas.problem(schema):
        raise _bad(f"schema: it {wrong}")
    return Question(
        prompt=arguments["prompt"], schema=schema, expires_seconds=arguments.get("expires_seconds")
    )


def due_of(arguments: Any, now_ms: int) -> int:
    """When the wait of wait_until is over (ms); a time that has passed is now."""
    _check(_WAIT_SCHEMA, arguments)
    if "seconds" in arguments:
        due = now_ms + math.ceil(float(arguments["seconds"]) * 1000)
    else:
        due = max(_milliseconds(arguments["at"]), now_ms)
    if due - now_ms > LONGEST_WAIT_SECONDS * 1000:
        raise _bad("at: a wait lasts 30 days at most")
    return due


def _milliseconds(text: str) -> int:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise _bad("at: this is not a time; write it as 2030-01-31T09:00:00Z") from None
    if time.tzinfo is None:
        raise _bad("at: the zone is missing; write it as 2030-01-31T09:00:00Z")
    return math.ceil(time.timestamp() * 1000)


def _check(schema: Mapping[str, Any], arguments: Any) -> None:
    try:
        strict.check(arguments)
    except strict.NotJson as odd:
        raise _bad(str(odd)) from None
    if wrong := schemas.errors(schema, arguments):
        raise _bad(
            "; ".join(f"{path}: {words}" if path else words for path, words in wrong.items())
        )


def _bad(words: str) -> ToolError:
    return ToolError("tool.bad_arguments", words, settled=True)


def _tool(name: str, description: str, schema: Mapping[str, Any]) -> PlatformTool:
    definition = {"kind": "platform", "name": name, "description": description, "schema": schema}
    return PlatformTool(
        spec=ToolSpec(
            name=name, description=description, schema=schema, origin=Origin(kind="platform"),
            hash=ids.digest(definition), destination="the studio", read_only=True,
        )
    )  # fmt: skip


TOOLS: Mapping[str, Tool] = {
    tool.spec.name: tool
    for tool in (
        _tool(
            ASK_PERSON,
            "Ask the person who is answerable for this session, and wait for the answer.",
            _ASK_SCHEMA,
        ),
        _tool(
            WAIT_UNTIL,
            "Wait a number of seconds, or until a time; 30 days at most.",
            _WAIT_SCHEMA,
        ),
    )
}
