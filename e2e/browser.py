"""Which browser the tests drive, and how it is started: found on the machine, never shipped."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ON_PATH = ("chromium", "google-chrome", "google-chrome-stable")

# Playwright's own switches come first; these end what a browser does on its own account, so that
# every request a test sees is the page's.
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
)


def find_chromium(environ: Mapping[str, str] = os.environ) -> str | None:
    """The path of a Chromium: STUDIO_CHROMIUM, else the one on PATH; None for Playwright's own."""
    chosen = environ.get("STUDIO_CHROMIUM")
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise FileNotFoundError(f"STUDIO_CHROMIUM is {chosen!r}, which cannot be run")
        return chosen
    for name in ON_PATH:
        found = shutil.which(name, path=environ.get("PATH"))
        if found:
            return found
    return None


def launch_options(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Arguments for `playwright.chromium.launch`.

    Chromium's own sandbox stays on, except for root, for whom there is none, and where
    STUDIO_CHROMIUM_SANDBOX=off says that this machine allows none (some containers).
    """
    sandbox = not is_root() and environ.get("STUDIO_CHROMIUM_SANDBOX") != "off"
    return {
        "executable_path": find_chromium(environ),
        "args": list(QUIET),
        "chromium_sandbox": sandbox,
        "headless": True,
        "env": dict(environ) | {"HOME": _home(environ)},
    }


def axe_source() -> str:
    """The accessibility checker, to be added to a page by its content."""
    return (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _home(environ: Mapping[str, str]) -> str:
    """Chromium writes beside its profile; without a home it would write into `/`."""
    return environ.get("HOME") or tempfile.gettempdir()
