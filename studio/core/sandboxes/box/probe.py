"""What this machine gives to hold commands with, tried out and said in words."""

import os
import platform
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from studio.core.sandboxes.box import bubblewrap, cgroups, landlock, seccomp
from studio.core.sandboxes.box.plan import Isolation

USER = 65_533  # who commands are outside of their box when the studio runs as root
_SECONDS = 10.0
_ADMIN = 1 << 21


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What holds commands here. `words` say why; `isolation` None: nothing does, so none is run.

    `user` is the id that commands run as, None for the studio's own; `is_moved`: the disk is bound
    where that user reaches it, for the studio's folders may be closed to others.
    """

    isolation: Isolation | None
    words: str
    user: int | None = None
    is_moved: bool = False
    groups: cgroups.Home | None = None
    filter: bytes | None = field(default=None, repr=False)
    filter_closed: bytes | None = field(default=None, repr=False)

    @property
    def features(self) -> frozenset[str]:
        """What there is beside the isolation, in the words of the table of gaps."""
        found = {
            "cgroups": self.groups is not None,
            "filter": self.filter is not None,
            "own_user": self.user is not None,
        }
        return frozenset(name for name, is_there in found.items() if is_there)


def probe(*, user: int = USER, only: Isolation | None = None) -> Machine:
    """Try what this machine gives; it may take a second.

    `only` asks for one kind of isolation. `none` is never chosen by itself.
    """
    if only == "none":
        return machine("none", "Commands are held by nothing, as was asked for.", user=user)
    why = list[str]()
    if only != "landlock":
        if (wrong := _bubblewrap_fault()) is None:
            return machine("bubblewrap", "Each command has namespaces of its own.", user=user)
        why.append(wrong)
    if only != "bubblewrap":
        if version := landlock.abi():
            why.append(f"Commands are held by Landlock (ABI {version}): reduced isolation.")
            return machine("landlock", " ".join(why), user=user)
        why.append("This kernel has no Landlock.")
    return Machine(isolation=None, words=" ".join([*why, "So no command is run."]))


def machine(isolation: Isolation, words: str, *, user: int = USER) -> Machine:
    """One kind of isolation, untried, with what there is beside it."""
    is_root = os.geteuid() == 0
    name = platform.machine()
    return Machine(
        isolation=isolation, words=words, user=user if is_root else None,
        is_moved=is_root and _may_mount(), groups=cgroups.home(), filter=seccomp.program(name),
        filter_closed=seccomp.program(name, sockets=False),
    )  # fmt: skip


def _may_mount() -> bool:
    """Whether we have CAP_SYS_ADMIN (capabilities(7)), which root in a container often has not."""
    status = Path("/proc/self/status").read_text()
    return bool(int(status.split("CapEff:")[1].split()[0], 16) & _ADMIN)


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
