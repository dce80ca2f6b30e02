"""What open pages are told of one environment."""

from dataclasses import replace
from typing import Any

from studio.core.reader import Reader
from studio.web.topics import LOOKER, ListTopic


class EnvironmentTopic(ListTopic):
    """One environment: its own facts, and the sessions that work in it."""

    def __init__(self, reader: Reader, environment_id: str) -> None:
        super().__init__(reader, "environment")
        self.environment_id = environment_id

    async def _sign(self) -> Any:
        """What would differ, the last use of each secret too."""
        found = await self.reader.environment(LOOKER, self.environment_id)
        slots = await self.reader.environment_secrets(LOOKER, self.environment_id)
        asked = await self.reader.operations(LOOKER, self.environment_id)
        return replace(found, position=0), slots, asked
