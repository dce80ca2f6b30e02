"""What a scripted model is told to do: steps from a manifest's script, or from a message's lines.

A script entry is {"when": regex, "steps": [STEP, …]}; a STEP is {"say", "slow", "calls", "after",
"fail"}. `after` maps what became of the step's calls (denied, uncertain, failed, edited) to the
steps that replace the rest. Nothing here is ever evaluated: placeholders are looked up by name.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from studio.core.providers import arguments
from studio.core.rules.scripts import BRANCHES, FAIL, FAILURES

SEARCHED_CHARACTERS = 10_000


class BadScript(Exception):
    """The script in the manifest does not make sense; the message says where."""


@dataclass(frozen=True, kw_only=True)
class ScriptCall:
    """A call of a step. `broken` is what stood where JSON should have been."""

    tool: str
    arguments: Any = None
    broken: str | None = None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """The model call of this step fails, the first `times` attempts or (None) always."""

    kind: str
    times: int | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """One reply: what is said (at `slow` milliseconds a word), which calls, what follows them."""

    say: str = ""
    slow: int = 0
    calls: tuple[ScriptCall, ...] = ()
    after: Mapping[str, tuple["Step", ...]] = field(default_factory=dict)
    fail: Failure | None = None


@dataclass(frozen=True, kw_only=True)
class Program:
    """The steps of one turn, with what the pattern found in the message."""

    steps: Iterable[Step]
    found: tuple[str, ...] = ()


def choose(script: Sequence[Any], message: str) -> Program | None:
    """The first entry whose pattern is found in the message, else what its lines say, else None."""
    for number, entry in enumerate(script, 1):
        place = f"script entry {number}"
        pattern = _text(entry, "when", place)
        try:
            match = re.search(pattern, message[:SEARCHED_CHARACTERS])
        except re.error as wrong:
            raise BadScript(f"{place}: “{pattern}” is not a pattern: {wrong}") from None
        if match:
            found = (match[0], *(group or "" for group in match.groups()))
            return Program(steps=_steps(entry.get("steps"), place), found=found)
    return directives(message)


def _steps(value: Any, place: str) -> tuple[Step, ...]:
    if not isinstance(value, list):
        raise BadScript(f"{place}: “steps” is a list of steps")
    return tuple(_step(item, f"{place}, step {number}") for number, item in enumerate(value, 1))


def _step(value: Any, place: str) -> Step:
    if not isinstance(value, Mapping):
        raise BadScript(f"{place} is an object")
    unknown = sorted(set(value) - {"say", "slow", "calls", "after", "fail"})
    if unknown:
        raise BadScript(f"{place}: “{unknown[0]}” is not known")
    say = value.get("say", "")
    return Step(
        say=say if isinstance(say, str) else json.dumps(say, ensure_ascii=False),
        slow=_slow(value.get("slow") or 0, place),
        calls=tuple(_call(item, place) for item in _list(value.get("calls") or [], place)),
        after=_after(value.get("after") or {}, place),
        fail=None if value.get("fail") is None else _failure(value["fail"], place),
    )


def _slow(value: Any, place: str) -> int:
    if not isinstance(value, int):
        raise BadScript(f"{place}: “slow” is a number of milliseconds")
    return value


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadScript(f"{place}: “calls” is a list of calls")
    return value


def _call(value: Any, place: str) -> ScriptCall:
    return ScriptCall(tool=_text(value, "tool", place), arguments=value.get("arguments", {}))


def _after(value: Any, place: str) -> dict[str, tuple[Step, ...]]:
    if not isinstance(value, Mapping) or set(value) - set(BRANCHES):
        raise BadScript(f"{place}: “after” maps {', '.join(BRANCHES)} to steps")
    return {kind: _steps(steps, f"{place}, after {kind}") for kind, steps in value.items()}


def _failure(value: Any, place: str) -> Failure:
    if not isinstance(value, str) or not re.fullmatch(FAIL, value):
        raise BadScript(f"{place}: “fail” is one of {', '.join(FAILURES)}, and a number of times")
    kind, _, times = value.partition(" ")
    return Failure(kind=kind, times=int(times) if times else None)


def _text(value: Any, name: str, place: str) -> str:
    found = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(found, str):
        raise BadScript(f"{place}: “{name}” is a text")
    return found


# Lines of a message ---------------------------------------------------------------------------

_LINE = re.compile(
    r"""^\s*(?:
      (?P<say>say)\s+(?P<said>.+)
    | (?P<slow>slow)\s+(?P<pace>\d{1,6})\s+(?P<drawn>.+)
    | (?:repeat\s+(?P<repeat>\d{1,6})\s+|(?P<loop>loop)\s+)?
      call\s+(?P<tool>[\w./:-]+)\s*(?P<json>.*?)
    | (?P<then>then)
    | ask\s+(?P<ask>.+)
    | wait\s+(?P<wait>\d{1,9}(?:\.\d+)?)
    | fail\s+(?P<fail>rate|refused|context|server|garbage|empty)(?:\s+(?P<times>\d{1,6}))?
    )\s*$""",
    re.VERBOSE,
)


def directives(message: str) -> Program | None:
    """The steps that the lines of a message ask for, or None when no line asks for anything."""
    lines = [found for line in message.splitlines() if (found := _LINE.match(line))]
    if not lines:
        return None
    blocks: list[list[re.Match[str]]] = [[]]
    for line in lines:
        if line["then"]:
            blocks.append([])
        else:
            blocks[-1].append(line)
    return Program(steps=_Blocks(blocks))


class _Blocks:
    """Steps of blocks of lines, made as they are asked for: a loop never ends."""

    def __init__(self, blocks: list[list[re.Match[str]]]) -> None:
        self._blocks = blocks

    def __iter__(self) -> Iterator[Step]:
        return itertools.chain.from_iterable(map(_repeated, self._blocks))


def _repeated(lines: list[re.Match[str]]) -> Iterable[Step]:
    step = Step(
        say="\n".join(
            line["said"] or line["drawn"] for line in lines if line["say"] or line["slow"]
        ),
        slow=max((int(line["pace"]) for line in lines if line["slow"]), default=0),
        calls=tuple(call for line in lines if (call := _line_call(line))),
        fail=next((_line_failure(line) for line in lines if line["fail"]), None),
    )
    if any(line["loop"] for line in lines):
        return itertools.repeat(step)
    else:
        times = max((int(line["repeat"]) for line in lines if line["repeat"]), default=1)
        return itertools.repeat(step, times)


def _line_failure(line: re.Match[str]) -> Failure:
    return Failure(kind=line["fail"], times=int(line["times"]) if line["times"] else None)


def _line_call(line: re.Match[str]) -> ScriptCall | None:
    if line["tool"]:
        value, broken = arguments.parse(line["json"] or "{}")
        return ScriptCall(tool=line["tool"], arguments=value, broken=broken)
    elif line["wait"]:
        return ScriptCall(tool="wait_until", arguments={"seconds": float(line["wait"])})
    elif line["ask"]:
        return ScriptCall(tool="ask_person", arguments=_question(line["ask"]))
    return None


def _question(words: str) -> dict[str, Any]:
    """Words, and the JSON Schema behind them if there is one."""
    for place in (found.start() for found in re.finditer(r"(?<=\s)\{", words)):
        schema, broken = arguments.parse(words[place:])
        if broken is None:
            return {"prompt": words[:place].strip(), "schema": schema}
    return {"prompt": words}
