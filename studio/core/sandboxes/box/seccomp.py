"""Which system calls a command may not make, as a classic BPF program (seccomp(2), filter mode).

What is refused answers EPERM, as if a right were missing. `clone3` answers ENOSYS: its arguments
lie behind a pointer that a filter cannot read, and the C library then falls back to `clone`.
"""

import struct
from dataclasses import dataclass

# linux/bpf_common.h: load a word, jump when equal, not below, or any bit set; return.
_LOAD, _EQUAL, _ABOVE, _ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _EPERM, _ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets into struct seccomp_data
_NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW… flag of clone(2)
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # type into a terminal, as if a person did
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_X32 = 0x40000000

# The same on every architecture, from 424 on.
_NEW = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_getfd": 438, "mount_setattr": 442, "statmount": 457, "listmount": 458,
    "open_tree_attr": 467,
}  # fmt: skip
_X86_64 = {
    "ptrace": 101, "syslog": 103, "uselib": 134, "vhangup": 153, "modify_ldt": 154,
    "pivot_root": 155, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165,
    "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
    "setdomainname": 171, "iopl": 172, "ioperm": 173, "create_module": 174, "init_module": 175,
    "delete_module": 176, "quotactl": 179, "nfsservctl": 180, "lookup_dcookie": 212,
    "clock_settime": 227, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
    "unshare": 272, "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300,
    "name_to_handle_at": 303, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "bpf": 321,
    "userfaultfd": 323,
}  # fmt: skip
_AARCH64 = {
    "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42,
    "chroot": 51, "vhangup": 58, "quotactl": 60, "acct": 89, "unshare": 97, "kexec_load": 104,
    "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117,
    "reboot": 142, "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "add_key": 217,
    "request_key": 218, "keyctl": 219, "swapon": 224, "swapoff": 225, "move_pages": 239,
    "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "kcmp": 272, "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The numbers of one architecture. `audit` is its AUDIT_ARCH (linux/audit.h)."""

    audit: int
    refused: dict[str, int]
    clone: int
    socket: int
    ioctl: int
    has_x32: bool = False


MACHINES = {
    "x86_64": Machine(audit=0xC000003E, refused=_X86_64 | _NEW, clone=56, socket=41, ioctl=16,
                      has_x32=True),
    "aarch64": Machine(audit=0xC00000B7, refused=_AARCH64 | _NEW, clone=220, socket=198, ioctl=29),
}  # fmt: skip
_CLONE3 = 435

Instruction = tuple[int, int, int, int]  # code, jump when true, jump when false, operand


def program(machine: str, *, sockets: bool = True) -> bytes | None:
    """The filter of an architecture as `platform.machine` names it; None where we know none.

    `sockets` leaves UNIX and internet sockets, and what asks about them; without it there is none.
    """
    if (known := MACHINES.get(machine)) is None:
        return None
    families = (_UNIX, _INET, _INET6, _NETLINK) if sockets else ()
    steps = [
        *_of_architecture(known),
        *(step for number in sorted(known.refused.values()) for step in _answer(number, _EPERM)),
        *_answer(_CLONE3, _ENOSYS),
        *_refuse_bits(known.clone, 0, _NEW_NAMESPACES),
        *_refuse_values(known.ioctl, 1, (_TIOCSTI, _TIOCLINUX)),
        *_refuse_others(known.socket, 0, families),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def _of_architecture(machine: Machine) -> list[Instruction]:
    """Calls of another architecture, or of x86's 32-bit ones, end the process: they have other
    numbers and would pass the list unseen."""
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, machine.audit), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]  # fmt: skip
    if machine.has_x32:
        steps += [(_ABOVE, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    return steps


def _answer(number: int, answer: int) -> list[Instruction]:
    return [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]


def _refuse_bits(number: int, argument: int, bits: int) -> list[Instruction]:
    """Refuse a call when an argument has any of these bits."""
    return _with_argument(number, argument, [(_ANY, 0, 1, bits), (_RETURN, 0, 0, _EPERM)])


def _refuse_values(number: int, argument: int, values: tuple[int, ...]) -> list[Instruction]:
    """Refuse a call when an argument is one of these."""
    tests = [step for value in values for step in _answer(value, _EPERM)]
    return _with_argument(number, argument, tests)


def _refuse_others(number: int, argument: int, values: tuple[int, ...]) -> list[Instruction]:
    """Refuse a call unless an argument is one of these."""
    past = len(values)
    tests = [(_EQUAL, past - index, 0, value) for index, value in enumerate(values)]
    return _with_argument(number, argument, [*tests, (_RETURN, 0, 0, _EPERM)])


def _with_argument(number: int, argument: int, tests: list[Instruction]) -> list[Instruction]:
    """Load the lower half of an argument for some tests, and the number again behind them."""
    load = (_LOAD, 0, 0, _ARGUMENTS + 8 * argument)
    again = (_LOAD, 0, 0, _NUMBER)
    return [(_EQUAL, 0, len(tests) + 2, number), load, *tests, again]
