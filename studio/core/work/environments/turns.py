"""Turns: what a session gets of its environment, and what is kept of it when the turn is over."""

import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

from studio.core.rules import events as e
from studio.core.rules import ids
from studio.core.rules.environments.environment import Environment
from studio.core.rules.errors import Refused, StudioError
from studio.core.rules.session import Session, Turn
from studio.core.sandboxes.contract import SandboxError
from studio.core.store import secrets as uses
from studio.core.tools.disk import calls as disk
from studio.core.tools.disk.desk import Desk, Opened
from studio.core.tools.tool import (
    Gap,
    Kit,
    Lends,
    Offered,
    Result,
    Tool,
    ToolError,
    ToolSpec,
)
from studio.core.work.environments import keeping, outputs, secrets, setup, staging
from studio.core.work.environments.locks import Locked
from studio.core.work.environments.places import Place, Places

log = logging.getLogger("studio.worker")

KEEP_SECONDS = 2.0  # to wait for other sessions' commands before their disk is kept as it moves
MOST_DESKS = 1_000


class Turns:
    """Serves sessions for a driver."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._desks: OrderedDict[tuple[str, str], Desk] = OrderedDict()
        self._kept: OrderedDict[str, str] = OrderedDict()  # the last turn that was kept, by session

    async def ready(self, session: Session, offered: Offered) -> str:
        """Have the environment ready for a turn's first step; "" or why it is not."""
        if session.environment_id is None:
            return ""
        id = session.environment_id
        try:
            if session.past:
                await self._ended(session, session.past[-1])
            words = await setup.ready(self.places, id, _ref(session))
            if not words and offered.packages:
                place = await self.places.open(id)
                async with self.places.locks.working(id):
                    await staging.stage(place, offered.packages)
            return words
        except (SandboxError, StudioError) as wrong:
            words = self.places.opening.values.mask.text(str(wrong))
            return f"The environment cannot be used. {words}"

    async def lends(self, session: Session) -> Lends | None:
        """What its environment lends to servers over HTTP; None when it lends nothing ever."""
        if session.environment_id is None:
            return None
        environment = await self.places.find(session.environment_id)
        if environment is None or environment.deleted is not None:
            return None
        return secrets.lends(environment, self.places.opening.of(environment.id))

    async def joined(self, session: Session, offered: Offered) -> Offered:
        """What is offered, with the tools of the environment, and its secrets for calls."""
        if session.environment_id is None:
            return offered
        environment = await self.places.find(session.environment_id)
        if environment is None or environment.deleted is not None:
            words = "The environment of this session was deleted."
            return replace(offered, gaps=(*offered.gaps, Gap(source="environment", message=words)))
        tools = {name: self._with_secret(environment, tool) for name, tool in offered.tools.items()}
        if environment.kind == "none":
            return replace(offered, tools=tools)
        try:
            place = await self.places.open(environment.id)
        except (SandboxError, StudioError) as wrong:
            words = self.places.opening.values.mask.text(str(wrong))
            gap = Gap(source=f"environment {environment.name}", message=words)
            return replace(offered, tools=tools, gaps=(*offered.gaps, gap))
        own = disk.tools(
            self._desk(session, environment, place), place=f"environment {environment.name}",
            identity=f"{environment.id} {environment.puts}",
        )  # fmt: skip
        there: dict[str, Tool] = {
            name: AtWork(tool, self.places, environment.id)
            for name, tool in own.items()
            if name not in tools
        }
        return replace(offered, tools={**tools, **there})

    async def labels(self, id: str) -> tuple[str, ...]:
        """The labels of an environment that the policy looks at, as k=v."""
        environment = await self.places.find(id)
        found = environment.labels if environment is not None else {}
        return tuple(f"{key}={value}" for key, value in found.items())

    async def ended(self, session: Session) -> None:
        """Keep what a turn left on the disk, once; a fault of it never fails the turn."""
        if session.environment_id is not None and session.turn is not None:
            await self._ended(session, session.turn)

    async def _ended(self, session: Session, turn: Turn) -> None:
        if not turn.is_over:
            return
        if self._kept.get(session.id) == turn.id or turn.started is None:
            return
        try:
            await self._keep(session, e.TurnRef(session_id=session.id, turn_id=turn.id))
        except Refused as wrong:  # it was deleted meanwhile
            log.info("What the turn %s left on its disk is not kept: %s", turn.id, wrong)
        except Exception:
            log.exception("What the turn %s left on its disk could not be kept.", turn.id)
        self._kept[session.id] = turn.id
        while len(self._kept) > MOST_DESKS:
            self._kept.popitem(last=False)

    async def _keep(self, session: Session, turn: e.TurnRef) -> None:
        assert session.environment_id is not None, "asked of sessions that have one"
        environment = await self.places.find(session.environment_id)
        if environment is None or environment.deleted is not None or environment.setup != "ok":
            return
        if environment.kind == "none":
            return
        place = await self.places.open(environment.id)
        async with self._calm(environment.id) as is_still:
            if environment.definition.get("keep", "turn") == "turn":
                await keeping.keep(self.places, place, "turn", turn=turn, is_still=is_still)
            await outputs.export(self.places, place, session, turn, is_still=is_still)

    @asynccontextmanager
    async def _calm(self, id: str) -> AsyncIterator[bool]:
        """The disk alone; or (False), where others do not rest, together with them, as it moves."""
        async with AsyncExitStack() as stack:
            try:
                alone = self.places.locks.alone(id, within=KEEP_SECONDS)
                await stack.enter_async_context(alone)
            except Locked:
                await stack.enter_async_context(self.places.locks.working(id))
                yield False
                return
            yield True

    def _desk(self, session: Session, environment: Environment, place: Place) -> Desk:
        key = (session.id, environment.id)
        desk = self._desks.get(key)
        if desk is None or desk.sandbox is not place.sandbox:
            definition = environment.definition
            desk = Desk(
                place.sandbox,
                opens=lambda names: self._opened(environment, names),
                seconds=float(definition.get("limits", {}).get("command_seconds", 30)),
                variables=dict(definition.get("variables", {})),
            )
            self._desks[key] = desk
        self._desks.move_to_end(key)
        while len(self._desks) > MOST_DESKS:
            self._desks.popitem(last=False)
        return desk

    def _opened(self, environment: Environment, names: Iterable[str]) -> Opened:
        values = self.places.opening.of(environment.id)
        return secrets.for_command(environment, values, names)

    def _with_secret(self, environment: Environment, tool: Tool) -> Tool:
        """A tool over HTTP whose address lies below one that a secret is bound to."""
        if tool.spec.lent and tool.spec.origin.kind == "mcp":  # its connection carries it
            return Noted(tool, self.places, environment.id)
        if tool.spec.origin.kind != "http":
            return tool
        url = tool.spec.destination.partition(" ")[2]
        slot = secrets.for_url(environment, url)
        value = self.places.opening.of(environment.id).get(slot.name) if slot else None
        if slot is None or value is None:
            return tool
        return Bound(tool, secrets.headers(slot, value), slot.name, self.places, environment.id)


