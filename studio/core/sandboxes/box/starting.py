"""From a fork to the command's program: what the new process does to itself before it is another.

It runs in the launcher's child, which has one thread, so it may do everything that is unsafe in a
server with many. It knows nothing of the studio but the plan.
"""

import ctypes
import json
import os
import resource
import signal
from typing import NoReturn

from studio.core.sandboxes.box import landlock
from studio.core.sandboxes.box.plan import FIRST, Plan, mount_point

_PARENT_DIES, _SUBREAPER, _SECCOMP, _NO_NEW_PRIVILEGES = 1, 36, 22, 38  # prctl(2)
_FILTER_MODE = 2
_ABOVE = 512  # descriptors from here on are out of the way of those that are handed over
_NEW_MOUNTS = 0x00020000  # CLONE_NEWNS
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000  # mount(2)
_libc = ctypes.CDLL(None, use_errno=True)


def become(plan: Plan, launcher: int, output: int, descriptors: list[int]) -> NoReturn:
    """Turn this process into the command of a plan. OSError when the system refuses a step.

    `launcher` is the process id of our parent; when it dies we do. The last of `descriptors` is
    where its end is told, unless the plan wants egress: then what holds it is behind that.
    """
    os.setsid()
    _restore_signals()
    if plan.is_moved:
        _move(plan.disk)
    for name, most in plan.limits.items():
        _bound(int(name), most)
    if plan.processes is not None:
        _bound(resource.RLIMIT_NPROC, _processes_of(plan.user) + plan.processes)
    if plan.user is not None:
        os.setgroups([])
        os.setresgid(plan.user, plan.user, plan.user)
        os.setresuid(plan.user, plan.user, plan.user)
    _die_with(launcher)  # after the user, which clears it
    _connect(output, descriptors)
    if plan.isolation == "bubblewrap":
        os.execvpe(plan.program[0], list(plan.program), {"PATH": os.defpath})
    _supervise(plan, FIRST + len(descriptors) - 1)


def control(call: int, value: int) -> None:
    """prctl(2) with one number."""
    check(_libc.prctl(call, value, 0, 0, 0))


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own dies (PR_SET_CHILD_SUBREAPER)."""
    control(_SUBREAPER, 1)


def check(answer: int) -> None:
    """OSError for an answer that says so."""
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _bound(limit: int, most: int) -> None:
    """Set a limit, or leave the one that holds already and is lower."""
    _, hard = resource.getrlimit(limit)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(limit, (most, most))


def _restore_signals() -> None:
    """Python ignores two that programs expect to die of."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)


def _move(disk: str) -> None:
    """Bind the disk where any user reaches it: folders above it may be closed to others."""
    check(_libc.unshare(_NEW_MOUNTS))
    check(_libc.mount(None, b"/", None, _RECURSIVE | _PRIVATE, None))
    check(_libc.mount(os.fsencode(disk), mount_point().encode(), None, _BIND, None))


def _die_with(launcher: int) -> None:
    control(_PARENT_DIES, signal.SIGKILL)
    if os.getppid() != launcher:
        os._exit(125)


def _connect(output: int, descriptors: list[int]) -> None:
    """Nothing to read, output to the pipe, and the handed descriptors at their numbers.

    Every other descriptor closes itself when the program starts.
    """
    high = [
        os.dup2(item, _ABOVE + index, inheritable=False)
        for index, item in enumerate([output, *descriptors])
    ]
    os.dup2(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 0)
    for target in (1, 2):
        os.dup2(high[0], target)
    for index, item in enumerate(high[1:]):
        os.dup2(item, FIRST + index)


def _supervise(plan: Plan, status: int) -> NoReturn:
    """Stay above a command that has no process namespace, so that what it leaves is ours to end."""
    adopt_orphans()
    os.closerange(3, status)
    os.closerange(status + 1, _ABOVE * 8)
    os.set_inheritable(status, False)
    supervisor = os.getpid()
    command = os.fork()
    if command == 0:
        try:
            _run(plan, supervisor)
        except (OSError, ValueError) as wrong:
            _tell(status, refused=str(wrong))
        finally:
            os._exit(125)
    while (found := os.waitpid(-1, 0))[0] != command:
        continue  # an orphan that ended by itself
    code = os.waitstatus_to_exitcode(found[1])
    _tell(status, **{"exit-code": code})
    os._exit(0)


def _tell(status: int, **said: object) -> None:
    """Tell the launcher of the command's end, as bubblewrap does: a JSON object a line."""
    os.write(status, json.dumps(said).encode() + b"\n")


def _run(plan: Plan, supervisor: int) -> NoReturn:
    _die_with(supervisor)
    os.chdir(plan.cwd)
    if plan.isolation == "landlock":
        landlock.restrict(write=list(plan.write), read=list(plan.read))
    if plan.filter:
        _filter(bytes.fromhex(plan.filter))
    os.execve(plan.program[0], list(plan.program), plan.variables)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _filter(program: bytes) -> None:
    control(_NO_NEW_PRIVILEGES, 1)
    pointed = _Program(len(program) // 8, program)
    check(_libc.prctl(_SECCOMP, _FILTER_MODE, ctypes.byref(pointed), 0, 0))


def _processes_of(user: int | None) -> int:
    """How many threads a user has now: the kernel's bound counts them all."""
    wanted, count = os.getuid() if user is None else user, 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == wanted:
                    count += len(os.listdir(f"{entry.path}/task"))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return count
