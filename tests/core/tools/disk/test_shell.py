"""A command is told where in its turn's trace it runs."""

from typing import Any, cast

from studio.core.sandboxes.contract import Command, Ran, Sandbox
from studio.core.tools.disk import calls
from studio.core.tools.disk.desk import Desk
from studio.core.tools.tool import Kit

TRACE = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"


class Remembering:
    """A sandbox that only writes down what it is asked to run."""

    def __init__(self) -> None:
        self.commands: list[Command] = []

    async def shell(self, command: Command, told: Any) -> Ran:
        self.commands.append(command)
        return Ran(exit=0, output=b"", size=0, seconds=0.0)


async def test_a_command_sees_its_place_in_the_trace() -> None:
    sandbox = Remembering()
    desk = Desk(cast(Sandbox, sandbox), variables={"STAGE": "test"})
    shell = calls.tools(desk, place="desk", identity="i")["shell"]
    for state in ("rojo=1", None):
        kit = Kit(
            key="k", deadline=0, session_id="s", effect_id="e", traceparent=TRACE, tracestate=state
        )  # fmt: skip
        await shell.call({"command": "env"}, kit)

    first, second = (dict(command.variables) for command in sandbox.commands)
    assert first == {"STAGE": "test", "TRACEPARENT": TRACE, "TRACESTATE": "rojo=1"}
    assert second == {"STAGE": "test", "TRACEPARENT": TRACE}
