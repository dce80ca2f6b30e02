"""The address that the studio answers at: bound, or why it cannot be, in words."""

import errno
import socket

from studio.core.rules.errors import Unavailable
from studio.settings import Settings


def listen(settings: Settings) -> socket.socket:
    """The listening socket, bound before anything is opened, so that a taken port says so first."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # TCP by name: asyncio turns Nagle's delay off for such sockets only, and with it each answer
    # waits some 40 ms for the other side to acknowledge its head
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        code, words = _why_not(error)
        raise Unavailable(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}. {words}",
            code=code,
        ) from error
    listening.set_inheritable(False)
    return listening


def _why_not(error: OSError) -> tuple[str, str]:
    """Why an address cannot be listened on, as a code, and what to do."""
    if error.errno == errno.EADDRINUSE:
        return "port.taken", (
            "Another program may have the port; stop it, or set STUDIO_PORT to a free one."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return "port.not_allowed", (
            "This user may not have the port; set STUDIO_PORT to one of 1024 and above."
        )
    return "host.unusable", (
        "This machine has no such address; set STUDIO_HOST to one that it has, "
        "127.0.0.1 for this machine alone."
    )
