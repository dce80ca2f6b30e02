"""Control groups: memory and processes of one environment counted together, where we may make them.

Version 1 has a tree for each controller (cgroups(7)); we make a group below our own. In version 2
a group with processes cannot hand out controllers, so we make ours beside our own, which works
where a service manager delegated the group above (for systemd: `Delegate=yes` and
`DelegateSubgroup=`).
"""

import errno
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from studio.core.sandboxes.contract import Limits

_PREFIX = "studio-"
_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Home:
    """Where groups can be made: a folder for each controller; one and the same in version 2."""

    memory: Path
    pids: Path
    version: int


@dataclass(frozen=True, kw_only=True)
class Group:
    """The groups of one environment. A process joins by writing to each of `joins`."""

    folders: tuple[Path, ...]
    version: int

    @property
    def joins(self) -> tuple[str, ...]:
        """The files that a process writes itself into."""
        return tuple(str(folder / "cgroup.procs") for folder in self.folders)

    def killed_for_memory(self) -> int:
        """How often the kernel ended a process of the group because its memory was used up."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        for line in (self.folders[0] / name).read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return int(value)
        return 0

    def remove(self) -> None:
        """Remove the groups. One that the kernel still holds is left to a later `sweep`."""
        for folder in self.folders:
            with suppress(FileNotFoundError), _busy_is_left():
                folder.rmdir()


@contextmanager
def _busy_is_left() -> Iterator[None]:
    try:
        yield
    except OSError as wrong:
        if wrong.errno != errno.EBUSY:
            raise


def home(proc: Path = Path("/proc/self")) -> Home | None:
    """Where this process may make groups, or None; nothing is changed."""
    mounts = _mounts((proc / "mounts").read_text())
    own = _own((proc / "cgroup").read_text())
    first = [_folder(mounts, own, name) for name in ("memory", "pids")]
    if first[0] is not None and first[1] is not None:
        memory, pids = first[0], first[1]
        version = 1
    elif (unified := _folder(mounts, own, "")) is not None and own[""] != "/":
        memory = pids = unified.parent
        version = 2
        offered = _words(memory / "cgroup.controllers")
        if not {"memory", "pids"} <= offered or not os.access(memory / "cgroup.procs", os.W_OK):
            return None
    else:
        return None
    if not all(os.access(folder, os.W_OK | os.X_OK) for folder in (memory, pids)):
        return None
    return Home(memory=memory, pids=pids, version=version)


def make(place: Home, limits: Limits) -> Group:
    """A group with the bounds of an environment. OSError when the kernel refuses."""
    name = f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    folders = tuple(dict.fromkeys((place.memory / name, place.pids / name)))
    if place.version == 2 and not {"memory", "pids"} <= _words(
        place.memory / "cgroup.subtree_control"
    ):
        (place.memory / "cgroup.subtree_control").write_text("+memory +pids")
    for folder in folders:
        folder.mkdir(exist_ok=True)
    group = Group(folders=folders, version=place.version)
    try:
        _bound(place.memory / name, place.pids / name, place.version, limits)
    except OSError:
        group.remove()
        raise
    return group


def sweep(place: Home) -> None:
    """Remove empty groups that processes left which are no more."""
    for folder in {place.memory, place.pids}:
        for left in folder.glob(f"{_PREFIX}*-*"):
            pid = left.name.removeprefix(_PREFIX).partition("-")[0]
            if pid.isdigit() and not Path("/proc", pid).exists():
                with suppress(OSError):  # it still has processes, or is gone
                    left.rmdir()


def _bound(memory: Path, pids: Path, version: int, limits: Limits) -> None:
    (pids / "pids.max").write_text(str(limits.processes))
    if version == 1:
        (memory / "memory.limit_in_bytes").write_text(str(limits.memory))
        swap = memory / "memory.memsw.limit_in_bytes"
    else:
        (memory / "memory.max").write_text(str(limits.memory))
        (memory / "memory.oom.group").write_text("0")
        swap = memory / "memory.swap.max"
    if swap.exists():
        swap.write_text(str(limits.memory) if version == 1 else "0")


def _mounts(text: str) -> dict[str, Path]:
    """Where each controller of version 1 is mounted; "" for version 2."""
    found = dict[str, Path]()
    for line in text.splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2":
            found.setdefault("", Path(place))
        elif kind == "cgroup":
            found |= {name: Path(place) for name in options.split(",")}
    return found


def _own(text: str) -> dict[str, str]:
    """Our own group by controller, as /proc/self/cgroup tells: `number:controllers:path`."""
    found = dict[str, str]()
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        found |= dict.fromkeys(names.split(","), path)
    return found


def _folder(mounts: dict[str, Path], own: dict[str, str], name: str) -> Path | None:
    if name not in mounts or name not in own:
        return None
    folder = mounts[name] / own[name].lstrip("/")
    return folder if folder.is_dir() else None


def _words(path: Path) -> set[str]:
    return set(path.read_text().split()) if path.exists() else set()
