"""Programs in processes forked from a server that has everything imported: as real, and at once.

A new interpreter that imports the studio costs a second or two of work; a fork of one costs none
of it. What it does at its very start is tested where a test starts a program anew.
"""

import multiprocessing as mp
import os
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONTEXT = mp.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.crash.child", "studio.cli.commands"])
GONE = 255  # multiprocessing's word for a child whose end it could not read; none of ours ends so


def run(
    program: Callable[..., object], *words: str, environ: Mapping[str, str], given: str = "",
    timeout: float = 60.0,
) -> "subprocess.CompletedProcess[str]":  # fmt: skip
    """Run `program(*words)` with exactly this environment; like `subprocess.run`."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "0").write_text(given, "utf-8")
        process = CONTEXT.Process(target=_begin, args=(program, words, dict(environ), folder))
        main, sys.modules["__main__"] = sys.modules["__main__"], types.ModuleType("__main__")
        try:  # a child would run anew whatever program this process is
            process.start()
        finally:
            sys.modules["__main__"] = main
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired([*words], timeout)
        code = -signal.SIGKILL if process.exitcode == GONE else process.exitcode
        process.close()
        out, err = ((place / name).read_text("utf-8") for name in ("1", "2"))
    return subprocess.CompletedProcess([*words], code, out, err)


def studio(*words: str) -> int:
    """One command of `studio`, as `python -m studio` runs it."""
    from studio.cli import main

    sys.argv = [str(ROOT / "studio" / "__main__.py"), *words]
    return main()


def _begin(
    program: Callable[..., object], words: tuple[str, ...], environ: dict[str, str], folder: str
) -> None:
    """In the child: its three files, its environment, and on it goes."""
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environ)
    for number, flags in enumerate((os.O_RDONLY, *2 * (os.O_WRONLY | os.O_CREAT | os.O_APPEND,))):
        file = os.open(Path(folder) / str(number), flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - open to the end
        for number, mode in enumerate("rww")
    )
    raise SystemExit(program(*words))
