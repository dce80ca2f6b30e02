"""MCP servers: a person has a worker look what one would bring. Nothing is kept of it but facts."""

from typing import Any

from studio.core.rules import access, servers
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid
from studio.core.verbs.probes import ProbeVerbs

KIND = "server"


class ServerVerbs(ProbeVerbs):
    """What one may do about servers."""

    async def preview_server(self, person: Person, entry: Any, *, confirm: bool) -> str:
        """Have a worker start or reach a server and list its tools; the id of the look.

        A command is started on the worker's machine, so it must be confirmed.
        """
        access.needs(person, "admin", "look what a server would bring")
        found = servers.described(entry)
        destination = servers.destination(found)
        if found.get("transport") == "stdio" and not confirm:
            raise Invalid(
                f"This starts a program on the worker's machine: {destination}. Confirm it.",
                fields={"confirm": "must be confirmed: a program is started."},
                code="server.not_confirmed",
            )
        return await self.ask_probe(person, KIND, destination[:500], dict(found))
