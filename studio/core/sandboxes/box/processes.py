"""Who is whose child, as /proc tells it."""

import os

_HAS_CHILDREN = os.path.exists("/proc/thread-self/children")


def children(pid: int) -> set[int]:
    """The children of a process: proc_pid_taskchildren(5), or where that is missing by parent."""
    if not _HAS_CHILDREN:
        return {
            int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(name) == pid
        }
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return {int(word) for word in file.read().split()}
    except (FileNotFoundError, ProcessLookupError):
        return set()


def _parent(name: str) -> int:
    try:
        with open(f"/proc/{name}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def below(pid: int) -> set[int]:
    """Every descendant of a process."""
    found = children(pid)
    return found.union(*(below(child) for child in found))
