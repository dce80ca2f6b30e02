"""What happens in a cell: a session is started, people decide, and it comes to its end.

A scene says what the agent does (the scripted model follows the message), how people answer, and
what must have become of it. People settle an uncertain call by the truth: the receiver's own log.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.checker import Tool
from tests.crash.driver import Driver

Decision = tuple[str, str, dict[str, Any]]  # who, choice, and what more goes with it

TOOLS: dict[str, Tool] = {
    "keyed": Tool(keyed=True),
    "slowly": Tool(keyed=True),
    "plain": Tool(keyed=False),
    "telling": Tool(keyed=False),
    "drawn": Tool(keyed=False),
    "guarded": Tool(keyed=True, approvers=1),
    "strict": Tool(keyed=False, approvers=1),
    "double": Tool(keyed=True, approvers=2),
    "brief": Tool(keyed=True, approvers=1),
    "ask_person": Tool(keyed=False),
    "wait_until": Tool(keyed=False),
    "save_artifact": Tool(keyed=True),
}
PLATFORM = ("ask_person", "wait_until", "save_artifact")
ANSWERS_AFTER = {"slowly": 1_500, "drawn": 1_500}  # milliseconds; the rest at once
RULES: list[Any] = [
    {"effect": "allow"},
    {"effect": "ask", "tool": "guarded"},
    {"effect": "ask", "tool": "strict"},
    {"effect": "ask", "tool": "double", "approvers": 2},
    {"effect": "ask", "tool": "brief", "expires_seconds": 1},
]


def manifests(receiver: str, model: str) -> list[Any]:
    """The agents: one that follows the message, one with a model over HTTP."""
    tools = [
        {
            "name": name, "kind": "http", "description": "A tool.", "method": "POST",
            "url": f"{receiver}/slow/{ANSWERS_AFTER.get(name, 20)}",
            "input": {"type": "object", "properties": {"tag": {"type": "string"}}},
            "timeout": 20, "repeatable": tool.keyed,
            "on_uncertain": "tell" if name == "telling" else "ask",
        }
        for name, tool in TOOLS.items()
        if name not in PLATFORM
    ]  # fmt: skip
    scripted = {"provider": "scripted", "name": "scripted"}
    small = {**scripted, "context_window": 512}
    chat = {"provider": "chat", "name": "normal", "base_url": model}
    return [
        {"name": "crash", "description": "", "instructions": "Do it.", "model": scripted,
         "tools": tools},
        {"name": "small", "description": "", "instructions": "Do it.", "model": small,
         "tools": tools},
        {"name": "chatty", "description": "", "instructions": "Talk.", "model": chat},
    ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the agent is told, who decides what of each tool, and what must come of it."""

    message: str
    decisions: Mapping[str, tuple[Decision, ...]] = field(default_factory=dict)
    act: "Callable[[Stage], None] | None" = None  # beside the decisions
    agent: str = "crash"
    ends: str = "completed"
    then: str = ""  # a second message, once the first turn is over
    never: tuple[str, ...] = ()  # tools that must not have run
    files: Mapping[str, bytes] = field(default_factory=dict)  # that are uploaded with the message
    keeps: Mapping[str, bytes] = field(default_factory=dict)  # what it has then, each in 1 version


