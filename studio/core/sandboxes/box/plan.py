"""What is to be started, as it goes from the studio to the launcher: one value, as JSON.

Bytes (a filter, files with secrets) go beside it as descriptors, which the command's program finds
at `FIRST` and the numbers after it, in order.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

FIRST = 10
# Where the disk is bound for bubblewrap, in mounts that its process alone sees; the first there is.
MOUNTS = ("/mnt", "/srv", "/media", "/opt")
PROXY_PORT = 3128
START, FORGET = "start", "forget"  # what a launcher is asked for
GO, END = b"go", b"end"  # to one command: it is no longer held; end it, and say so
Isolation = Literal["bubblewrap", "landlock", "none"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A process to start. `user` is the id it runs as, None for our own.

    With `is_moved`, `disk` is bound to `mount_point()`, where any user reaches it.
    `joins` are the files of the control groups that it is started in. With `egress`, it is held
    until a listener on port 3128 inside was handed over. `write` and `read` are the paths that
    Landlock leaves. `processes` bounds them for the whole user, where nothing better can.
    """

    isolation: Isolation
    program: Sequence[str]
    options: Sequence[str] = ()
    limits: dict[str, int] = field(default_factory=dict)
    joins: Sequence[str] = ()
    user: int | None = None
    disk: str = ""
    is_moved: bool = False
    egress: bool = False
    cwd: str = "/"
    variables: dict[str, str] = field(default_factory=dict)
    write: Sequence[str] = ()
    read: Sequence[str] = ()
    filter: str = ""
    processes: int | None = None

    def packed(self) -> bytes:
        """The plan as it is sent."""
        return json.dumps(asdict(self)).encode()


def unpacked(data: bytes) -> Plan:
    """The plan that was sent."""
    found: dict[str, Any] = json.loads(data)
    return Plan(**found)


def asking(what: str, joins: Sequence[str]) -> bytes:
    """A message to a launcher: what is wanted, and in which control groups."""
    return json.dumps({"what": what, "joins": joins}).encode()


def mount_point() -> str:
    """The folder that a moved disk is bound to."""
    return next(path for path in MOUNTS if os.path.isdir(path))
