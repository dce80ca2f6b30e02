"""What is sent to a model, bound by one digest: the same when it is previewed and when it is sent.

It covers the model's configuration (names of secrets, never values), the kind and the address of
the provider that it names, the instructions, the whole talk, every tool with its definition, and
the form of the answer.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from studio.core.rules import ids


def digest(
    *, model: Mapping[str, Any], resolved: Mapping[str, Any], instructions: str, talk: str,
    tools: Iterable[tuple[str, str]], output_schema: Mapping[str, Any] | None,
) -> str:  # fmt: skip
    """SHA-256 (64 hex characters). `talk` is its digest; `tools` are (name, definition's hash).

    `model` is as it is written; of what its provider makes of it, `resolved`, no key is looked at.
    """
    return ids.digest(
        {
            "model": model,
            "place": [resolved.get("provider") or "", resolved.get("base_url") or ""],
            "instructions": instructions,
            "talk": talk,
            "tools": [list(tool) for tool in tools],
            "output_schema": output_schema,
        }
    )