@dataclass
class Stage:
    """A scene that is played."""

    scene: Scene
    driver: Driver
    received: Path
    session_id: str = ""
    closed: set[str] = field(default_factory=set)

    def play(self) -> None:
        """From the first message to the end of the last turn."""
        uploads = [self.driver.upload(data, name) for name, data in self.scene.files.items()]
        self.session_id = self.driver.start(
            self._message(self.scene.message), self.scene.agent, uploads
        )
        if self.scene.act is not None:
            self.scene.act(self)
        self.operate(1)
        if self.scene.then:
            self.driver.send(self.session_id, self._message(self.scene.then))
            self.operate(2)

    def operate(self, turns: int) -> None:
        """Decide what waits until so many turns are over and nothing waits."""
        self.driver.until("the end of the turn", lambda: self._is_quiet(turns))

    def lines(self) -> list[dict[str, Any]]:
        """What the receiver wrote down of this cell."""
        return received(self.received, self.driver.tag)

    def wait(self, kind: str = "approval") -> str:
        """The first wait of a kind, once it is open."""
        return str(self.driver.until(f"a wait: {kind}", lambda: self._first(kind)))

    def _first(self, kind: str) -> str | None:
        opened = self._told("wait.opened")
        return next((e["payload"]["wait_id"] for e in opened if e["payload"]["kind"] == kind), None)

    def _told(self, kind: str) -> list[dict[str, Any]]:
        assert self.driver.follower is not None
        return self.driver.follower.of(kind)

    def _is_quiet(self, turns: int) -> bool:
        for event in self._told("wait.opened"):
            if event["payload"]["wait_id"] not in self.closed:
                self._answer(event)
        ended = sum(len(self._told(f"turn.{end}")) for end in ("completed", "failed", "cancelled"))
        return ended >= turns and len(self._told("wait.opened")) == len(self.closed)

    def _answer(self, event: dict[str, Any]) -> None:
        wait_id, kind = event["payload"]["wait_id"], event["payload"]["kind"]
        self.closed.add(wait_id)
        if kind == "uncertain":
            self.driver.decide(wait_id, self._truth(event["effect_id"]))
        elif kind == "question":
            self.driver.decide(wait_id, "answer", answer="the second")
        elif kind == "approval":
            for who, choice, more in self.scene.decisions.get(self._tool(event["effect_id"]), ()):
                self.driver.decide(wait_id, choice, who, **self._given(more))

    def _truth(self, effect_id: str) -> str:
        started = [e for e in self._told("call.started") if e["effect_id"] == effect_id]
        keys = {event["payload"]["key"] for event in started}
        return "ran" if any(line["key"] in keys for line in self.lines()) else "did_not_run"

    def _tool(self, effect_id: str) -> str:
        proposed = self._told("call.proposed")
        return next(str(e["payload"]["tool"]) for e in proposed if e["effect_id"] == effect_id)

    def _message(self, text: str) -> str:
        return text.replace("TAG", self.driver.tag)

    def _given(self, more: dict[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = json.loads(self._message(json.dumps(more)))
        return given


def received(log: Path, tag: str) -> list[dict[str, Any]]:
    """The lines of a receiver's log that carry a tag."""
    text = log.read_text("utf-8") if log.exists() else ""
    lines = [json.loads(line) for line in text.splitlines() if tag in line]
    return [line for line in lines if line["body"].get("tag") == tag]


# Acts ---------------------------------------------------------------------------------------------


def _cancel_while_out(stage: Stage) -> None:
    """Stop the turn while a call is out."""
    stage.driver.until("the call to come", stage.lines)
    stage.driver.cancel(stage.session_id)


def _cancel_while_held(stage: Stage) -> None:
    stage.closed.add(stage.wait())
    stage.driver.cancel(stage.session_id)


def _decide_too_late(stage: Stage) -> None:
    """Approve after the deadline, once whoever saw it pass is dead."""
    wait_id = stage.wait()
    stage.closed.add(wait_id)
    stage.driver.until("the kill", stage.driver.house.hits)
    stage.driver.decide(wait_id, "approve")


def _decide_at_the_deadline(stage: Stage) -> None:
    """Approve in the very moment in which it expires."""
    wait_id = stage.wait()
    stage.closed.add(wait_id)
    stage.driver.decide(wait_id, "approve")


# Scenes -------------------------------------------------------------------------------------------


def _call(tool: str, number: int = 1) -> str:
    return f'call {tool} {{"tag":"TAG","n":{number}}}'


def _say(*steps: str) -> str:
    return "\nthen\n".join([*steps, "say done"])


YES: Decision = ("bob", "approve", {})
BOB: Decision = ("bob", "approve", {"browser": True})  # where two people are asked, no key counts
CHARLIE: Decision = ("charlie", "approve", {"browser": True})
NO: Decision = ("bob", "deny", {"reason": "Not today."})
EDIT: Decision = ("bob", "approve", {"arguments": {"tag": "TAG", "n": 99}})

LINE = "A line of what was kept. "
PAGES = LINE.encode() * 60_000  # more than one piece of the store

SCENES: dict[str, Scene] = {
    "keyed call": Scene(message=_say(_call("keyed"))),
    "unkeyed call": Scene(message=_say(_call("plain"))),
    "unkeyed call, model told": Scene(message=_say(_call("telling"))),
    "three calls": Scene(
        message=_say("\n".join((_call("keyed", 1), _call("plain", 2), _call("keyed", 3))))
    ),
    "held call": Scene(message=_say(_call("guarded")), decisions={"guarded": (YES,)}),
    "held unkeyed call": Scene(message=_say(_call("strict")), decisions={"strict": (YES,)}),
    "denied call": Scene(
        message=_say(_call("guarded")), decisions={"guarded": (NO,)}, never=("guarded",)
    ),
    "edited call": Scene(message=_say(_call("guarded")), decisions={"guarded": (EDIT,)}),
    "two people": Scene(message=_say(_call("double")), decisions={"double": (BOB, CHARLIE)}),
    "question": Scene(message=_say('ask Which one? {"type":"string"}')),
    "expired call": Scene(message=_say(_call("brief")), act=_decide_too_late, never=("brief",)),
    "stop, keyed call out": Scene(
        message=_say(_call("slowly")), act=_cancel_while_out, ends="cancelled"
    ),
    "stop, unkeyed call out": Scene(
        message=_say(_call("drawn")), act=_cancel_while_out, ends="cancelled"
    ),
    "stop, held call": Scene(
        message=_say(_call("guarded")), act=_cancel_while_held, ends="cancelled",
        never=("guarded",),
    ),
    "slow answer": Scene(message="slow 30 one two three four five six seven eight nine ten"),
    "a summary": Scene(  # the talk grows past a small model's window in the second turn
        message=_say(_call("keyed", 1)) + f"\nsay {'words ' * 200}",
        then=_say(_call("plain", 2)) + f"\nsay {'words ' * 120}", agent="small",
    ),
    "a saved file": Scene(
        message=_say(f'call save_artifact {{"name":"a.txt","text":"{LINE * 20}"}}'),
        keeps={"a.txt": LINE.encode() * 20},
    ),
    "an upload": Scene(message="say seen", files={"b.txt": PAGES}, keeps={"b.txt": PAGES}),
    "two messages": Scene(message="say one", then="say two"),
    "model over HTTP": Scene(message="TAG", agent="chatty"),
    "everything": Scene(
        message=_say(
            "\n".join((_call("keyed", 1), _call("plain", 2), _call("guarded", 3))),
            _call("double", 4), 'ask Which one? {"type":"string"}',
        ),
        decisions={"guarded": (EDIT,), "double": (BOB, CHARLIE)}, then=_say(_call("telling", 5)),
    ),
}  # fmt: skip
