"""Bounds that the kernel keeps for each process (getrlimit(2)), and how the shell sets one more."""

import resource

from studio.core.sandboxes.contract import Limits

OPEN_FILES = 1_024
# The shell bounds the number of processes itself: inside its own user namespace that counts the
# command's processes alone, and outside it everything that the user of the disk runs. It is
# refused only where a lower bound holds already. A line that the shell cannot read is not begun,
# so nothing of it runs before; a shell that started another would cost two milliseconds more.
_BOUND = "ulimit -u {} 2>/dev/null; "


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
    before = "" if processes is None else _BOUND.format(processes)
    return ["/bin/bash", "-c", before + line]
