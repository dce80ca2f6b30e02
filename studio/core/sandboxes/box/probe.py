"""What this machine gives to hold commands with, tried out and said in words."""

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from studio.core.sandboxes.box import bubblewrap, cgroups, landlock, seccomp
from studio.core.sandboxes.box.plan import Isolation

USER = 65_533  # who commands are outside of their box when the studio runs as root
_SECONDS = 10.0
_ADMIN = 1 << 21

GAPS = {
    "files": "Commands see all that the user of the studio can read.",
    "processes": "Processes of one environment are not counted together.",
    "memory": "Memory is bounded for each process, not for all of them together.",
    "network": "Commands reach the network of this machine.",
    "allow_list": "The network is closed whole: the allow-list cannot be used.",
    "syscalls": "System calls are not filtered.",
    "user": "Commands run as the user of the studio.",
    "hidden": "Commands can see which processes run on this machine.",
    "scratch": "There is no /tmp of a command's own; the disk stands at its real path.",
    "secret_files": "Secrets cannot be given as files.",
    "tree": "What a command leaves behind may outlive a crash of the studio's helper process.",
}


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What holds commands here. `words` say why; `gaps` what is not held, in words by name.

    `user` is the id that commands run as, None for the studio's own; `is_moved`: the disk is bound
    where that user reaches it, for the studio's folders may be closed to others.
    """

    isolation: Isolation
    words: str
    gaps: Mapping[str, str] = field(default_factory=dict)
    user: int | None = None
    is_moved: bool = False
    groups: cgroups.Home | None = None
    filter: bytes | None = field(default=None, repr=False)
    filter_closed: bytes | None = field(default=None, repr=False)


def probe(*, user: int = USER, only: Isolation | None = None) -> Machine:
    """Try what this machine gives; it may take a second.

    `only` asks for one kind of isolation. `none` is never chosen by itself for running commands:
    it is what is answered where nothing works, with the reasons in its words.
    """
    why = list[str]()
    if only in {None, "bubblewrap"}:
        if (wrong := _bubblewrap_fault()) is None:
            return machine("bubblewrap", "bubblewrap with namespaces of its own", user=user)
        why.append(wrong)
    if only in {None, "landlock"}:
        if version := landlock.abi():
            words = f"Landlock, ABI {version}"
            return machine("landlock", " ".join([*why, f"So {words} is used."]), user=user)
        why.append("This kernel has no Landlock.")
    words = " ".join([*why, "Commands are not held by anything."])
    return machine("none", words, user=user)


def machine(isolation: Isolation, words: str, *, user: int = USER) -> Machine:
    """One kind of isolation with what there is beside it."""
    is_root = os.geteuid() == 0
    name, groups = platform.machine(), cgroups.home()
    return Machine(
        isolation=isolation, words=words, user=user if is_root else None, groups=groups,
        is_moved=is_root and _may_mount(),
        filter=seccomp.program(name), filter_closed=seccomp.program(name, sockets=False),
        gaps={gap: GAPS[gap] for gap in _gaps(isolation, is_root=is_root, groups=groups)},
    )  # fmt: skip


def _may_mount() -> bool:
    """Whether we have CAP_SYS_ADMIN (capabilities(7)), which root in a container often has not."""
    status = Path("/proc/self/status").read_text()
    return bool(int(status.split("CapEff:")[1].split()[0], 16) & _ADMIN)


def _gaps(isolation: Isolation, *, is_root: bool, groups: cgroups.Home | None) -> list[str]:
    found = []
    if isolation == "none":
        found += ["files", "network", "allow_list", "hidden", "scratch", "secret_files", "tree"]
    elif isolation == "landlock":
        found += ["allow_list", "hidden", "scratch", "secret_files", "tree"]
    if groups is None:
        found.append("memory")
        if isolation != "bubblewrap":
            found.append("processes")
    if isolation == "none" or platform.machine() not in seccomp.MACHINES:
        found.append("syscalls")
    if isolation == "landlock" and platform.machine() not in seccomp.MACHINES:
        found.append("network")
    if not is_root:
        found.append("user")
    return found


def _bubblewrap_fault() -> str | None:
    """Why bubblewrap cannot be used here, tried with the profile that commands get."""
    box = bubblewrap.Profile(disk="/usr", cwd="/work", scratch=1024**2)
    command = [bubblewrap.PROGRAM, *bubblewrap.arguments(box), "--", "/bin/bash", "-c", ":"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, env={
            "PATH": os.defpath
        })  # fmt: skip
    except FileNotFoundError:
        return "bubblewrap is not installed (on Debian and Ubuntu: apt install bubblewrap)."
    except subprocess.TimeoutExpired:
        return f"bubblewrap did not answer within {_SECONDS:g} seconds."
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        return f"bubblewrap cannot make its namespaces here: {said[-1]}."
    return None
