"""Hold: a session that this worker has, with its lease and what is out for it."""

import asyncio
from dataclasses import dataclass, field

from studio.core.store import wakes


@dataclass
class Hold:
    """A session this worker holds. `running` maps an effect to the task that waits for it."""

    lease: wakes.Lease
    good_until: float  # monotonic seconds
    out: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    grew: asyncio.Event = field(default_factory=asyncio.Event)
    running: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)
    task: "asyncio.Task[None] | None" = None
