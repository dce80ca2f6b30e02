"""What is sent to a model, bound by one digest: the same when it is previewed and when it is sent.

It covers the model's configuration (names of secrets, never values), the instructions, the whole
talk, every tool with its definition, and the form of the answer.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from studio.core.rules import ids


def digest(
    *, model: Mapping[str, Any], instructions: str, talk: str, tools: Iterable[tuple[str, str]],
    output_schema: Mapping[str, Any] | None,
) -> str:  # fmt: skip
    """SHA-256 (64 hex characters). `talk` is its digest; `tools` are (name, definition's hash)."""
    return ids.digest(
        {
            "model": model,
            "instructions": instructions,
            "talk": talk,
            "tools": [list(tool) for tool in tools],
            "output_schema": output_schema,
        }
    )
