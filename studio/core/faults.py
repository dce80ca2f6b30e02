"""Named crash points. Off, a point costs one look at a dictionary; on, it kills, stops or fails.

`STUDIO_FAULT="name:action:hit"` arms one point at start: `action` is kill (SIGKILL to ourselves),
stop (SIGSTOP), raise, or delay=<seconds>; `hit` counts from 1. Only tests set it.
"""

import os
import signal
import time

_armed: dict[str, tuple[str, int]] = {}
_hits: dict[str, int] = {}


class Injected(Exception):
    """Raised by a point armed with `raise`."""


def arm(name: str, action: str, hit: int = 1) -> None:
    """Arm a point; it acts at its `hit`-th pass."""
    _armed[name] = (action, hit)
    _hits[name] = 0


def disarm() -> None:
    """Forget every armed point."""
    _armed.clear()
    _hits.clear()


def arm_from(text: str) -> None:
    """Arm points from `name:action:hit`, several parted by commas."""
    for item in filter(None, text.split(",")):
        name, action, hit = item.strip().split(":")
        arm(name, action, int(hit))


def fault(name: str) -> None:
    """Pass a crash point."""
    if not _armed or name not in _armed:
        return
    action, hit = _armed[name]
    _hits[name] += 1
    if _hits[name] != hit:
        return
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif action.startswith("delay="):
        time.sleep(float(action.removeprefix("delay=")))
    else:
        raise Injected(name)
