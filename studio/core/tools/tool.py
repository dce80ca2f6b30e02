"""What a tool declares, what it is handed, and what it gives back.

Tools know nothing of the store. They are called only by the worker, after intent was recorded.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from studio.core.rules.events import Origin
from studio.core.rules.skills import Brief


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool as an agent is offered it.

    `schema` is JSON Schema of the arguments; `output_schema`, when declared, of the result.
    `read_only` and `repeatable` are the tool's own claims (for MCP: `readOnlyHint`,
    `idempotentHint`). `hash` is SHA-256 of the definition, so a changed tool is another tool.
    `destination` is where the call goes, in words a person can check (method and URL template,
    command line of the server). `on_uncertain` says who is asked when the outcome is unknown.
    A call may take `timeout` seconds; of a tool that `waits` they begin when it says so
    (`Kit.begins`). `secrets` names those of the studio that go out with a call, or that its server
    was started with, `lent` those of the session's environment.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    origin: Origin
    hash: str
    destination: str = ""
    output_schema: Mapping[str, Any] | None = None
    read_only: bool = False
    repeatable: bool = False
    parallel: bool = True
    terminal: bool = False
    on_uncertain: Literal["ask", "tell"] = "ask"
    timeout: float = 30.0
    waits: bool = False
    secrets: tuple[str, ...] = ()
    lent: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Kit:
    """All a tool is handed beside its arguments.

    `key` is the idempotency key (64 hex), `deadline` a monotonic time in seconds, `progress` takes
    (done, total or None, words) and may be called at any time. `held` says that the call waited for
    a person since the tool was shown, perhaps for long. `headers` (lower case) go along with an
    HTTP request: secrets of the session's environment. `begins` is called by a tool that waits for
    its turn, when that has come: the seconds of the call count from then.
    """

    key: str
    deadline: float
    session_id: str
    effect_id: str
    traceparent: str | None = None
    tracestate: str | None = None
    progress: Callable[[float, float | None, str], None] = field(default=lambda a, b, c: None)
    held: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    begins: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True, kw_only=True)
class ResultFile:
    """Bytes in what a tool gave back: they become an artifact of the session.

    The value refers to the n-th of them (from 1) as `rules.files.artifact_of_call` names it.
    """

    data: bytes = field(repr=False)
    media: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a tool gave back: a JSON `value`, or raw `text` when it is not JSON, and files.

    `masked` counts the secrets that were taken out of it already.
    """

    value: Any = None
    text: str | None = None
    media: str = "application/json"
    files: tuple[ResultFile, ...] = ()
    masked: int = 0


class ToolError(Exception):
    """The call did not do what was asked.

    `maybe_ran` says that nobody knows whether it happened: the connection broke after the send, or
    time ran out. `settled` says that the tool is sure that nothing happened.
    """

    def __init__(
        self, code: str, message: str, *, maybe_ran: bool = False, settled: bool = False,
        result: Any = None, masked: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code, self.message, self.masked = code, message, masked
        self.maybe_ran, self.settled, self.result = maybe_ran, settled, result


class Tool(Protocol):
    """Something that can be called. It is cancelled by cancelling the task that runs `call`."""

    spec: ToolSpec

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Do it once; raise ToolError."""
        ...


@runtime_checkable
class Bound(Protocol):
    """A tool whose calls come from different places: the arguments say from which."""

    def bound(self, arguments: Any) -> ToolSpec:
        """The spec of a call with these arguments: its origin, hash and destination."""
        ...


def spec_for(tool: Tool, arguments: Any) -> ToolSpec:
    """The spec of a call of this tool with these arguments."""
    bound = getattr(tool, "bound", None)  # asked for every call: a protocol is slow to look at
    return tool.spec if bound is None else bound(arguments)


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A server, tool or skill that could not be offered now, and why, in words.

    One that was only `renamed` is offered under another name. One that is `needed` (by a skill)
    lets a turn fail before it asks the model for the first time.
    """

    source: str
    message: str
    kind: Literal["missing", "renamed", "needed"] = "missing"


@dataclass(frozen=True, kw_only=True)
class ServerSeen:
    """How an MCP server was found just now.

    `age` is how many seconds ago its tools were listed, `latency` how many ms that took; `said` is
    what it last wrote beside the protocol.
    """

    id: str
    name: str
    transport: str
    destination: str
    plugin: str | None = None
    plugin_version: str | None = None
    is_up: bool = False
    error: str = ""
    said: str = ""
    latency: int | None = None
    age: float | None = None
    tools: tuple[str, ...] = ()


class Staged(Protocol):
    """The files of a skill, to be put on a disk."""

    @property
    def label(self) -> str:
        """`name@hash`."""
        ...

    def listed(self) -> Iterable[tuple[str, str]]:
        """(path, SHA-256 in hex) of each file."""
        ...

    def read(self, path: str) -> bytes:
        """The bytes of a file, which are those of its hash."""
        ...


@dataclass(frozen=True, kw_only=True)
class Offered:
    """The tools an agent version is offered at this moment, by name, and what is missing.

    `skills` are those that can be loaded, as the model is told of them; `packages` are their files.
    """

    tools: Mapping[str, Tool]
    gaps: tuple[Gap, ...] = ()
    skills: tuple[Brief, ...] = ()
    servers: tuple[ServerSeen, ...] = ()
    packages: tuple[Staged, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Lent:
    """Headers (lower case) of a secret of an environment, for servers below its address.

    `identity` is that of all that the environment lends.
    """

    name: str
    environment_id: str
    identity: str
    headers: Mapping[str, str] = field(repr=False)


class Lends(Protocol):
    """What the environment of a session lends to servers over HTTP.

    `identity` is another one whenever a value is another one; it tells nothing of them.
    """

    @property
    def environment_id(self) -> str:
        """Whose secrets they are."""
        ...

    @property
    def identity(self) -> str:
        """Which secrets, in which versions."""
        ...

    def of(self, url: str) -> Lent | None:
        """What goes along to this address."""
        ...


class Catalog(Protocol):
    """Finds the tools of an agent manifest; keeps MCP connections; lives in the worker."""

    async def prepare(self) -> None:
        """Look at what is there before anybody asks, so that pages can tell of it."""
        ...

    async def offered(self, manifest: Mapping[str, Any], lends: Lends | None = None) -> Offered:
        """The tools of this manifest now. Never raises for a broken server: that is a Gap.

        Servers that `lends` has something for are connected to for that environment alone.
        """
        ...

    async def tidy(self) -> None:
        """Let go of what nobody has used for long."""
        ...

    async def close(self) -> None:
        """End every server and connection it started."""
        ...
