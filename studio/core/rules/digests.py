"""What an approval is bound to: one digest over everything that would run.

The same function is used when a call is proposed, shown, decided and sent; four equal values or
no send. It covers the effect, tool and its definition, destination, arguments and agent version.
"""

from studio.core.rules import ids
from studio.core.rules.events import Content, Origin


def of_call(
    *, effect_id: str, tool: str, tool_hash: str, origin: Origin, destination: str,
    arguments: Content, agent: str, agent_version: int,
) -> str:  # fmt: skip
    """SHA-256 (64 hex characters) of the call as it would run."""
    return ids.digest(
        {
            "effect": effect_id,
            "tool": tool,
            "definition": tool_hash,
            "kind": origin.kind,
            "server": origin.server,
            "plugin": origin.plugin,
            "plugin_version": origin.plugin_version,
            "destination": destination,
            "arguments": arguments.hash,
            "agent": agent,
            "agent_version": agent_version,
        }
    )
