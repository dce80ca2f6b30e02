"""Disk versions of 1,000 and 20,000 files: keep, keep again, keep a change, compare, restore.

Beside them, in the same run and on the same folders, what people would do by hand: a commit and a
checkout with `git`, and `tar` with zstd. Git keeps no empty folders, times or modes but one; a tar
is whole each time and compares nothing.
"""

import asyncio
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random

from bench.figures import Figure
from studio.core.disks.disks import Disks

MIB = 1024**2
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
SETTLING = 2.1  # seconds until the cache trusts what was just written
Times = dict[str, list[float]]
Steps = list[tuple[str, Callable[[], object]]]
# What must be reached, in milliseconds, for 20,000 files and 500 MB.
GOALS = {"first": 8_000, "unchanged": 400, "1 % changed": 500}


async def run() -> list[Figure]:
    """Both sizes."""
    small = await asyncio.to_thread(measured, 1_000, 50, others=ROUNDS)
    return small + await asyncio.to_thread(measured, 20_000, 500, others=1)


def measured(files: int, mib: int, *, others: int) -> list[Figure]:
    """One size: our store in every round, the others in so many of them."""
    times: dict[str, Times] = defaultdict(lambda: defaultdict(list))
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="studio-bench-") as name:
            top = Path(name)
            make(top / "work", files, mib * MIB)
            time.sleep(SETTLING)
            ways = {"disks": ours, "git": with_git, "tar": with_tar}
            for way, steps in ways.items():
                if way != "disks" and (number >= others or not shutil.which(way)):
                    continue
                shutil.copytree(top / "work", top / way, symlinks=True)
                time.sleep(SETTLING)
                through(steps(top / way, top / f"{way} store"), times[way])
                shutil.rmtree(top / way)
    return figures(files, mib, times)


def through(steps: Steps, times: Times) -> None:
    """Every step, with its time in milliseconds; the change between them is not counted."""
    for name, step in steps:
        began = time.perf_counter()
        step()
        if name != "change":
            times[name].append((time.perf_counter() - began) * 1_000)


def figures(files: int, mib: int, times: dict[str, Times]) -> list[Figure]:
    """The medians; ours must reach the goals where there are any."""
    found = []
    for way, steps in times.items():
        for step, values in steps.items():
            most = GOALS.get(step) if way == "disks" and files == 20_000 else None
            name = f"{way}, {files:,} files, {mib} MB: {step}"
            median = statistics.median(values)
            note = f"n = {len(values)}"
            found.append(Figure(name=name, value=median, unit="ms", most=most, note=note))
    return found


def ours(work: Path, store: Path) -> Steps:
    """The store of the studio."""
    disks, cache, kept = Disks(store), store.with_suffix(".cache"), []

    def keep() -> None:
        kept.append(disks.keep(work, cache=cache).digest)

    return [
        ("first", keep), ("unchanged", keep),
        ("change", lambda: change(work)), ("1 % changed", keep),
        ("compared", lambda: list(disks.diff(kept[0], kept[-1]))),
        ("restored", lambda: disks.restore(kept[0], store / "restored")),
    ]  # fmt: skip


def with_git(work: Path, store: Path) -> Steps:
    """A commit a version, in a repository beside the folder."""
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(store), "GIT_DIR": str(store / "git"),
        "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@example.org", "GIT_COMMITTER_NAME": "b",
        "GIT_COMMITTER_EMAIL": "b@example.org", "GIT_WORK_TREE": str(work),
    }  # fmt: skip

    def git(*words: str, **more: str) -> None:
        quick = ["-c", "core.compression=1", "-c", "gc.auto=0"]
        subprocess.run(["git", *quick, *words], env={**environ, **more}, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip

    def commit(tag: str) -> None:
        git("add", "--all", "--force", ".")
        git("commit", "--quiet", "--allow-empty", "--message", tag)
        git("tag", "--force", tag)

    def checkout() -> None:
        into = store / "restored"
        into.mkdir()
        again = {"GIT_WORK_TREE": str(into), "GIT_INDEX_FILE": str(store / "index")}
        git("read-tree", "first", **again)
        git("checkout-index", "--all", **again)

    store.mkdir()
    git("init", "--quiet")
    return [
        ("first", lambda: commit("first")), ("unchanged", lambda: commit("again")),
        ("change", lambda: change(work)), ("1 % changed", lambda: commit("changed")),
        ("compared", lambda: git("diff", "--name-status", "first", "changed")),
        ("restored", checkout),
    ]  # fmt: skip


def with_tar(work: Path, store: Path) -> Steps:
    """An archive a version."""
    store.mkdir()

    def pack(name: str) -> None:
        archive = store / f"{name}.tar.zst"
        subprocess.run(["tar", "-C", work, "-I", "zstd -1 -T2", "-cf", archive, "."], check=True)

    def unpack() -> None:
        (store / "restored").mkdir()
        archive = store / "first.tar.zst"
        subprocess.run(["tar", "-C", store / "restored", "-I", "zstd", "-xpf", archive], check=True)

    return [
        ("first", lambda: pack("first")), ("unchanged", lambda: pack("again")),
        ("change", lambda: change(work)), ("1 % changed", lambda: pack("changed")),
        ("restored", unpack),
    ]  # fmt: skip


def make(top: Path, files: int, size: int) -> None:
    """A folder as projects have them: many small files, few large ones, a fifth packed already."""
    dice = Random(files)
    words = [f"{dice.getrandbits(dice.randint(8, 40)):x}" for _ in range(3_000)]
    text = " ".join(dice.choices(words, k=500_000)).encode()
    shares = [dice.lognormvariate(0, 1.3) for _ in range(files)]
    total = sum(shares)
    places = [top]
    top.mkdir()
    for number in range(max(10, files // 20)):
        places.append(dice.choice(places[-40:]) / f"folder {number}")
        places[-1].mkdir()
    for number, share in enumerate(shares):
        length = max(20, int(size * share / total))
        start = dice.randrange(len(text))
        data = dice.randbytes(length) if number % 5 == 0 else (text[start:] + text)[:length]
        path = dice.choice(places) / f"file {number}"
        path.write_bytes(data)
        path.chmod(0o755 if number % 20 == 0 else 0o644)
    for number in range(20):
        (dice.choice(places) / f"link {number}").symlink_to("../elsewhere")
        (dice.choice(places) / f"empty {number}").mkdir()


def change(top: Path) -> None:
    """A hundredth of the files: most are longer, some are gone, some are new."""
    found = sorted(path for path in top.rglob("file *") if path.is_file())
    for number, path in enumerate(Random(1).sample(found, len(found) // 100)):
        if number % 10 == 0:
            path.unlink()
        elif number % 10 == 1:
            path.with_name(f"{path.name} new").write_bytes(b"new\n" * 500)
        else:
            with path.open("ab") as file:
                file.write(b"changed\n")
