"""The script of a scripted model in a manifest: entries of a pattern and the steps that follow it.

A step is {"say", "slow", "calls", "after", "fail"}; all of it may be left out. `after` says by what
became of the step's calls which steps stand in place of the rest.
"""

import re

from studio.core.rules import patterns
from studio.core.rules.reading import Reader

BRANCHES = ("denied", "uncertain", "failed", "edited")
FAILURES = ("rate", "refused", "context", "server", "garbage", "empty")
FAIL = rf"(?:{'|'.join(FAILURES)})(?: [0-9]{{1,6}})?"  # and how many times; else always
MOST_ENTRIES, MOST_STEPS, MOST_CALLS = 500, 1_000, 100
SLOWEST = 600_000  # milliseconds a word
LONGEST_NAME = 200


def check(model: Reader, *, is_kept: bool = False) -> None:
    """Find what is wrong with a model's script; the reader keeps it. Steps of a manifest that is
    kept are the provider's to refuse, when it comes to them."""
    for entry in model.objects("script", most=MOST_ENTRIES):
        entry.known("when", "steps")
        when = entry.text("when", most=patterns.LONGEST_PATTERN, needed=True, least=0)
        if when and (fault := patterns.check(when)):
            entry.fault("when", f"{fault}.")
        if not entry.has("steps"):
            entry.fault("steps", "is needed.")
        if not is_kept:
            _steps(entry, "steps")


def _steps(reader: Reader, name: str) -> None:
    for step in reader.objects(name, most=MOST_STEPS):
        step.known("say", "slow", "calls", "after", "fail")
        step.whole("slow", 0, SLOWEST)
        for call in step.objects("calls", most=MOST_CALLS):
            call.known("tool", "arguments")
            call.text("tool", most=LONGEST_NAME, needed=True)
        if after := step.object("after"):
            after.known(*BRANCHES)
            for branch in BRANCHES:
                _steps(after, branch)
        if step.has("fail") and not _fails(step.value["fail"]):
            kinds = ", ".join(FAILURES)
            step.fault(
                "fail", f'must be one of: {kinds}; and may have a number of times: "rate 2".'
            )


def _fails(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(FAIL, value) is not None
