"""The port that is listened on: bound first, and named in the settings as it really is."""

import socket
from dataclasses import replace

from studio.core.rules.errors import Unavailable
from studio.settings import Settings


def listen(settings: Settings) -> socket.socket:
    """The listening socket, bound before anything is opened, so that a taken port says so first."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise Unavailable(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}. Another program "
            "may have the port; stop it, or set STUDIO_PORT to a free one.",
            code="port.taken",
        ) from error
    listening.set_inheritable(False)
    return listening


def bound(settings: Settings, port: int) -> Settings:
    """The settings with the port that was really bound (STUDIO_PORT=0 lets the system choose)."""
    if settings.port == port:
        return settings
    hosts = tuple(name.replace(":0", f":{port}") for name in settings.hosts)
    return replace(settings, port=port, url=settings.url.replace(":0", f":{port}"), hosts=hosts)
