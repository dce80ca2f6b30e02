"""What the six tools say of themselves to a model, in one environment."""

from studio.core.rules import ids
from studio.core.rules.environments.tools import (
    LONGEST_COMMAND_SECONDS,
    READ_ONLY,
    SCHEMAS,
    SHELL,
    WORDS,
)
from studio.core.rules.events import Origin
from studio.core.tools.tool import ToolSpec

MARGIN_SECONDS = 20.0  # to start a sandbox, and to end what would not


def spec(name: str, *, place: str, identity: str, secrets: tuple[str, ...] = ()) -> ToolSpec:
    """The spec of one of the tools in one environment.

    `place` is the environment in words, `identity` changes when it is another one or its disk was
    put back: then the tool is another tool, and a decision on an earlier call runs nothing.
    """
    definition = {
        "kind": "sandbox", "name": name, "description": WORDS[name], "schema": SCHEMAS[name],
        "environment": identity,
    }  # fmt: skip
    reads = name in READ_ONLY
    longest = LONGEST_COMMAND_SECONDS + MARGIN_SECONDS if name == SHELL else 60.0
    return ToolSpec(
        name=name, description=WORDS[name], schema=SCHEMAS[name], origin=Origin(kind="sandbox"),
        hash=ids.digest(definition), destination=place, read_only=reads, repeatable=reads,
        parallel=reads, on_uncertain="tell", timeout=longest, waits=True,
        secrets=secrets,
    )  # fmt: skip
