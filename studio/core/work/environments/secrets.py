"""The secrets of an environment, opened for the one command or call that they are bound to."""

import json
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from studio.core.rules.environments.environment import Environment
from studio.core.rules.environments.slots import Slot
from studio.core.tools.disk.desk import Opened
from studio.core.tools.tool import ToolError

FOR_COMMANDS = ("variable", "file")


def for_command(
    environment: Environment, values: Mapping[str, str], names: Iterable[str]
) -> Opened:
    """What a command asked for by name; ToolError when it may not have one, or it is not set."""
    variables, files = dict[str, str](), dict[str, bytes]()
    slots = {slot.name: slot for slot in environment.slots if slot.type in FOR_COMMANDS}
    for name in names:
        slot = slots.get(name)
        if slot is None:
            offered = ", ".join(slots) or "none"
            raise _not_there(f"There is no secret {name} for commands here; there is: {offered}.")
        value = values.get(name)
        if value is None:
            raise _not_there(f"The secret {name} is not set. Ask an admin to set it.")
        if slot.type == "variable":
            variables[slot.binding] = value
        else:
            files[slot.binding] = value.encode("utf-8")
    return Opened(variables=variables, files=files)


def for_url(environment: Environment, url: str) -> Slot | None:
    """The slot whose binding this address lies below, by the longest one; `url` may be a template.

    Only what stands before the first place of a template counts.
    """
    fixed, place, _ = url.partition("{")
    found = [slot for slot in environment.slots if slot.type in ("bearer", "headers")]
    below = [slot for slot in found if _is_below(fixed, slot.binding, is_whole=not place)]
    return max(below, key=lambda slot: len(slot.binding), default=None)


def headers(slot: Slot, value: str) -> dict[str, str]:
    """The headers that a slot's value becomes (RFC 6750 for a bearer token)."""
    if slot.type == "bearer":
        return {"authorization": f"Bearer {value}"}
    return {name.lower(): text for name, text in json.loads(value).items()}


def _is_below(url: str, binding: str, *, is_whole: bool) -> bool:
    asked, bound = urlsplit(url), urlsplit(binding)
    if (asked.scheme, asked.netloc.lower()) != (bound.scheme, bound.netloc.lower()):
        return False
    path = bound.path.rstrip("/")
    if asked.path.startswith(f"{path}/"):
        return True
    return asked.path == path and (is_whole or bool(asked.query))


def _not_there(words: str) -> ToolError:
    return ToolError("secret.missing", words, settled=True)
