"""What a program may send about exports and saved views: the bodies and the queries."""

from dataclasses import dataclass
from typing import Annotated, Literal

from studio.api.shapes import Short, Text

FileFormat = Annotated[
    Literal["markdown", "jsonl", "otlp"],
    "Markdown to read; every fact as a line of JSON; turns as lines of OTLP's JSON.",
]
Inline = Annotated[bool, "Contents over 32 KiB whole instead of by their hash."]
Day = Annotated[str, Text(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]
Amount = Annotated[str, Text(pattern=r"^([0-9]{1,6}(\.[0-9]{1,6})?)?$")]


@dataclass(frozen=True, kw_only=True)
class ExportQuery:
    """How a session is written."""

    format: FileFormat
    inline: Inline = False


@dataclass(frozen=True, kw_only=True)
class ExportsQuery:
    """How they are written, and which: the filters of the list of sessions, or of that of turns."""

    format: FileFormat
    inline: Inline = False
    of: Literal["sessions", "turns"] = "sessions"
    agent: Short = ""
    status: Literal[
        "", "idle", "queued", "running", "held", "waiting", "completed", "failed", "cancelled"
    ] = ""
    plugin: Short = ""
    q: Annotated[Short, "Of sessions."] = ""
    needs: Annotated[Literal["", "held", "questions", "uncertain", "any"], "Of sessions."] = ""
    environment: Annotated[Short, "Of sessions: the id of the environment."] = ""
    tool: Annotated[Short, "Of turns: a part of a tool's name."] = ""
    error: Annotated[Short, "Of turns: a part of a code, or of the words of an error."] = ""
    seconds: Annotated[Amount, "Of turns: at least so long."] = ""
    under: Annotated[Amount, "Of turns: at most so many seconds."] = ""
    cost: Annotated[Amount, "Of turns: at least so many US dollars."] = ""
    since: Annotated[Day, "Of turns: the first day (UTC), such as 2026-11-01."] = ""
    until: Annotated[Day, "Of turns: the last day, counted in."] = ""


@dataclass(frozen=True, kw_only=True)
class ViewsQuery:
    """Whose list's views."""

    list: Literal["", "traces", "sessions"] = ""


@dataclass(frozen=True, kw_only=True)
class NewView:
    """Filters of a list to keep under a name."""

    list: Literal["traces", "sessions"]
    name: Annotated[str, Text(low=1, high=60)]
    query: Annotated[str, Text(low=1, high=1_000), "Of the list's URL: tool=dig&status=failed."]
    shared: Annotated[bool, "Everybody sees it; for operators."] = False


@dataclass(frozen=True, kw_only=True)
class NewViewChange:
    """What of a view is to be another; what is null stays as it is."""

    name: Annotated[str, Text(low=1, high=60)] | None = None
    query: Annotated[str, Text(low=1, high=1_000)] | None = None
    shared: bool | None = None
