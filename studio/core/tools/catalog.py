"""The tools an agent is offered: described HTTP calls, MCP servers, plugins, the platform's own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studio.core.tools import platform
from studio.core.tools.plugins import Plugins
from studio.core.tools.tool import Offered


class LiveCatalog:
    """Finds the tools of a manifest and keeps the connections they need."""

    def __init__(
        self, plugins: Plugins, settings: Mapping[str, str], allow: frozenset[str], data: Path
    ) -> None:
        self._plugins, self._settings, self._allow, self._data = plugins, settings, allow, data

    async def offered(self, manifest: Mapping[str, Any]) -> Offered:
        """The tools of this manifest now; what is missing is a Gap, never an exception."""
        return Offered(tools=dict(platform.TOOLS))

    async def close(self) -> None:
        """End every server and connection it started."""
