"""A command in a bubblewrap of its own, for stand-ins that must show a disk at `/work`.

It is not the studio's box: no filter, no limits. It only makes paths what the contract says.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

MISSING = None if shutil.which("bwrap") else "bubblewrap is not installed"


def argv(
    binds: Mapping[str, Path], command: Sequence[str], *, cwd: str = "/work",
    variables: Mapping[str, str] | None = None, own_pids: bool = True,
) -> list[str]:  # fmt: skip
    """The whole command line. `binds` are folders of this machine by where they are shown."""
    found = ["bwrap", "--unshare-net", "--unshare-ipc", "--die-with-parent", "--clearenv"]
    found += ["--unshare-pid"] if own_pids else []
    found += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for link in ("bin", "sbin", "lib", "lib64"):
        found += ["--symlink", f"usr/{link}", f"/{link}"]
    for place, folder in binds.items():
        found += ["--bind", str(folder), place]
    given = {"PATH": "/usr/bin:/bin", "HOME": "/work", "LANG": "C.UTF-8", **(variables or {})}
    for name, value in given.items():
        found += ["--setenv", name, value]
    return [*found, "--remount-ro", "/", "--chdir", cwd, "--", *command]
