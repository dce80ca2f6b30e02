"""The digest of a call covers everything that would run: change one thing and it is another."""

from typing import Any

import pytest

from studio.core.rules import contents, digests
from studio.core.rules import events as e

CALL: dict[str, Any] = {
    "effect_id": "eff_1", "tool": "notify", "tool_hash": "t" * 64,
    "origin": e.Origin(kind="mcp", server="ledger", plugin="kit", plugin_version="1.0"),
    "destination": "https://example.test/", "arguments": contents.of({"to": "all"}),
    "agent": "helper", "agent_version": 3,
}  # fmt: skip
OTHERWISE: dict[str, Any] = {
    "effect_id": "eff_2", "tool": "publish", "tool_hash": "u" * 64,
    "destination": "https://example.test/x", "arguments": contents.of({"to": "nobody"}),
    "agent": "other", "agent_version": 4,
}  # fmt: skip
ORIGINS: dict[str, Any] = {
    "kind": "http", "server": "other", "plugin": None, "plugin_version": "1.1",
}  # fmt: skip


def test_digest_is_64_hex_characters_and_always_the_same() -> None:
    digest = digests.of_call(**CALL)

    assert digest == digests.of_call(**CALL)
    assert len(digest) == 64


@pytest.mark.parametrize("what", OTHERWISE)
def test_digest_covers(what: str) -> None:
    assert digests.of_call(**CALL | {what: OTHERWISE[what]}) != digests.of_call(**CALL)


@pytest.mark.parametrize("what", ORIGINS)
def test_digest_covers_the_origin(what: str) -> None:
    given = {"kind": "mcp", "server": "ledger", "plugin": "kit", "plugin_version": "1.0"}
    origin = e.Origin(**given | {what: ORIGINS[what]})

    assert digests.of_call(**CALL | {"origin": origin}) != digests.of_call(**CALL)


def test_digest_is_the_same_when_the_arguments_are_kept_apart() -> None:
    arguments = contents.of({"text": "x" * contents.INLINE_BYTES})

    whole = digests.of_call(**CALL | {"arguments": arguments})

    assert whole == digests.of_call(**CALL | {"arguments": contents.shorten(arguments)})
