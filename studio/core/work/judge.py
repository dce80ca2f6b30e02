"""What is found out about a proposed call before it is recorded: tool, arguments, policy.

No input or output; asked when a model has replied. What a person edits is judged by the runtime.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from studio.core import schemas
from studio.core.providers.provider import ProposedCall
from studio.core.rules import contents, policy
from studio.core.rules import events as e
from studio.core.rules.replies import Judged
from studio.core.tools.tool import Offered, ToolSpec, spec_for

ARGUMENT_BYTES = 8 * 1024 * 1024
NOWHERE = e.Origin(kind="platform")


def call(
    proposed: ProposedCall, offered: Offered, rules: policy.Policy, agent: str,
    labels: tuple[str, ...] = (),
) -> Judged:  # fmt: skip
    """Judge one proposed call: whether it can run at all, and what the policy says of it.

    `labels` are those of the session's environment, as k=v.
    """
    tool = offered.tools.get(proposed.name)
    arguments = contents.of(proposed.arguments if proposed.broken is None else proposed.broken)
    if tool is None:
        names = ", ".join(sorted(offered.tools)) or "none"
        words = f"There is no tool named {proposed.name}. Offered are: {names}."
        ruling = e.Ruling(verdict="deny", policy_version=rules.version)
        return Judged(
            provider_call_id=proposed.id, tool=proposed.name, origin=NOWHERE, arguments=arguments,
            tool_hash="", destination="", ruling=ruling, problem=("tool.unknown", words),
        )  # fmt: skip
    spec = spec_for(tool, proposed.arguments)
    return Judged(
        provider_call_id=proposed.id, tool=spec.name, origin=spec.origin, arguments=arguments,
        tool_hash=spec.hash, destination=spec.destination,
        ruling=ruling_on(spec.name, spec.origin, proposed.arguments, rules, agent, labels,
                         read_only=spec.read_only),
        repeatable=spec.repeatable or spec.read_only, on_uncertain=spec.on_uncertain,
        terminal=spec.terminal, alone=not spec.parallel,
        problem=_problem(spec, proposed, arguments),
    )  # fmt: skip


def ruling_on(
    tool: str, origin: e.Origin, arguments: Any, rules: policy.Policy, agent: str,
    labels: tuple[str, ...] = (), *, read_only: bool,
) -> e.Ruling:  # fmt: skip
    """What the policy says of a call with these arguments."""
    subject = policy.Subject(
        tool=tool, server=origin.server, plugin=origin.plugin, kind=origin.kind, agent=agent,
        labels=labels, read_only=read_only, arguments=arguments,
    )  # fmt: skip
    return replace(policy.ruling(rules, subject), read_only=read_only)


def output(
    schema: Mapping[str, Any] | None, text: str, *, done: bool
) -> tuple[e.Content | None, str]:
    """The validated output of a final answer, or why it is not one."""
    if schema is None or not done:
        return None, ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return (
            None,
            "The answer should be JSON that fits the agent's output schema; it is not JSON.",
        )
    wrong = schemas.errors(schema, value)
    if wrong:
        listed = "; ".join(f"{path or 'answer'}: {words}" for path, words in wrong.items())
        return None, f"The answer does not fit the agent's output schema. {listed}"
    return contents.of(value), ""


def _problem(
    spec: ToolSpec, proposed: ProposedCall, arguments: e.Content
) -> tuple[str, str] | None:
    if proposed.broken is not None:
        return "arguments.not_json", "The arguments are not JSON. Send one JSON object."
    if arguments.size > ARGUMENT_BYTES:
        words = f"The arguments have {arguments.size:,} bytes; {ARGUMENT_BYTES:,} are allowed."
        return "arguments.too_large", words
    wrong = schemas.errors(spec.schema, proposed.arguments)
    if not wrong:
        return None
    listed = "; ".join(f"{path or 'arguments'}: {words}" for path, words in wrong.items())
    return "arguments.invalid", f"The arguments do not fit the tool's schema. {listed}"
