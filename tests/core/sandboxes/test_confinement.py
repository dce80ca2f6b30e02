"""Every way out and every flood, as root with a user of its own and as an ordinary user.

The table itself is in `tests/confinement`; each way is played once, by a process of that user.
"""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.confinement import __main__ as driver
from tests.confinement.room import CASES, LIMITS

ROOT = Path(__file__).parents[3]
SPARE = 65_001  # a user of this machine that is nobody
IS_ROOT = os.geteuid() == 0
USERS = ("root", "ordinary") if IS_ROOT else ("ordinary",)
WAYS = [(user, isolation) for user in USERS for isolation in ("bubblewrap", "landlock", "none")]
ROWS = [
    pytest.param(user, isolation, case.name, id=f"{isolation}-{user}-{case.name}")
    for user, isolation in WAYS
    for case in CASES
    if isolation in case.where and (user == "root" or not case.root)
]


@cache
def played(user: str, isolation: str) -> dict[str, str]:
    """What was wrong with each case, by name; an empty text when it held."""
    ours = sys.executable if os.access("/root", os.X_OK) and user == "root" else None
    python = ours or (sys.executable if not IS_ROOT else shutil.which("python3", path="/usr/bin"))
    assert python is not None, "the system has a Python that everybody may run"
    spare = {"user": SPARE, "group": SPARE, "extra_groups": []} if user != "root" else {}
    done = subprocess.run(
        [python, "-B", "-m", "tests.confinement", "--json", "--isolation", isolation],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        **(spare if IS_ROOT else {}),
    )  # fmt: skip
    assert done.stdout, done.stderr
    return {result["name"]: result["wrong"] for result in json.loads(done.stdout)}


@pytest.mark.parametrize("user,isolation,name", ROWS)
def test_the_box_holds(user, isolation, name):
    assert played(user, isolation)[name] == ""


def test_there_are_as_many_ways_out_as_we_say():
    held = [case for case in CASES if "bubblewrap" in case.where]

    assert len(held) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


def test_a_try_that_gets_out_is_told(monkeypatch):
    results = [{"name": "a way out", "wrong": "AssertionError('out')", "seconds": 0.1}]
    held = driver.machine("none", "nothing holds")

    text = driver.table(held, results)

    assert "NOT   a way out" in text
    assert text.endswith("0 of 1 held\n")
    assert LIMITS.processes < 128
