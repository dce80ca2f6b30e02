"""System calls that are refused, made as a program would make them."""

import platform

from tests.confinement.room import Room, case

BOTH = "bubblewrap landlock"
# Numbers of x86_64 and aarch64; arguments for which the call would answer something else than
# "not permitted" where it is allowed.
CALLS = {
    "ptrace": ((101, 117), (0, 0, 0, 0)),
    "bpf": ((321, 280), (0, 0, 0)),
    "io_uring_setup": ((425, 425), (1, 0)),
    "kexec_load": ((246, 104), (0, 0, 0, 0)),
    "perf_event_open": ((298, 241), (0, 0, -1, -1, 0)),
    "userfaultfd": ((323, 282), (1,)),
    "keyctl": ((250, 219), (0, -3, 0)),
    "add_key": ((248, 217), (0, 0, 0, 0, -3)),
    "process_vm_readv": ((310, 270), (0, 0, 0, 0, 0, 0)),
    "open_by_handle_at": ((304, 265), (-1, 0, 0)),
    "setns": ((308, 268), (-1, 0)),
    "unshare": ((272, 97), (0,)),
    "mount_setattr": ((442, 442), (-1, 0, 0, 0, 0)),
    "io_uring_enter": ((426, 426), (-1, 0, 0, 0, 0, 0)),
    "finit_module": ((313, 273), (-1, 0, 0)),
    "pidfd_getfd": ((438, 438), (-1, 0, 0)),
    "kcmp": ((312, 272), (1, 1, 99, 0, 0)),
}
COLUMN = ("x86_64", "aarch64").index(platform.machine()) if platform.machine() != "arm64" else 1
EPERM, ENOSYS = 1, 38


async def answer(room: Room, number: int, arguments: tuple[int, ...]) -> int:
    """The error number of one system call, made in the box; 0 when it went through."""
    said = await room.python(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"found = libc.syscall({number}, *map(ctypes.c_long, {arguments!r}))\n"
        "print(ctypes.get_errno() if found < 0 else 0)\n"
    )
    return int(said or -1)


def refused(name: str, number: int, arguments: tuple[int, ...]) -> None:
    @case(f"the system call {name} is refused", where=BOTH)
    async def tried(room: Room) -> None:
        assert await answer(room, number, arguments) == EPERM


for _name, (_numbers, _arguments) in CALLS.items():
    refused(_name, _numbers[COLUMN], _arguments)


@case("clone3 does not exist, and clone makes no namespaces", where=BOTH)
async def clone(room: Room) -> None:
    assert await answer(room, 435, (0, 0)) == ENOSYS
    new_user = 0x10000000
    assert await answer(room, (56, 220)[COLUMN], (new_user, 0, 0, 0, 0)) == EPERM


@case("nothing can be typed into a terminal", where=BOTH)
async def typing(room: Room) -> None:
    for request in (0x5412, 0x541C):
        assert await answer(room, (16, 29)[COLUMN], (0, request, 0)) == EPERM


@case("sockets of other families cannot be made", where=BOTH)
async def families(room: Room) -> None:
    packet, alg, vsock, bluetooth = 17, 38, 40, 31
    said = await room.python(
        "import socket\n"
        f"for family in ({packet}, {alg}, {vsock}, {bluetooth}):\n"
        "    try: socket.socket(family, socket.SOCK_RAW); print('made')\n"
        "    except OSError as wrong: print(wrong.errno)\n"
    )
    assert said.split() == [str(EPERM)] * 4


@case("calls by another architecture's numbers end the process", where=BOTH)
async def other_numbers(room: Room) -> None:
    if platform.machine() != "x86_64":
        return
    x32_getpid, bad_call = 0x40000000 | 39, 128 + 31
    ran = await room.run(
        f"/usr/bin/python3 -I -c 'import ctypes; ctypes.CDLL(None).syscall({x32_getpid})'; echo $?"
    )
    assert str(bad_call) in ran.output.decode()
