"""From a command and what holds it here to the plan that the launcher is given."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from studio.core.sandboxes import paths
from studio.core.sandboxes.box import bubblewrap, cgroups
from studio.core.sandboxes.box import limits as bounds
from studio.core.sandboxes.box.launching import memory
from studio.core.sandboxes.box.plan import FIRST, PROXY_PORT, Isolation, Plan, mount_point
from studio.core.sandboxes.box.probe import Machine
from studio.core.sandboxes.contract import Command, Limits, SandboxError

LONGEST_LINE = 127 * 1024  # bytes; Linux allows 128 KiB in one argument
MOST_FILES = 64
_SCRATCH = 256 * 1024**2  # bytes of /tmp at most
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_PROXY = f"http://127.0.0.1:{PROXY_PORT}"
_PROXY_NAMES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")
# What Landlock leaves beside the disk: programs, what they load, and devices that hold nothing.
_READ = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/dev/zero",
         "/dev/random", "/dev/urandom", *bubblewrap.SHOWN)  # fmt: skip
_WRITE = ("/dev/null",)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where commands of one environment run. `with_egress`: there is an allow-list."""

    disk: Path
    machine: Machine
    limits: Limits
    group: cgroups.Group | None
    with_egress: bool


@contextmanager
def prepared(command: Command, place: Place) -> Iterator[tuple[Plan, list[int]]]:
    """The plan of a command, and the descriptors that go with it, open meanwhile.

    Raises SandboxError when it asks for what cannot be given; nothing ran then.
    """
    _check(command, place.machine)
    descriptors = list[int]()
    try:
        match place.machine.isolation:
            case "bubblewrap":
                yield _boxed(command, place, descriptors), descriptors
            case "landlock" | "none" as isolation:
                yield _bare(command, place, isolation), descriptors
            case None:
                raise SandboxError("sandbox.unavailable", place.machine.words)
    finally:
        for item in descriptors:
            os.close(item)


def _check(command: Command, machine: Machine) -> None:
    wrong = None
    try:
        size = len(command.line.encode("utf-8"))
    except UnicodeEncodeError:
        size, wrong = 0, "The command is not UTF-8. Write it otherwise."
    if "\0" in command.line:
        wrong = "A command cannot hold a null character. Write it without."
    if size > LONGEST_LINE:
        wrong = "A command has at most 127 KiB. Write it to a file, and run that."
    for name, value in command.variables.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            wrong = f"{name} cannot be a variable. Letters, digits and _ make a name."
    if len(command.files) > MOST_FILES or not all(map(_FILE.fullmatch, command.files)):
        wrong = f"At most {MOST_FILES} secret files, with letters, digits, dots, _ and - in names."
    if command.files and machine.isolation in {"landlock", "none"}:
        wrong = "Secrets can be given as files only where bubblewrap works. Use variables."
    if wrong is not None:
        raise SandboxError("sandbox.unsupported", wrong)


def _variables(command: Command, home: str, *, with_egress: bool) -> dict[str, str]:
    found = {"PATH": _PATH, "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"}
    if with_egress:
        found |= dict.fromkeys(_PROXY_NAMES, _PROXY)
    return {**found, **command.variables}


def _boxed(command: Command, place: Place, descriptors: list[int]) -> Plan:
    """In bubblewrap. The descriptors are opened one by one, in the order of their numbers."""
    machine, limits = place.machine, place.limits
    given = FIRST + 1  # the first holds the arguments themselves
    files = {name: given + index for index, name in enumerate(command.files)}
    options = bubblewrap.arguments(
        bubblewrap.Profile(
            disk=_shown_disk(place), cwd=_inside(command.cwd),
            scratch=min(_SCRATCH, limits.memory // 4),
            variables=_variables(command, paths.ROOT, with_egress=place.with_egress), files=files,
        )
    )  # fmt: skip
    contents = [memory(name, data) for name, data in command.files.items()]
    if machine.filter is not None:
        options += ["--seccomp", str(given + len(contents))]
        contents.append(memory("filter", machine.filter))
    status = given + len(contents)
    options += ["--json-status-fd", str(status)]
    if place.with_egress:
        options += ["--block-fd", str(status + 1)]
    descriptors += [memory("arguments", "\0".join([*options, ""]).encode()), *contents]
    # The kernel does not bound the processes of its user 0, also when others are inside.
    most = None if os.geteuid() == 0 and machine.user is None else limits.processes
    return Plan(
        isolation="bubblewrap",
        program=[bubblewrap.PROGRAM, "--args", str(FIRST), "--",
                 *bounds.shell(command.line, most)],
        disk=str(place.disk), is_moved=machine.is_moved, egress=place.with_egress,
        user=machine.user, joins=_joins(place), limits=_bounds(place),
    )  # fmt: skip


def _bare(command: Command, place: Place, isolation: Isolation) -> Plan:
    """Without namespaces: held by Landlock, or by nothing."""
    machine, disk = place.machine, _shown_disk(place)
    closed = machine.filter_closed if isolation == "landlock" else None
    return Plan(
        isolation=isolation, program=bounds.shell(command.line, None),
        disk=str(place.disk), is_moved=machine.is_moved,
        cwd="/".join([disk, *paths.parts(command.cwd)]),
        variables={**_variables(command, disk, with_egress=False), "TMPDIR": disk},
        write=[disk, *_WRITE], read=_READ, filter=closed.hex() if closed else "",
        processes=place.limits.processes if place.group is None else None,
        user=machine.user, joins=_joins(place), limits=_bounds(place),
    )  # fmt: skip


def _shown_disk(place: Place) -> str:
    """Where the disk is for the one who starts the command."""
    return mount_point() if place.machine.is_moved else str(place.disk)


def _joins(place: Place) -> tuple[str, ...]:
    return place.group.joins if place.group else ()


def _bounds(place: Place) -> dict[str, int]:
    found = bounds.of(place.limits, memory_is_bounded=place.group is not None)
    return {str(name): most for name, most in found.items()}


def _inside(cwd: str) -> str:
    return "/".join([paths.ROOT, *paths.parts(cwd)])
