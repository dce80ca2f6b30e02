"""What is known of a model from its object in a manifest: what it reads, how much, which family.

A model object is `{provider, name, base_url?, key?, timeout?, prices?, reads?, context_window?,
max_output?, effort?, fallbacks?}`. `provider` is one of `PROVIDERS`, or the name of a provider
saved in the studio; what is asked here of such a one is asked of the object it was resolved to.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from studio.core.rules import scripts, sources
from studio.core.rules.reading import Reader

PROVIDERS = ("scripted", "chat", "anthropic", "openai", "google")
READS = ("text", "image", "pdf", "audio")
EFFORTS = ("none", "low", "medium", "high")
PRICES = ("input", "output", "cached", "cache_write")
NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
MOST_FALLBACKS = 8

_EVERYTHING = frozenset(READS)
_TEXT = frozenset({"text"})
_PAGES = frozenset({"text", "image", "pdf"})

# The first pattern that a family begins with counts.
_READS: dict[str, tuple[tuple[str, frozenset[str]], ...]] = {
    "anthropic": ((r"claude-(2|instant|v1)", _TEXT), (r"claude", _PAGES)),
    "openai": (
        (r"o1-(mini|preview)|o3-mini|gpt-3|gpt-4(-\d|-32k|$)|gpt-oss", _TEXT),
        (r"gpt-(4o|4\.|4-turbo|[5-9])|chatgpt|o\d", _PAGES),
    ),
    "google": ((r"gemma", frozenset({"text", "image"})), (r"gemini", _EVERYTHING - {"pdf"})),
}
_WINDOWS: tuple[tuple[str, int], ...] = (
    (r"claude-(opus|sonnet)-4-[6-9]|claude-(opus|sonnet|haiku|fable|mythos)-[5-9]", 1_000_000),
    (r"claude", 200_000),
    (r"gpt-3\.5", 16_385),
    (r"gpt-4o|gpt-4-turbo|chatgpt|gpt-5\.3$|o1-(mini|preview)|gpt-audio", 128_000),
    (r"gpt-4\.1", 1_000_000),
    (r"gpt-4-32k", 32_000),
    (r"gpt-4(-\d|$)", 8_192),
    (r"gpt-5\.([4-9]|\d\d)-(mini|nano)", 400_000),
    (r"gpt-5\.([4-9]|\d\d)|gpt-[6-9]", 1_000_000),
    (r"gpt-5", 400_000),
    (r"gpt-oss", 131_072),
    (r"o[134]", 200_000),
    (r"gemini-1\.0|gemini-pro$", 32_768),
    (r"gemini-[\d.]+-(flash|pro)(-lite)?(-preview)?$", 1_000_000),
)


def reads(model: Mapping[str, Any]) -> frozenset[str]:
    """Which of `text image pdf audio` the model reads: what its object says, else what is known.

    The scripted model reads everything; an endpoint that we do not know reads text alone.
    """
    told = model.get("reads")
    if isinstance(told, list | tuple):
        return frozenset(word for word in told if word in READS) | _TEXT
    kind, name = model.get("provider"), family(model)
    if kind == "scripted":
        return _EVERYTHING
    known = _READS.get(str(kind), ())
    return next((kinds for start, kinds in known if re.match(start, name)), _TEXT)


def window(model: Mapping[str, Any]) -> int | None:
    """The tokens that a talk and its answer may have together, or None when nobody said."""
    told = model.get("context_window")
    if isinstance(told, int) and not isinstance(told, bool) and told > 0:
        return told
    if model.get("provider") not in ("anthropic", "openai", "google"):
        return None
    name = family(model)
    return next((tokens for start, tokens in _WINDOWS if re.match(start, name)), None)


def longest(model: Mapping[str, Any]) -> int | None:
    """The tokens of the model's longest reply, when its object says."""
    told = model.get("max_output")
    return told if isinstance(told, int) and not isinstance(told, bool) else None


_PREFIX = re.compile(r"^(?:models/|[\w.-]+/)+")
_SUFFIX = re.compile(r"(?:[-@](?:\d{4}-\d{2}-\d{2}|20\d{6}|latest))+$")


