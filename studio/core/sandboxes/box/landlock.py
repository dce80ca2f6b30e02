"""Landlock (landlock(7)): a process gives up for good what it will not need. It asks for no rights.

It holds files, TCP and, from ABI 6 on, signals and abstract sockets. It does not hide processes.
It does not hold chmod, chown and utimes: against those a command needs a user of its own. And it
does not hold UDP or named sockets: the filter of system calls leaves no sockets instead.
"""

import ctypes
import os
import stat
import struct

# The same numbers on every architecture.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS
# Access rights by the ABI that brought them (linux/landlock.h).
_FIRST, _REFER, _TRUNCATE, _IOCTL = 0x1FFF, 0x2000, 0x4000, 0x8000
_EXECUTE, _WRITE, _READ, _LIST = 0x1, 0x2, 0x4, 0x8
_DEVICES = 0x800 | 0x40  # MAKE_BLOCK, MAKE_CHAR
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_TCP, _SCOPES = 0x3, 0x3  # bind and connect; abstract sockets and signals
_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """The version that this kernel speaks; 0 where it has none."""
    return max(0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)))


def restrict(*, write: list[str], read: list[str]) -> None:
    """Leave this process, and all it starts, these folders and files and no TCP. OSError if not.

    Paths that are not there are passed over.
    """
    version = abi()
    if version < 1:
        raise OSError("this kernel has no Landlock")
    rights = _rights(version)
    ruleset = _made(version, rights)
    for paths, allowed in ((write, rights & ~_DEVICES), (read, _EXECUTE | _READ | _LIST)):
        for path in paths:
            _allow(ruleset, path, allowed)
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(_libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def _rights(version: int) -> int:
    rights = _FIRST
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL)):
        if version >= since:
            rights |= right
    return rights


def _made(version: int, rights: int) -> int:
    attributes = struct.pack("=Q", rights)
    if version >= 4:
        attributes += struct.pack("=Q", _TCP)
    if version >= 6:
        attributes += struct.pack("=Q", _SCOPES)
    return _check(_libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0))


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, place)
        _check(_libc.syscall(_ADD, ruleset, _PATH_BENEATH, rule, 0))
    finally:
        os.close(place)


def _check(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(answer)
