"""What the scripted model writes when it shall summarise, and what it reads out of that again.

It needs no more than to know where it stands: how many steps were done since the last message, and
what became of their calls.
"""

import re
from collections.abc import Callable, Sequence

from studio.core.providers.provider import Message, ProviderError
from studio.core.rules import summaries

QUOTED_CHARACTERS = 60
QUOTED_MESSAGES = 5

_PART = re.compile(r"^### (Person|Agent|Summary so far|Result of (?:.*))$", re.MULTILINE)
_STEPS = re.compile(r"^Steps since: (.*)$", re.MULTILINE)
_FAILS = re.compile(r"^\s*fail summary\s*$", re.MULTILINE)
_COVERS = re.compile(re.escape(summaries.COVERS).replace(r"\{\}", r"(\d+)"))

Outcome = Callable[[Message], str]


def summary(record: str, outcome: Outcome) -> str:
    """The summary of a record, the same every time; raises when the record says so."""
    if _FAILS.search(record):
        raise ProviderError("model.server", "The model's server failed (500).", permanent=False)
    said, steps = list[str](), list[list[str]]()
    for who, text in _parts(record):
        if who == "Summary so far":
            steps = _steps(text)
        elif who == "Person":
            said.append(text.splitlines()[0][:QUOTED_CHARACTERS] if text else "")
            steps = []
        elif who == "Agent":
            steps.append([])
        elif steps:
            steps[-1].append(_outcome(text, outcome))
    lines = [f"- {words}" for words in said[-QUOTED_MESSAGES:]]
    done = "; ".join(",".join(step) or "said" for step in steps)
    return "\n".join(
        [f"Of {len(said)} messages:", *lines, *(["", f"Steps since: {done}"] if done else [])]
    )


def before(messages: Sequence[Message]) -> list[set[str]]:
    """What became of the steps of the turn in hand that a summary covers."""
    first = messages[0].text if messages and messages[0].role == "user" else ""
    covers = _COVERS.search(first) if first.startswith(summaries.OPENS) else None
    steps = _steps(first)[-int(covers[1]) :] if covers else []
    return [set(step) for step in steps]


def _parts(record: str) -> list[tuple[str, str]]:
    marks = list(_PART.finditer(record))
    ends = [*(mark.start() for mark in marks[1:]), len(record)]
    return [
        (mark[1], record[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)
    ]


def _steps(text: str) -> list[list[str]]:
    found = _STEPS.search(text)
    return [step.strip().split(",") for step in found[1].split(";")] if found else []


def _outcome(text: str, outcome: Outcome) -> str:
    failed = text.startswith(("Failed (", "Not run."))
    return outcome(Message(role="tool", text=text, failed=failed))