def family(model: Mapping[str, Any]) -> str:
    """The model's name without its maker's prefix and the date of its version, in small letters."""
    name = model.get("name")
    text = name.strip().lower() if isinstance(name, str) else ""
    return _SUFFIX.sub("", _PREFIX.sub("", text))


# The chain ---------------------------------------------------------------------------------------

# Whose fault it was says what is left to try: with the account or the address wrong, another model
# there fails as well; an answer that was refused is refused, whoever else might give it.
_ACCOUNT = frozenset({
    "model.key", "model.quota", "model.address", "model.certificate", "model.unreachable",
    "model.configuration",
})  # fmt: skip
_FINAL = frozenset({"model.refused", "model.too_large", "model.script", "model.broken"})


def chain(model: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The candidates of a model object: itself, then its fallbacks, each of them once."""
    own = {name: value for name, value in model.items() if name != "fallbacks"}
    others = model.get("fallbacks")
    found: dict[tuple[str, Any], Mapping[str, Any]] = {}
    for item in (own, *(others if isinstance(others, list | tuple) else ())):
        if isinstance(item, Mapping):
            found.setdefault((account(item), item.get("name")), item)
    return tuple(found.values())


def account(model: Mapping[str, Any]) -> str:
    """What tells one account at one provider from another: provider, address, name of the key."""
    return json.dumps([model.get(name) for name in ("provider", "base_url", "key")], sort_keys=True)


def is_of_account(code: str) -> bool:
    """The failure is of the account or the address, not of the model."""
    return code in _ACCOUNT


def successor(
    candidates: Sequence[Mapping[str, Any]], at: int, code: str, closed: Sequence[int]
) -> int | None:
    """Who is asked in place of candidate `at` after a failure with this code, or nobody.

    `closed` are candidates whose account failed: whoever shares one with them is left out.
    """
    if code in _FINAL:
        return None
    shut = {account(candidates[place]) for place in closed if place < len(candidates)}
    after = range(at + 1, len(candidates))
    return next((place for place in after if account(candidates[place]) not in shut), None)


# In a manifest -----------------------------------------------------------------------------------


def check(reader: Reader, *, is_fallback: bool = False, is_kept: bool = False) -> None:
    """Find what is wrong with a model object; the reader keeps it."""
    provider = reader.text("provider", most=63, needed=True)
    chain = () if is_fallback else ("fallbacks",)
    if provider is None:
        return
    elif provider == "scripted":
        reader.known("provider", "name", "script", "reads", "context_window", *chain)
        reader.text("name", most=200)
        scripts.check(reader, is_kept=is_kept)
    elif provider in PROVIDERS:
        reader.known("provider", "name", "base_url", "key", "timeout", *_SHARED, *chain)
        _place(reader, provider)
    elif not NAME.fullmatch(provider):
        reader.fault("provider", f"must be one of {', '.join(PROVIDERS)}, or a saved provider.")
    else:
        reader.known("provider", "name", *_SHARED, *chain)
        reader.text("name", most=200)
    _shared(reader)
    if not is_fallback:
        for other in reader.objects("fallbacks", most=MOST_FALLBACKS):
            check(other, is_fallback=True, is_kept=is_kept)


_SHARED = ("prices", "reads", "context_window", "max_output", "effort")


def _place(reader: Reader, provider: str) -> None:
    """Where it is and what opens it."""
    reader.text("name", most=200, needed=True)
    url = reader.text("base_url", most=2_000, needed=provider == "chat")
    if url and (fault := sources.url_fault(url)):
        reader.fault("base_url", fault)
    if reader.has("key"):
        sources.setting(reader, "key", literal=False)
    elif not reader.has("base_url") and provider != "chat":
        reader.fault("key", 'is needed: {"setting": "NAME"}; or name a saved provider.')
    reader.number("timeout", 1, 3_600)


def _shared(reader: Reader) -> None:
    for word in reader.words("reads", most=len(READS)):
        if word not in READS:
            reader.fault("reads", f"may name: {', '.join(READS)}.")
    reader.whole("context_window", 256, 100_000_000)
    reader.whole("max_output", 1, 10_000_000)
    reader.one_of("effort", EFFORTS)
    if prices := reader.object("prices"):
        prices.known(*PRICES)
        for kind in PRICES:
            prices.number(kind, 0, 100_000)
