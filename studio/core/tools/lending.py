"""Connections that carry a secret of an environment: that environment's alone, and few.

They are known by the keys of the catalog. One is over when its environment lends something else,
when there are too many, or, as all are, when nobody has used it for long.
"""

from collections.abc import Mapping, Sequence

from studio.core.tools.mcp.connection import Connection
from studio.core.tools.tool import Lends, Lent

MOST = 64


class Lending:
    """Which connections carry what of whom."""

    def __init__(self) -> None:
        self._carried: dict[str, Lent] = {}

    def outdated(self, lends: Lends) -> Sequence[str]:
        """Keys of connections that carry what this environment lent before, and lends no more."""
        return self._taken([
            key for key, lent in self._carried.items()
            if lent.environment_id == lends.environment_id and lent.identity != lends.identity
        ])  # fmt: skip

    def add(self, key: str, lent: Lent, there: Mapping[str, Connection]) -> Sequence[str]:
        """Note that one carries this; keys of those that are too many now, the longest unused.

        What is in use stays, so for a moment there may be more.
        """
        self._carried = {one: what for one, what in self._carried.items() if one in there}
        self._carried[key] = lent
        idle = [one for one in self._carried if one != key and not there[one].busy]
        idle.sort(key=lambda one: there[one].used)
        return self._taken(idle[: max(0, len(self._carried) - MOST)])

    def _taken(self, keys: list[str]) -> list[str]:
        for key in keys:
            del self._carried[key]
        return keys
