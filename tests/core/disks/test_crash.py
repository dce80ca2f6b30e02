"""`kill -9` at every point and at any moment: old versions are whole, and the next keep works.

Rows 27 and 28 of the crash points, and the invariant that every version's bytes hash to its record.
"""

import signal
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import pytest

from studio.core.disks.disks import Disks
from tests.core.disks import child

pytestmark = pytest.mark.crash
ROOT = Path(__file__).parents[3]
POINTS = [
    ("disk.before_pack", 1), ("disk.before_pack", 4), ("disk.before_index", 1),
    ("disk.before_index", 3), ("disk.before_manifest", 1), ("disk.before_manifest", 3),
    *(("disk.before_rename", hit) for hit in (1, 2, 3, 4, 8, 12)),
    ("disk.mid_restore", 1), ("disk.mid_restore", 12), ("disk.mid_import", 1),
    ("disk.mid_import", 14), *(("disk.mid_collect", hit) for hit in (1, 2, 3, 4, 8)),
]  # fmt: skip


def started(top: Path, start: int, armed: str = "") -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.core.disks.child", top, str(start), armed]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.mark.parametrize("point,hit", POINTS)
def test_killed_at_a_point(tmp_path: Path, point: str, hit: int):
    with started(tmp_path, 1, f"{point}:kill:{hit}") as process:
        process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL

    everything_is_whole(tmp_path)
    the_next_keep_works(tmp_path)


@pytest.mark.slow
def test_killed_at_any_moment(tmp_path: Path):
    dice = Random(2707)
    for round_ in range(8):
        with started(tmp_path, 100 * round_) as process:
            assert process.stdout is not None
            process.stdout.readline()  # it is at work
            threading.Timer(dice.uniform(0, 0.15), process.kill).start()
            process.communicate(timeout=30)
        everything_is_whole(tmp_path)

    the_next_keep_works(tmp_path)


def everything_is_whole(top: Path) -> None:
    """Each version that is there comes back as its digest says, and the book's are there."""
    if not (top / "store" / "index" / "list.json").exists():
        return  # killed before there was a store
    disks, measure = Disks(top / "store"), Disks(top / "measure")
    there = {path.stem for path in (top / "store" / "versions").glob("*.json")}
    assert set(child.book(top)) <= there
    for digest in there:
        disks.restore(digest, top / "whole", replace=True)
        assert measure.keep(top / "whole").digest == digest
    if (top / "again").exists():
        assert measure.keep(top / "again").digest in (top / "ever").read_text().split()


def the_next_keep_works(top: Path) -> None:
    """And after a collection nothing is left of what was killed."""
    with started(top, 5_001) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "5001\n"  # kept, restored, taken in, collected
        process.kill()
        process.communicate(timeout=30)
    disks = Disks(top / "store")
    disks.restore(child.book(top)[-1], top / "again", replace=True)
    disks.collect(child.book(top), grace=0)

    store = top / "store"
    assert not [path for path in top.rglob("*") if path.name.endswith(".part")]
    assert {path.stem for path in (store / "versions").iterdir()} == set(child.book(top))
    assert len(list((store / "index").iterdir())) <= 2 + 8
    everything_is_whole(top)
