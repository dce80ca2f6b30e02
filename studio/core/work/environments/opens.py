"""Opens the sandbox that a definition asks for, with what this machine gives."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from studio.core.rules.environments.environment import Environment
from studio.core.sandboxes.contract import Kind, Limits, SandboxError
from studio.core.sandboxes.opening import Opener, Spec
from studio.core.tools.values import NotSet, Values
from studio.core.work.environments.places import Opened, Told

MIB = 1024**2
PIN = "image"  # the file in an environment's folder that says what its image meant at first


class Opens:
    """What `Places` opens sandboxes with. `values` opens what a manifest names."""

    def __init__(self, opener: Opener, values: Values) -> None:
        self._opener, self._values = opener, values

    async def __call__(self, environment: Environment, folder: Path, told: Told) -> Opened:
        """The sandbox; SandboxError says why there is none here."""
        spec = _spec(environment, folder, self._token(environment.definition))
        opened = await self._opener.open(spec, told, lambda pin: _keep(folder / PIN, pin))
        isolation = environment.kind
        if environment.kind == "sandbox":
            isolation = (await self._opener.machine()).isolation or "none"
        return Opened(
            sandbox=opened.sandbox, isolation=isolation,
            gaps=lambda: tuple(f"{gap.title}: {gap.words}" for gap in opened.gaps()),
        )  # fmt: skip

    async def close(self) -> None:
        """End every process that was started."""
        await self._opener.aclose()

    def _token(self, definition: Mapping[str, Any]) -> str:
        given = definition.get("token")
        if given is None:
            return ""
        try:
            return self._values.opened(given)
        except NotSet as wrong:
            words = f"The sandbox service cannot be asked. {wrong}"
            raise SandboxError("sandbox.unavailable", words) from None


def _keep(path: Path, text: str) -> None:
    path.write_text(text)


def _spec(environment: Environment, folder: Path, token: str) -> Spec:
    definition, pin = environment.definition, folder / PIN
    allow = definition.get("network", {}).get("allow", ())
    return Spec(
        kind=cast("Kind", environment.kind), identity=environment.id, folder=folder,
        limits=_limits(definition),
        places=tuple((entry["host"], tuple(entry["ports"])) for entry in allow),
        image=definition.get("image", ""), pin=pin.read_text() if pin.exists() else "",
        url=definition.get("url", ""), token=token,
        isolation=definition.get("isolation", "sandbox"),
        refuse_on_gaps=bool(definition.get("refuse_on_gaps")),
    )  # fmt: skip


def _limits(definition: Mapping[str, Any]) -> Limits:
    given = definition.get("limits", {})
    return Limits(
        memory=int(given.get("memory_mib", 1024)) * MIB,
        processes=int(given.get("processes", 128)),
        disk=int(given.get("disk_mib", 2048)) * MIB,
        command_seconds=float(given.get("command_seconds", 30)),
    )
