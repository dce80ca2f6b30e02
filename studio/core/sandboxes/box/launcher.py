"""A small process that starts commands for the studio and ends them whole.

It has one thread and little memory, so a fork costs little and may prepare the new process. Each
command has a socket to the studio: closed by the studio, it ends the command; so nothing outlives
the studio, however it ends. Orphans of commands become children of this process and are ended too.
"""

import fcntl
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from studio.core.sandboxes.box import entering, processes, starting
from studio.core.sandboxes.box.plan import FORGET, GO, START, Plan, asking, unpacked

MOST_DESCRIPTORS = 200
_MESSAGE = 4_096
_SAFE = 400
_MOST_OPEN = 4_096


@dataclass(kw_only=True)
class Running:
    """A command that was started. `status` tells what bubblewrap says of it."""

    pid: int
    studio: socket.socket
    plan: Plan
    status: int
    hold: int | None = None  # written to, it lets the command go on
    helper: int | None = None
    told: bytes = b""

    def tell(self, **event: Any) -> None:
        """Tell the studio; it may no longer listen."""
        with suppress(OSError):
            self.studio.send(json.dumps(event).encode())


@dataclass(frozen=True, kw_only=True)
class Nest:
    """A launcher of ours within control groups, and our way to it."""

    pid: int
    control: socket.socket


