"""`python -m bench [name …]`: run the measurements and print the table. Names are the modules'."""

import asyncio
import importlib
import sys

from bench.figures import table

MODULES = (
    "start", "page", "click", "seen", "viewers", "turns", "million", "races", "disks", "sandbox",
    "traces_in", "finding",
    "trace",
)  # fmt: skip
ASKED_FOR = ("peers",)  # installs other people's programs, so only by name


def main() -> int:
    """Run the named modules, or all; 1 when a figure misses its number."""
    names = sys.argv[1:] or list(MODULES)
    missed = False
    for name in names:
        if name not in MODULES + ASKED_FOR:
            print(f"There is no bench named {name}; there are {', '.join(MODULES + ASKED_FOR)}.")
            return 2
        figures = asyncio.run(importlib.import_module(f"bench.{name}").run())
        print(table(figures), flush=True)
        missed = missed or any(figure.reached is False for figure in figures)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
