"""Sortable prefixed ids. Ids inside a turn are derived from the turn, so a replay makes the same.

An id is `prefix_` and 26 characters of lower-case Crockford base 32: 10 of milliseconds, 16 of
chance (the layout of the ULID specification). Effects and waits add their place in the turn.
"""

import hashlib
import json
from typing import Any

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [one + two for one in ALPHABET for two in ALPHABET]
_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


def make(prefix: str, milliseconds: int, chance: bytes) -> str:
    """An id from a time (ms, UTC) and 10 random bytes; ids of later times sort later."""
    number = (milliseconds << 80) | int.from_bytes(chance[:10], "big")
    letters = [_PAIRS[(number >> shift) & 1023] for shift in range(120, -10, -10)]
    return f"{prefix}_{''.join(letters)}"


def core(any_id: str) -> str:
    """The part behind the prefix."""
    return any_id.partition("_")[2]


def turn_of(effect_id: str) -> str:
    """The id of the turn that an effect belongs to."""
    return f"trn_{core(effect_id)[:26]}"


def model_effect(turn_id: str, step: int, attempt: int) -> str:
    """The id of the n-th attempt at the model call of a step."""
    return f"eff_{core(turn_id)}s{step:03d}m{attempt:02d}"


def model_effects(turn_id: str, step: int) -> tuple[str, str]:
    """Between these two lie the ids of all attempts of a step, and no other effect's."""
    head = f"eff_{core(turn_id)}s{step:03d}"
    return f"{head}m", f"{head}n"


def summary_effect(turn_id: str, number: int) -> str:
    """The id of the n-th summary that was asked for in a turn."""
    return f"eff_{core(turn_id)}k{number:04d}"


def call_effect(turn_id: str, step: int, index: int) -> str:
    """The id of the n-th call of a step."""
    return f"eff_{core(turn_id)}s{step:03d}c{index:03d}"


def wait(effect_id: str, ordinal: int) -> str:
    """The id of the n-th wait that an effect stood on."""
    return f"wai_{core(effect_id)}w{ordinal}"


def effect_key(turn_id: str, effect_id: str, tool: str, generation: int) -> str:
    """The idempotency key of a call: 64 hex characters, the same on every replay."""
    text = canonical([turn_id, effect_id, tool, generation])
    return hashlib.sha256(text.encode()).hexdigest()


def digest(value: Any) -> str:
    """SHA-256 (64 hex characters) of the canonical JSON of a value."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def canonical(value: Any) -> str:
    """JSON with sorted keys, no spaces, text as it is, and 1.0 written as 1."""
    return _encode(_plain(value))


_LEAVES = frozenset({str, int, bool, type(None)})


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {
            str(key): item if type(item) in _LEAVES else _plain(item) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [item if type(item) in _LEAVES else _plain(item) for item in value]
    return value
