"""What open pages are told of servers, which workers write down without a fact."""

from typing import Any

from studio.web.topics import LOOKER, ListTopic


class ServersTopic(ListTopic):
    """The list of servers, and looks at what one would bring: told when to look again."""

    nap = 2.0  # nothing rings for what is no fact

    async def _sign(self) -> Any:
        """What would differ."""
        rows = await self.reader.servers(LOOKER)
        policy = await self.reader.policy(LOOKER)
        return rows, await self.reader.probe_moves(LOOKER, "server"), policy.version
