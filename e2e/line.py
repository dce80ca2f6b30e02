"""The line between a browser and a studio, which a test can cut.

Chromium's own way to be offline leaves a stream that is open alone, so it proves nothing.
"""

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from e2e.studio import Studio

CHUNK = 64 * 1024


class Line:
    """Forwards bytes both ways while it is whole.

    Cut, it carries nothing and tells nobody, as when a cable is pulled: what was open stays open
    and silent, and what is opened anew is taken and never answered. Mended, all of that breaks.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._is_whole = threading.Event()
        self._is_whole.set()
        self._ends = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Carry nothing from now on."""
        self._is_whole.clear()

    def mend(self) -> None:
        """Carry what is opened from now on; what was open breaks."""
        self._break()
        self._is_whole.set()

    def close(self) -> None:
        """Take nothing more."""
        self._ends.set()
        self._is_whole.set()
        self._door.close()
        self._break()

    def _break(self) -> None:
        with self._lock:
            for one in self._sockets:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _take(self) -> None:
        while not self._ends.is_set():
            try:
                near, _address = self._door.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError), self._known(near):
            self._is_whole.wait()
            with socket.create_connection(("127.0.0.1", self._port)) as far, self._known(far):
                self._forward(near, far)

    @contextmanager
    def _known(self, one: socket.socket) -> Iterator[None]:
        with self._lock:
            self._sockets.add(one)
        try:
            yield
        finally:
            with self._lock:
                self._sockets.discard(one)

    def _forward(self, near: socket.socket, far: socket.socket) -> None:
        other = {near: far, far: near}
        with selectors.DefaultSelector() as ready:
            for one in other:
                ready.register(one, selectors.EVENT_READ)
            while not self._ends.is_set():
                for key, _events in ready.select(0.5):
                    one = key.fileobj
                    assert isinstance(one, socket.socket)
                    self._is_whole.wait()
                    data = one.recv(CHUNK)
                    if not data:
                        return
                    other[one].sendall(data)


@contextmanager
def line_to(studio: Studio) -> Iterator[Line]:
    """A line to a studio that answers to its name on any port."""
    found = Line(int(studio.url.rpartition(":")[2]))
    try:
        yield found
    finally:
        found.close()
