"""What a secret that is given to commands could reach: all that its environment lets them reach.

A secret bound to an address goes there and nowhere else; one of the types `variable` and `file` is
in the hands of whatever runs. So a fork with a wider definition widens the secret.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from studio.core.rules.environments import slots

ISOLATIONS = ("sandbox", "reduced", "none")  # the strictest first


def widened(
    source: Mapping[str, Any], source_kind: str, target: Mapping[str, Any], target_kind: str,
    copied: Sequence[str],
) -> dict[str, tuple[str, ...]]:  # fmt: skip
    """What each copied secret could newly reach in the target, in words, by name."""
    places = _places(source, target)
    if target_kind == "remote" and (source_kind, source.get("url")) != ("remote", target["url"]):
        places.append(f"the sandbox service {target['url']}")
    if target_kind == "container" and source.get("image") != target["image"]:
        places.append(f"programs of the image {target['image']}")
    if target_kind == "sandbox" and _loose(target) > _loose(source):
        places.append("anything, on a machine that does not keep its network closed")
    declared = {slot.name: slot for slot in slots.of_definition(target)}
    return {
        name: tuple(places) for name in copied
        if places and declared[name].type in ("variable", "file")
    }  # fmt: skip


def _places(source: Mapping[str, Any], target: Mapping[str, Any]) -> list[str]:
    """The places of the target's allow-list that the source's does not let reach."""
    before = [(one["host"], port) for one in _allowed(source) for port in one["ports"]]
    return [
        f"{one['host']}:{port}" for one in _allowed(target) for port in one["ports"]
        if not any(port == known and _covers(host, one["host"]) for host, known in before)
    ]  # fmt: skip


def _allowed(definition: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = definition.get("network", {}).get("allow", ())
    return found


def _covers(known: str, host: str) -> bool:
    """Whatever `host` means, `known` means too. A suffix does not mean the name itself."""
    return known == host or (known.startswith("*.") and host.removeprefix("*").endswith(known[1:]))


def _loose(definition: Mapping[str, Any]) -> int:
    return ISOLATIONS.index(definition.get("isolation", "sandbox"))
