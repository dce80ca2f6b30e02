"""Parts with the real interface for tests: tools that record, a catalog of them, a told clock."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from studio.core.clock import Clock
from studio.core.rules import ids
from studio.core.rules.events import Origin
from studio.core.tools import platform
from studio.core.tools.tool import Gap, Kit, Lends, Offered, Result, Tool, ToolSpec

OPEN: Mapping[str, Any] = {"type": "object"}
Act = Callable[[Any, Kit], Awaitable[Any]]


@dataclass
class RecordingTool:
    """A tool that writes down every call and answers what it is told to.

    `act` may wait, raise ToolError, or give the value of the result.
    """

    spec: ToolSpec
    act: Act | None = None
    calls: list[tuple[Any, str]] = field(default_factory=list)

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Record the call, then answer."""
        self.calls.append((arguments, kit.key))
        value = {"ok": True} if self.act is None else await self.act(arguments, kit)
        return value if isinstance(value, Result) else Result(value=value)


def tool(
    name: str, act: Act | None = None, *, schema: Mapping[str, Any] = OPEN,
    plugin: str | None = None, **options: Any,
) -> RecordingTool:  # fmt: skip
    """A recording tool named `name`; options are those of ToolSpec."""
    origin = Origin(
        kind="mcp", server="fake", plugin=plugin, plugin_version="1.0.0" if plugin else None
    )
    spec = ToolSpec(
        name=name, description=f"The tool {name}.", schema=schema, origin=origin,
        hash=ids.digest([name, schema]), destination=f"fake {name}", **options,
    )  # fmt: skip
    return RecordingTool(spec=spec, act=act)


class FakeCatalog:
    """Offers the same recording tools to every agent, and the platform's own."""

    def __init__(self, *tools: RecordingTool) -> None:
        self.tools: dict[str, Tool] = {item.spec.name: item for item in tools}
        self.gaps: tuple[Gap, ...] = ()

    async def prepare(self) -> None:
        """Nothing needs it."""

    async def offered(self, manifest: Mapping[str, Any], lends: Lends | None = None) -> Offered:
        """These tools now."""
        return Offered(tools={**platform.TOOLS, **self.tools}, gaps=self.gaps)

    async def tidy(self) -> None:
        """Nothing is kept."""

    async def close(self) -> None:
        """Nothing was opened."""


class ToldClock(Clock):
    """A real clock with an offset that a test moves, in ms."""

    def __init__(self) -> None:
        self.offset = 0

    def now(self) -> int:
        """Milliseconds since 1970, UTC, with the offset."""
        return super().now() + self.offset

    def pass_time(self, milliseconds: int) -> None:
        """Let time pass at once."""
        self.offset += milliseconds


class Gate:
    """What a fake tool waits at until the test opens it; `reached` says that it stands there."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()

    async def __call__(self, arguments: Any, kit: Kit) -> Any:
        """Stand until opened."""
        self.reached.set()
        await self.open.wait()
        return {"passed": True}
