"""Tries to reach a host that came to nothing: each is a fact, up to a bound for each command.

A loop that asks for a closed host would otherwise fill the journal. What is beyond the bound is
counted, and told as one fact for each host when the command is over.
"""

from collections import OrderedDict
from dataclasses import dataclass, field, replace

from studio.core.rules import events as e

MOST_OF_A_HOST = 100
MOST_OF_A_COMMAND = 1_000  # over all hosts; what is beyond is counted without their names
MOST_COMMANDS = 200
ELSEWHERE = ("", 0)

Key = tuple[str, int]  # host, port


@dataclass(eq=False)
class _Command:
    """What was told of one command, and what was only counted: (the last such try, how many)."""

    listed: dict[Key, int] = field(default_factory=dict)
    counted: dict[Key, tuple[e.EgressTried, int]] = field(default_factory=dict)


class Tries:
    """Counts the tries of one environment's commands."""

    def __init__(self) -> None:
        self._commands: OrderedDict[str, _Command] = OrderedDict()

    def is_listed(self, tried: e.EgressTried, command: str) -> bool:
        """Whether this try is a fact of its own; else it is counted. Those allowed always are."""
        if tried.outcome == "allowed":
            return True
        found = self._commands.setdefault(command, _Command())
        self._commands.move_to_end(command)
        key = (tried.host, tried.port)
        is_room = sum(found.listed.values()) < MOST_OF_A_COMMAND
        if is_room and found.listed.get(key, 0) < MOST_OF_A_HOST:
            found.listed[key] = found.listed.get(key, 0) + 1
            return True
        if key not in found.listed:
            key = ELSEWHERE
        found.counted[key] = (tried, found.counted.get(key, (tried, 0))[1] + 1)
        return False

    def over(self, command: str) -> list[e.EgressTried]:
        """A command ended: a fact for each host whose tries were only counted."""
        found = self._commands.get(command)
        if found is None:
            return []
        told = [_told(key, *counted) for key, counted in found.counted.items()]
        found.counted.clear()
        return told

    def forgotten(self) -> list[e.EgressTried]:
        """What is told of commands so long past that they are forgotten now."""
        told = list[e.EgressTried]()
        while len(self._commands) > MOST_COMMANDS:
            command = next(iter(self._commands))
            told += self.over(command)
            del self._commands[command]
        return told


def _told(key: Key, last: e.EgressTried, count: int) -> e.EgressTried:
    host, port = key
    where = "" if host else " of many other hosts"
    words = (
        f"{last.reason} {count:,} more {'try' if count == 1 else 'tries'}{where} by this command, "
        "counted and not listed one by one."
    )
    return replace(
        last, host=host, port=port, reason=words.strip(), tries=count, up=0, down=0, milliseconds=0
    )
