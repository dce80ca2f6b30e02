"""The secrets of an environment, opened for the one command or call that they are bound to."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from studio.core.rules import ids
from studio.core.rules.environments.environment import Environment
from studio.core.rules.environments.slots import Slot, origin
from studio.core.tools.disk.desk import Opened
from studio.core.tools.tool import Lent, ToolError

FOR_COMMANDS, FOR_ADDRESSES = ("variable", "file"), ("bearer", "headers")


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
    found = [slot for slot in environment.slots if slot.type in FOR_ADDRESSES]
    below = [slot for slot in found if _is_below(fixed, slot.binding, is_whole=not place)]
    return max(below, key=lambda slot: len(slot.binding), default=None)


@dataclass(frozen=True, kw_only=True)
class Lending:
    """What an environment lends to servers over HTTP (`Lends` of the tools)."""

    environment: Environment
    values: Mapping[str, str] = field(repr=False)
    identity: str

    @property
    def environment_id(self) -> str:
        """Whose secrets they are."""
        return self.environment.id

    def of(self, url: str) -> Lent | None:
        """What goes along to this address."""
        slot = for_url(self.environment, url)
        value = self.values.get(slot.name) if slot is not None else None
        if slot is None or value is None:
            return None
        return Lent(
            name=slot.name, environment_id=self.environment.id, identity=self.identity,
            headers=headers(slot, value),
        )  # fmt: skip


def lends(environment: Environment, values: Mapping[str, str]) -> Lending | None:
    """What this environment lends with these values; None when no slot is bound to an address."""
    bound = [slot for slot in environment.slots if slot.type in FOR_ADDRESSES]
    if not bound:
        return None
    told = [[slot.name, slot.binding, values.get(slot.name)] for slot in bound]
    identity = ids.digest([environment.id, told])
    return Lending(environment=environment, values=values, identity=identity)


def headers(slot: Slot, value: str) -> dict[str, str]:
    """The headers that a slot's value becomes (RFC 6750 for a bearer token)."""
    if slot.type == "bearer":
        return {"authorization": f"Bearer {value}"}
    return {name.lower(): text for name, text in json.loads(value).items()}


def _is_below(url: str, binding: str, *, is_whole: bool) -> bool:
    """Below it in path, at the very same scheme, host and port. A path that climbs is nowhere."""
    try:
        asked, bound = urlsplit(url), urlsplit(binding)
        if (asked.scheme, *origin(url)) != (bound.scheme, *origin(binding)):
            return False
    except ValueError:
        return False
    if "@" in asked.netloc or any(
        part in (".", "..") for part in unquote(asked.path).replace("\\", "/").split("/")
    ):
        return False
    path = bound.path.rstrip("/")
    if asked.path.startswith(f"{path}/"):
        return True
    return asked.path == path and (is_whole or bool(asked.query))


def _not_there(words: str) -> ToolError:
    return ToolError("secret.missing", words, settled=True)
