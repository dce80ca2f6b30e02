"""Bounds that the kernel keeps for each process (getrlimit(2)), and how the shell sets one more."""

import resource

from studio.core.sandboxes.contract import Limits

OPEN_FILES = 1_024
# The shell bounds the number of processes itself: inside its own user namespace that counts the
# command's processes alone, and outside it everything that the user of the disk runs.
_LINE = 'ulimit -u "$1" || exit 125; exec /bin/bash -c "$2"'


def of(limits: Limits, *, memory_is_bounded: bool) -> dict[int, int]:
    """Bound by its resource number. `memory_is_bounded` says that a control group counts memory,
    so that address space, of which many programs reserve far more than they use, is left alone."""
    found = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_MEMLOCK: 64 * 1024,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if not memory_is_bounded:
        found[resource.RLIMIT_AS] = limits.memory
    return found


def shell(line: str, processes: int | None) -> list[str]:
    """The program and arguments for a line of the shell; `processes` bounds how many it starts."""
    if processes is None:
        return ["/bin/bash", "-c", line]
    return ["/bin/bash", "-c", _LINE, "bash", str(processes), line]
