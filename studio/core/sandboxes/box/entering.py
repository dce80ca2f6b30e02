"""The way out of a box: a socket that listens inside it and is answered outside.

A process of its own enters the box's user and network namespaces (pidfd_open(2), setns(2)), binds
there, and hands the socket back. Nothing runs or is mounted inside for it.
"""

import ctypes
import json
import os
import socket

from studio.core.sandboxes.box.plan import PROXY_PORT
from studio.core.sandboxes.box.starting import check

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_WAITING = 64
_libc = ctypes.CDLL(None, use_errno=True)


def hand_over(inside: int, to: socket.socket) -> None:
    """Send `{"listening": true}` with the listener of a process's network. OSError if refused.

    `inside` is a process in the box. The caller is a process of its own: it cannot leave again.
    """
    process = os.pidfd_open(inside)
    check(_libc.setns(process, _NEW_USER | _NEW_NET))
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", PROXY_PORT))
        listener.listen(_WAITING)
        socket.send_fds(to, [json.dumps({"listening": True}).encode()], [listener.fileno()])