def _ref(session: Session) -> e.TurnRef | None:
    turn = session.turn
    return e.TurnRef(session_id=session.id, turn_id=turn.id) if turn is not None else None


class AtWork:
    """A tool of the disk that works while nobody changes the disk as a whole."""

    def __init__(self, tool: Tool, places: Places, environment_id: str) -> None:
        self.spec = tool.spec
        self._tool, self._places, self._id = tool, places, environment_id

    def bound(self, arguments: Any) -> ToolSpec:
        """The spec of a call, with the secrets that it asks for."""
        asked = arguments.get("secrets") if isinstance(arguments, Mapping) else None
        names = tuple(str(name) for name in asked) if isinstance(asked, list) else ()
        return replace(self.spec, lent=names) if names else self.spec

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Do it at its place."""
        turn = e.TurnRef(session_id=kit.session_id, turn_id=ids.turn_of(kit.effect_id))
        try:
            async with self._places.at_work(self._id, kit.effect_id, turn):
                kit.begins()
                await _note(self._places, self._id, self.bound(arguments), kit)
                return await self._tool.call(arguments, kit)
        except Locked:
            words = "The disk of the environment is being kept or put back. Nothing ran; try again."
            raise ToolError("environment_busy", words, settled=True) from None
        except (SandboxError, StudioError) as wrong:
            words = self._places.opening.values.mask.text(str(wrong))
            raise ToolError(wrong.code, words, settled=True) from None


class Bound:
    """An HTTP tool whose calls carry a secret of the environment in their headers."""

    def __init__(
        self, tool: Tool, headers: Mapping[str, str], name: str, places: Places, environment_id: str
    ) -> None:
        own = tool.spec
        digest = ids.digest([own.hash, environment_id, name])
        self.spec = replace(own, lent=(name,), hash=digest)
        self._tool, self._headers = tool, headers
        self._places, self._id = places, environment_id

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Send it with the headers."""
        await _note(self._places, self._id, self.spec, kit)
        return await self._tool.call(arguments, replace(kit, headers=self._headers))


class Noted:
    """A tool of a server whose connection carries a secret of the environment."""

    def __init__(self, tool: Tool, places: Places, environment_id: str) -> None:
        self.spec = tool.spec
        self._tool, self._places, self._id = tool, places, environment_id

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Call it, and note that the secret went along."""
        await _note(self._places, self._id, self.spec, kit)
        return await self._tool.call(arguments, kit)


async def _note(places: Places, environment_id: str, spec: ToolSpec, kit: Kit) -> None:
    """Note which secrets of the environment go out now."""
    if not spec.lent:
        return
    now = places.clock.now()
    await places.db.touch(
        lambda conn: uses.used(conn, environment_id, spec.lent, now, spec.name, kit.effect_id)
    )