class Launcher:
    """Everything that runs, by the process id of what was started."""

    def __init__(self, control: socket.socket, fault: str = "") -> None:
        """`fault` is why nothing can be started here."""
        self._control, self._pid, self._fault = control, os.getpid(), fault
        self._running: dict[int, Running] = {}
        self._nests: dict[tuple[str, ...], Nest] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Work until the studio is gone, then leave nothing behind."""
        starting.adopt_orphans()
        self._selector.register(self._control, selectors.EVENT_READ, self._asked)
        self._selector.register(self._woken, selectors.EVENT_READ, self._reap)
        try:
            while self._control.fileno() >= 0:
                for key, _ in self._selector.select():
                    key.data()
        finally:
            for running in self._running.values():
                os.kill(running.pid, signal.SIGKILL)
            while self._running:
                self._take(*os.waitpid(-1, 0))

    def _asked(self) -> None:
        """Do what the studio asks for, or stop when it is gone."""
        message, descriptors, *_ = socket.recv_fds(self._control, _MESSAGE, MOST_DESCRIPTORS)
        if not message:
            self._selector.unregister(self._control)
            self._control.close()
            return
        for item in descriptors:
            os.set_inheritable(item, False)
        asked = json.loads(message)
        joins = tuple(asked["joins"])
        if asked["what"] == FORGET:
            self._forget(joins)
        elif joins:
            self._pass_on(joins, descriptors)
        else:
            self._take_up(*descriptors)
            return
        for item in descriptors:
            os.close(item)

    def _take_up(self, ours: int, output: int, planned: int, *others: int) -> None:
        """Start a command here. The descriptors are ours to close."""
        studio = socket.socket(fileno=ours)
        with open(planned, "rb") as file:
            plan = unpacked(file.read())
        try:
            if self._fault:
                raise OSError(self._fault)
            self._start(plan, studio, output, [*others])
        except OSError as wrong:
            with suppress(OSError):
                studio.send(json.dumps({"refused": str(wrong)}).encode())
            studio.close()
        finally:
            for item in (output, *others):
                os.close(item)

    def _pass_on(self, joins: tuple[str, ...], descriptors: list[int]) -> None:
        """Let the launcher within these groups start a command; make it, or make it anew."""
        message = [asking(START, ())]
        try:
            socket.send_fds(self._nest(joins).control, message, descriptors)
        except OSError:
            self._forget(joins)
            socket.send_fds(self._nest(joins).control, message, descriptors)

    def _nest(self, joins: tuple[str, ...]) -> "Nest":
        """A launcher within control groups. To move a process there takes the kernel milliseconds,
        and what is started within is there from its beginning."""
        if joins in self._nests:
            return self._nests[joins]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            os.closerange(3, theirs.fileno())
            os.closerange(theirs.fileno() + 1, _MOST_OPEN)
            try:
                Launcher(theirs, _joined(joins)).serve()
            finally:
                os._exit(0)
        theirs.close()
        self._nests[joins] = Nest(pid=pid, control=ours)
        return self._nests[joins]

    def _forget(self, joins: tuple[str, ...]) -> None:
        """End the launcher within these groups, and all that runs there."""
        if (nest := self._nests.pop(joins, None)) is not None:
            nest.control.close()
            with suppress(ChildProcessError):
                os.waitpid(nest.pid, 0)

    def _start(self, plan: Plan, studio: socket.socket, output: int, others: list[int]) -> None:
        status, theirs = os.pipe2(os.O_CLOEXEC)
        handed = [*others, theirs]
        hold = None
        if plan.egress:
            block, hold = os.pipe2(os.O_CLOEXEC)
            handed.append(block)
        pid = os.fork()
        if pid == 0:
            self._child(plan, studio, output, handed)
        for item in handed[len(others) :]:
            os.close(item)
        os.set_blocking(status, False)
        running = Running(pid=pid, studio=studio, plan=plan, status=status, hold=hold)
        self._running[pid] = running
        self._selector.register(studio, selectors.EVENT_READ, lambda: self._heard(running))
        if hold is not None:
            self._selector.register(status, selectors.EVENT_READ, lambda: self._enter(running))
        running.tell(started=True)

    def _child(
        self, plan: Plan, studio: socket.socket, output: int, descriptors: list[int]
    ) -> None:
        # Out of the way of the numbers that descriptors are handed over at.
        studio = socket.socket(fileno=fcntl.fcntl(studio, fcntl.F_DUPFD_CLOEXEC, _SAFE))
        try:
            starting.become(plan, self._pid, output, descriptors)
        except (OSError, ValueError) as wrong:
            studio.send(json.dumps({"refused": str(wrong)}).encode())
        finally:
            os._exit(125)

    def _heard(self, running: Running) -> None:
        """The studio lets a held command go, or wants one ended."""
        if not self._runs(running):
            return
        try:
            word = running.studio.recv(_MESSAGE)
        except ConnectionError:
            word = b""
        if word == GO and running.hold is not None:
            with suppress(BrokenPipeError):  # it has ended, and is taken next
                os.write(running.hold, b"1")
            os.close(running.hold)
            running.hold = None
        elif word != GO:
            self._selector.unregister(running.studio)
            os.kill(running.pid, signal.SIGKILL)

    def _enter(self, running: Running) -> None:
        """Hand the listener over as soon as bubblewrap says which process is inside."""
        if not self._runs(running):
            return
        running.told += _all(running.status)
        inside = _status(running.told).get("child-pid")
        if inside is None:
            return
        self._selector.unregister(running.status)
        try:
            running.helper = os.fork()
        except OSError as wrong:
            running.tell(refused=str(wrong))
            return
        if running.helper == 0:
            try:
                entering.hand_over(inside, running.studio)
            except OSError as wrong:
                running.tell(refused=f"the network inside cannot be reached: {wrong.strerror}")
            finally:
                os._exit(0)

    def _runs(self, running: Running) -> bool:
        """Whether it was not taken yet: its end may come in one look with what was said of it, and
        be dealt with first. Its descriptors are closed then, and their numbers may be another's."""
        return self._running.get(running.pid) is running

    def _reap(self) -> None:
        """Take everything that ended."""
        _all(self._woken)
        with suppress(ChildProcessError):  # there is none at all
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                self._take(*found)

    def _take(self, pid: int, status: int) -> None:
        if pid in self._running:
            self._ended(self._running[pid], os.waitstatus_to_exitcode(status))
        for running in self._running.values():
            if running.helper == pid:
                running.helper = None

    def _ended(self, running: Running, code: int) -> None:
        """What was started is gone: end what it left, then tell the studio."""
        self._end_orphans()
        del self._running[running.pid]
        with suppress(KeyError):
            self._selector.unregister(running.studio)
        with suppress(KeyError):
            self._selector.unregister(running.status)
        said = _status(running.told + _all(running.status))
        running.tell(exit=said.get("exit-code", code), refused=said.get("refused"),
                     told="exit-code" in said and "refused" not in said)  # fmt: skip
        running.studio.close()
        os.close(running.status)
        if running.hold is not None:
            os.close(running.hold)

    def _end_orphans(self) -> None:
        """Children that we did not start are what ended commands left behind; in a box that is its
        first process, with which the kernel ends all the others."""
        while orphans := processes.children(self._pid) - self._running.keys() - self._others():
            for pid in orphans.union(*map(processes.below, orphans)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in orphans:
                with suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def _others(self) -> set[int]:
        """Children of ours that are no commands."""
        helpers = {item.helper for item in self._running.values() if item.helper is not None}
        return helpers | {nest.pid for nest in self._nests.values()}


def _joined(joins: tuple[str, ...]) -> str:
    """Join control groups; why that was refused, or an empty text."""
    try:
        for path in joins:
            with open(path, "w") as file:
                file.write("0")
    except OSError as wrong:
        return f"the control group cannot be joined: {wrong}"
    return ""


def _all(descriptor: int) -> bytes:
    """What can be read now."""
    found = b""
    with suppress(BlockingIOError):
        while piece := os.read(descriptor, 65_536):
            found += piece
    return found


def _status(told: bytes) -> dict[str, Any]:
    """What bubblewrap told, a JSON object a line; a line that is not whole yet is left out."""
    found = dict[str, Any]()
    for line in told.split(b"\n"):
        with suppress(ValueError):
            found |= json.loads(line)
    return found


def main(control: int) -> None:
    """Serve the studio at the other end of a socket."""
    os.set_inheritable(control, False)
    try:
        Launcher(socket.socket(fileno=control)).serve()
    except Exception:  # noqa: BLE001 - the last word of a process: say it, and end
        traceback.print_exc()
        sys.exit(1)
