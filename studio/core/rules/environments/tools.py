"""What an agent can do in an environment: six tools, their schemas and their words for a model."""

from collections.abc import Mapping
from typing import Any

SHELL, READ, WRITE, EDIT, GLOB, GREP = "shell", "read", "write", "edit", "glob", "grep"
NAMES = (SHELL, READ, WRITE, EDIT, GLOB, GREP)
LONGEST_COMMAND_SECONDS = 600

_PATH = {
    "type": "string",
    "minLength": 1,
    "maxLength": 4_096,
    "description": "Below /work, or relative to it",
}


def _object(required: list[str], **properties: Any) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    SHELL: _object(
        ["command"],
        command={
            "type": "string",
            "minLength": 1,
            "maxLength": 100_000,
            "description": "A line or a script for bash",
        },
        cwd={**_PATH, "description": "Folder to run it in; /work if left out"},
        seconds={
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": LONGEST_COMMAND_SECONDS,
            "description": "After this long it is ended; 30 if left out",
        },
        secrets={
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 64},
            "maxItems": 20,
            "uniqueItems": True,
            "description": "Names of the environment's secrets that this command needs. Those of "
            "the type variable are in its environment, those of the type file in /run/secrets",
        },
    ),
    READ: _object(
        ["path"],
        path=_PATH,
        offset={"type": "integer", "minimum": 1, "description": "First line, from 1"},
        limit={
            "type": "integer",
            "minimum": 1,
            "maximum": 200,
            "description": "Lines, 200 at most",
        },
    ),
    WRITE: _object(
        ["path", "text"],
        path=_PATH,
        text={"type": "string", "maxLength": 4_000_000, "description": "The whole new content"},
    ),
    EDIT: _object(
        ["path", "old", "new"],
        path=_PATH,
        old={
            "type": "string",
            "minLength": 1,
            "maxLength": 1_000_000,
            "description": "Text that stands in the file exactly once",
        },
        new={"type": "string", "maxLength": 1_000_000, "description": "What stands there instead"},
        every={"type": "boolean", "description": "Replace each occurrence, however many"},
    ),
    GLOB: _object(
        ["pattern"],
        pattern={
            "type": "string",
            "minLength": 1,
            "maxLength": 4_096,
            "description": "Such as src/**/*.py; ** crosses folders",
        },
    ),
    GREP: _object(
        ["pattern"],
        pattern={
            "type": "string",
            "minLength": 1,
            "maxLength": 1_000,
            "description": "A regular expression",
        },
        within={
            "type": "string",
            "minLength": 1,
            "maxLength": 4_096,
            "description": "Files to look into, such as **/*.py; all if left out",
        },
    ),
}
WORDS: Mapping[str, str] = {
    SHELL: "Run a command in the environment's sandbox and get its exit code and the end of what "
    "it wrote. Each command is a fresh process tree that starts in /work; nothing of it runs on "
    "afterwards. The network is closed but for the hosts on the environment's allow-list.",
    READ: "Read a file of the environment: text by lines, images and PDF as you can see them.",
    WRITE: "Write a file of the environment whole. One that is there must have been read first, "
    "and not have changed since.",
    EDIT: "Replace a text in a file of the environment, which must have been read first.",
    GLOB: "Find files of the environment by a pattern of their paths.",
    GREP: "Find lines in the environment's text files by a regular expression.",
}
READ_ONLY = frozenset({READ, GLOB, GREP})
