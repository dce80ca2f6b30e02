"""The platform's own tools: ask a person, wait, save an artifact and read one. Specs and parsing.

They are never sent anywhere. For the first two the worker opens a wait, and the answer is their
result; the others it carries out itself, in the store. All count as tools that only read: they
change nothing outside the studio.
"""

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from studio.core import schemas
from studio.core.rules import files, ids
from studio.core.rules.errors import Invalid
from studio.core.rules.events import Origin
from studio.core.tools import strict
from studio.core.tools.tool import Kit, Result, Tool, ToolError, ToolSpec

ASK_PERSON, WAIT_UNTIL = "ask_person", "wait_until"
SAVE_ARTIFACT, READ_ARTIFACT = "save_artifact", "read_artifact"
STANDING = frozenset({ASK_PERSON, WAIT_UNTIL})
KEEPING = frozenset({SAVE_ARTIFACT, READ_ARTIFACT})
LONGEST_WAIT_SECONDS = 30 * 86_400
SAVE_SECONDS = 120.0  # a large folder is read whole
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

_SAVE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": files.NAME_CHARACTERS,
            "description": "File name, with folders if need be: reports/week-32.md. A name that "
            "you used before in this session makes a new version",
        },
        "text": {"type": "string", "description": "The content, when it is text"},
        "base64": {"type": "string", "description": "The content, when it is not text"},
        "folder": {
            "type": "string",
            "minLength": 1,
            "description": "A folder on the disk of the environment, to be kept whole, with all "
            "that lies in it",
        },
        "media": {"type": "string", "description": "Media type; without it the name tells"},
    },
    "required": ["name"],
    "oneOf": [{"required": ["text"]}, {"required": ["base64"]}, {"required": ["folder"]}],
    "additionalProperties": False,
}
_READ_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "minLength": 1, "description": "The artifact: art_…"},
        "version": {"type": "integer", "minimum": 1, "description": "Without it the newest"},
        "path": {
            "type": "string",
            "description": "Of an artifact that is a folder: what to read in it; a file is read, "
            "of a folder the names are listed. Without it, the names at its top",
        },
        "offset": {
            "type": "integer",
            "minimum": 0,
            "description": "Bytes from the beginning, or names that were listed before",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": files.PAGE_BYTES,
            "description": "Bytes to read, 32 KiB at most",
        },
    },
    "required": ["id"],
    "additionalProperties": False,
}


@dataclass(frozen=True, kw_only=True)
class Saving:
    """What an agent saves: the bytes of a file, or a `folder` of the disk by its path."""

    name: str
    data: bytes
    media: str
    folder: str = ""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A part of an artifact that an agent reads."""

    id: str
    version: int | None
    offset: int
    limit: int
    path: str = ""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a person is asked, the JSON Schema of the answer, and how long it stays open."""

    prompt: str
    schema: Mapping[str, Any]
    expires_seconds: int | None = None


@dataclass(kw_only=True)
class PlatformTool:
    """A tool that the worker answers; calling it is a mistake of ours."""

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


def saving_of(arguments: Any) -> Saving:
    """The file or folder in the arguments of save_artifact."""
    _check(_SAVE_SCHEMA, arguments)
    try:
        name = files.checked_name(arguments["name"])
    except Invalid as wrong:
        raise _bad(f"name: {wrong.fields['name']}") from None
    if "folder" in arguments:
        return Saving(name=name, data=b"", media="", folder=arguments["folder"])
    if "text" in arguments:
        data = arguments["text"].encode("utf-8", "replace")
    else:
        try:
            data = base64.b64decode(arguments["base64"], validate=True)
        except ValueError:
            raise _bad("base64: this is not base64") from None
    return Saving(name=name, data=data, media=arguments.get("media", ""))


def reading_of(arguments: Any) -> Reading:
    """What the arguments of read_artifact ask for."""
    _check(_READ_SCHEMA, arguments)
    return Reading(
        id=arguments["id"], version=arguments.get("version"), offset=arguments.get("offset", 0),
        limit=arguments.get("limit", files.PAGE_BYTES), path=arguments.get("path", ""),
    )  # fmt: skip


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


def _tool(
    name: str, description: str, schema: Mapping[str, Any], timeout: float = 30.0
) -> PlatformTool:
    definition = {"kind": "platform", "name": name, "description": description, "schema": schema}
    return PlatformTool(
        spec=ToolSpec(
            name=name, description=description, schema=schema, origin=Origin(kind="platform"),
            hash=ids.digest(definition), destination="the studio", read_only=True,
            timeout=timeout,
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
        _tool(
            SAVE_ARTIFACT,
            "Keep a file, or a folder of the disk, with this session, for the people who read it "
            "and for later turns.",
            _SAVE_SCHEMA,
            timeout=SAVE_SECONDS,
        ),
        _tool(
            READ_ARTIFACT,
            "Read a file of this session: text in pages of 32 KiB; images and PDF are shown to you "
            "when you can read them. Of a folder, its names or one of its files.",
            _READ_SCHEMA,
        ),
    )
}
