"""`python -m tests.crash` plays the whole matrix and prints it; `--only TEXT` some of it."""

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import postgres
from tests.crash import matrix as m


def main() -> int:
    """Play, print, and say by the exit whether everything held."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--only", default="", help="cells whose name has this text")
    parser.add_argument("--kind", action="append", help="sqlite, postgresql; both without")
    parser.add_argument("--appends", action="store_true", help="every append of one full scene")
    parser.add_argument("--side-by-side", type=int, default=4)
    given = parser.parse_args()
    kinds = given.kind or ["sqlite", "postgresql"]
    cells = m.cells(m.APPENDS if given.appends else m.ROWS, kinds=kinds)
    cells = [cell for cell in cells if given.only in cell.name]
    cluster = postgres.start() if "postgresql" in kinds else None
    started = time.monotonic()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            m.matrix(Path(folder), cluster) as everything,
            ThreadPoolExecutor(given.side_by_side) as pool,
        ):
            results = list(pool.map(everything.run, cells))
    finally:
        if cluster is not None:
            cluster.stop()
    lines = [line for result in results if result.violations for line in _broken(result)]
    sys.stdout.write(
        "\n".join([*lines, m.table(results), f"{time.monotonic() - started:.0f} s", ""])
    )
    return int(any(result.violations for result in results))


def _broken(result: m.Result) -> list[str]:
    return [result.cell.name, *(f"  {words}" for words in result.violations), result.log[-2_000:]]


if __name__ == "__main__":
    sys.exit(main())
