"""The filter, run by a small machine that does what the kernel's does."""

import struct

import pytest

from studio.core.sandboxes.box import seccomp

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
MACHINES = list(seccomp.MACHINES.items())
NAMES = [name for name, _ in MACHINES]


def answer(program: bytes, number: int, *arguments: int, audit: int) -> int:
    """What the filter answers a call with; classic BPF as in linux/filter.h, without the rest."""
    data = struct.pack("<IIQ6Q", number, audit, 0, *(list(arguments) + [0] * 6)[:6])
    steps = list(struct.iter_unpack("<HBBI", program))
    at, value = 0, 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        if code == 0x06:
            return operand
        elif code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}
            at += yes if holds[code] else no


@pytest.fixture(params=MACHINES, ids=NAMES)
def machine(request):
    return request.param


def test_listed_calls_are_refused_and_others_are_not(machine):
    name, known = machine
    program = seccomp.program(name)
    assert program is not None
    special = {known.clone, known.socket, known.ioctl, 435}

    for number in range(600):
        found = answer(program, number, 2, audit=known.audit)
        if number in known.refused.values():
            assert found == EPERM, number
        elif number not in special:
            assert found == ALLOW, number
    assert answer(program, 435, audit=known.audit) == ENOSYS


def test_arguments_decide_where_they_must(machine):
    name, known = machine
    program = seccomp.program(name)
    assert program is not None

    def found(number, *arguments):
        return answer(program, number, *arguments, audit=known.audit)

    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000,
                 0x40000000, 0x80):  # fmt: skip
        assert found(known.clone, flag | 17) == EPERM
    assert found(known.clone, 0x01200011) == ALLOW
    assert [found(known.ioctl, 0, request) for request in (0x5412, 0x541C, 0x5401)] == [
        EPERM, EPERM, ALLOW,
    ]  # fmt: skip
    assert {family for family in range(64) if found(known.socket, family) == ALLOW} == {
        1, 2, 10, 16,
    }  # fmt: skip


def test_a_closed_filter_leaves_no_sockets(machine):
    name, known = machine
    program = seccomp.program(name, sockets=False)
    assert program is not None

    assert {answer(program, known.socket, family, audit=known.audit) for family in range(64)} == {
        EPERM
    }
    assert answer(program, known.ioctl, 0, 0x5401, audit=known.audit) == ALLOW


def test_other_architectures_end_the_process(machine):
    name, known = machine
    program = seccomp.program(name)
    assert program is not None

    for other in (0x40000003, 0x40000028, 0):
        assert answer(program, 39, audit=other) == KILL
    if known.has_x32:
        assert answer(program, 0x40000000 | 39, audit=known.audit) == KILL


def test_a_machine_that_is_not_known_has_no_filter():
    assert seccomp.program("mips64") is None


def test_a_filter_is_as_long_as_the_kernel_takes(machine):
    program = seccomp.program(machine[0])

    assert program is not None
    assert len(program) % 8 == 0
    assert len(program) // 8 <= 4_096
