"""`python -m tests.confinement`: try every case and print a table; `--json` for another program.

`--isolation` asks for one kind; as root, commands run as the user that the studio takes then.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import time
import traceback
from typing import Any

from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.box.probe import Machine, machine, probe
from tests.confinement import calls, escapes, floods
from tests.confinement.room import CASES, Case, room

MODULES = (calls, escapes, floods)


def wanted(case: Case, isolation: str) -> bool:
    """Whether a case must hold for a kind of isolation, tried by us."""
    return isolation in case.where and (os.geteuid() == 0 or not case.root)


async def tried(case: Case, held: Machine, launcher: Launcher) -> dict[str, Any]:
    """What became of one case."""
    began, wrong = time.monotonic(), ""
    try:
        async with room(held, launcher) as place:
            await case.tried(place)
    except Exception as error:  # noqa: BLE001 - whatever it is, the table tells it
        lines = traceback.format_exception(error)
        wrong = f"{error!r}\n{''.join(lines[-3:])}"
    return {"name": case.name, "wrong": wrong, "seconds": time.monotonic() - began}


async def play(held: Machine, only: str) -> list[dict[str, Any]]:
    """Every case that must hold here, one after the other."""
    cases = [case for case in CASES if wanted(case, held.isolation) and only in case.name]
    launcher = Launcher()
    try:
        return [await tried(case, held, launcher) for case in cases]
    finally:
        await launcher.close()


def table(held: Machine, results: list[dict[str, Any]]) -> str:
    """One line a case, and the count."""
    lines = [f"{held.isolation} on {platform.machine()}, as user {os.geteuid()}: {held.words}"]
    for result in results:
        mark = "held" if not result["wrong"] else "NOT "
        lines.append(f"{mark}  {result['name']:<78} {result['seconds'] * 1000:>7,.0f} ms")
        lines += [f"      {line}" for line in result["wrong"].splitlines()]
    count = sum(not result["wrong"] for result in results)
    return "\n".join([*lines, f"{count} of {len(results)} held", ""])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.confinement", description=__doc__)
    parser.add_argument("--isolation", choices=("bubblewrap", "landlock", "none"))
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    held = machine(given.isolation, "as asked") if given.isolation else probe()
    results = asyncio.run(play(held, given.only))
    sys.stdout.write(json.dumps(results) if given.json else table(held, results))
    return int(any(result["wrong"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
