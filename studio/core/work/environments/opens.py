"""Opens the sandbox that a definition asks for, with what this machine gives."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studio.core.clock import Clock
from studio.core.network.resolver import Rules
from studio.core.rules.environments.environment import Environment
from studio.core.sandboxes.box import probe
from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.box.probe import Machine
from studio.core.sandboxes.contract import Limits, SandboxError
from studio.core.sandboxes.egress.allowing import AllowList
from studio.core.sandboxes.egress.proxy import Egress
from studio.core.sandboxes.sandbox import Box
from studio.core.work.environments.places import Opened, Told

MIB = 1024**2
ACCEPTED = {"sandbox": ("bubblewrap",), "reduced": ("bubblewrap", "landlock")}


class Opens:
    """What `Places` opens sandboxes with. `rules` are the studio's own for reaching hosts."""

    def __init__(self, *, rules: Rules, clock: Clock, machine: Machine | None = None) -> None:
        self._rules, self._clock, self._machine = rules, clock, machine
        self._launcher = Launcher()
        self._probing = asyncio.Lock()

    async def __call__(self, environment: Environment, folder: Path, told: Told) -> Opened:
        """The sandbox; SandboxError says why there is none here."""
        return await self._box(environment.definition, folder, told)

    async def close(self) -> None:
        """End every process that was started."""
        await self._launcher.close()

    async def _box(self, definition: Mapping[str, Any], folder: Path, told: Told) -> Opened:
        machine = await self._probed()
        asked = str(definition.get("isolation", "sandbox"))
        if machine.isolation not in ACCEPTED.get(asked, (machine.isolation,)):
            raise SandboxError(
                "sandbox.unavailable",
                f"This machine cannot hold commands as the environment asks. {machine.words} "
                "Install bubblewrap, or let the environment's manifest accept less isolation by "
                "name.",
            )
        found = tuple(machine.gaps.values())
        if definition.get("refuse_on_gaps") and found:
            raise SandboxError(
                "sandbox.unavailable",
                f"The environment refuses to run with hardening gaps: {' '.join(found)}",
            )
        allow = AllowList.of(
            (entry["host"], entry["ports"])
            for entry in definition.get("network", {}).get("allow", ())
        )
        serve = Egress(allow, self._rules, told, self._clock.now).serve if allow else None
        box = Box(
            folder / "disk", machine=machine, launcher=self._launcher, limits=_limits(definition),
            serve=serve,
        )  # fmt: skip
        return Opened(sandbox=box, isolation=machine.isolation, gaps=found)

    async def _probed(self) -> Machine:
        async with self._probing:
            if self._machine is None:
                self._machine = await asyncio.to_thread(probe.probe)
            return self._machine


def _limits(definition: Mapping[str, Any]) -> Limits:
    given = definition.get("limits", {})
    return Limits(
        memory=int(given.get("memory_mib", 1024)) * MIB,
        processes=int(given.get("processes", 128)),
        disk=int(given.get("disk_mib", 2048)) * MIB,
        command_seconds=float(given.get("command_seconds", 30)),
    )
