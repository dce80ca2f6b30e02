"""The profile of bubblewrap: which namespaces a command gets, and all that it can see.

Its arguments are written for `--args`, so that no variable stands in a list of processes. Nothing
of this machine is shown but `/usr`, a few entries of `/etc`, and the disk at `/work`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from studio.core.sandboxes.paths import ROOT

PROGRAM = "bwrap"
UID = 1000  # who a command is inside; outside it is the user that the disk belongs to
SECRETS = "/run/secrets"
# Read by the dynamic linker, by alternatives of Debian, by TLS, by clocks and by mime types.
SHOWN = (
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs", "/etc/ca-certificates.conf",
    "/etc/localtime", "/etc/mime.types",
)  # fmt: skip
_BESIDE_USR = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
NAMESPACES = ("user", "ipc", "pid", "uts", "net")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One command's box. `disk` and `cwd` are paths outside and inside.

    `scratch` bounds `/tmp` and `/dev/shm`, in bytes each. `files` (name: descriptor) are read from
    descriptors and stand below `/run/secrets`, mode 0400.
    """

    disk: str
    cwd: str
    scratch: int
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, int] = field(default_factory=dict)


def arguments(box: Profile) -> list[str]:
    """The options of bubblewrap, all but the descriptors that the launcher opens."""
    # As root, without a user namespace of its own it would keep every capability.
    found = [f"--unshare-{name}" for name in NAMESPACES]
    found += ["--unshare-cgroup-try", "--disable-userns", "--cap-drop", "ALL"]
    found += ["--uid", str(UID), "--gid", str(UID), "--hostname", "studio"]
    found += ["--die-with-parent", "--new-session", "--clearenv"]
    for name, value in box.variables.items():
        found += ["--setenv", name, value]
    found += _system()
    found += ["--proc", "/proc", "--dev", "/dev"]
    # The one that --dev makes has no bound.
    for path in ("/tmp", "/dev/shm"):  # noqa: S108 - these are the box's own
        found += ["--size", str(box.scratch), "--tmpfs", path]
    for name, descriptor in box.files.items():
        found += ["--perms", "0400", "--ro-bind-data", str(descriptor), f"{SECRETS}/{name}"]
    found += ["--bind", box.disk, ROOT, "--chdir", box.cwd]
    # Both are file systems in memory without a bound, so nothing may be written to them.
    return [*found, "--remount-ro", "/dev", "--remount-ro", "/"]


def _system() -> list[str]:
    """Programs and libraries, read only: /usr, and beside it what is a link or a folder here."""
    found = ["--ro-bind", "/usr", "/usr"]
    for path in _BESIDE_USR:
        if os.path.islink(path):
            found += ["--symlink", os.readlink(path), path]
        else:
            found += ["--ro-bind-try", path, path]
    for path in SHOWN:
        found += ["--ro-bind-try", path, path]
    return found
