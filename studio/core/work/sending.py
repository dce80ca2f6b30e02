"""Sending: calls, from their intent through the gate to their outcome."""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from studio.core.faults import fault
from studio.core.rules import calls, contents, digests, turn
from studio.core.rules import events as e
from studio.core.rules.files import Given
from studio.core.rules.servers import unsaid
from studio.core.rules.session import Call, Session
from studio.core.rules.spans import Names
from studio.core.tools import platform
from studio.core.tools.tool import (
    Kit,
    Offered,
    Result,
    Tool,
    ToolError,
    ToolSpec,
    spec_for,
)
from studio.core.work import hiding
from studio.core.work.hold import Hold
from studio.core.work.keeping import Keeping, Placed

if TYPE_CHECKING:
    from studio.core.work.driver import Driver

log = logging.getLogger("studio.worker")

RESULT_BYTES = 8 * 1024 * 1024
BACK_OFF_SECONDS = 0.25
RAN = frozenset({"tool.bad_result", "tool.too_large"})  # codes of an answer, so there was a run
NOT_SENT = calls.Outcome(
    code="call.not_sent", message="It was not sent: the turn was stopped first.", failed=True,
    settled=True,
)  # fmt: skip


class Sending:
    """Sends calls for a driver."""

    def __init__(self, driver: "Driver") -> None:
        self.driver = driver
        self._keeping = Keeping(driver)

    async def send(self, hold: Hold, session: Session, sends: Iterable[turn.SendCall]) -> Session:
        """Record intent for every call that may go out, in one transaction, then send them."""
        manifest = await self.driver.manifest(session)
        offered = await self.driver.offered(session, manifest)
        ready = [await self._prepare(session, send, offered) for send in sends]
        fault("call.before_intent")
        done = await self.driver.commit(
            hold, lambda s: [x for item in ready for x in item.intent(s)]
        )
        fault("call.after_intent")
        started = {
            fact.event.effect_id: fact.event
            for fact in done.facts
            if isinstance(fact.event, e.CallStarted)
        }
        for item in ready:
            fact = started.get(item.send.effect_id)
            if fact is not None and item.tool is not None:
                hold.running[fact.effect_id] = hold.out.create_task(
                    self._perform(hold, fact, item.tool, item)
                )
        return done.session

    async def _prepare(
        self, session: Session, send: turn.SendCall, offered: Offered
    ) -> "_Prepared":
        call = calls.current_call(session, send.effect_id)
        assert call is not None, "advance names calls of the turn in hand"
        if call.tool in platform.STANDING:
            return _Prepared(send=send, call=call, now=self.driver.clock.now())
        tool = offered.tools.get(call.tool)
        arguments = await self.driver.value(call.arguments)
        spec = spec_for(tool, arguments) if tool is not None else None
        if tool is None or spec is None or spec.hash != call.tool_hash:
            missing = self.driver.mask.text(_missing(call, offered))
            words = f"The tool {call.tool} cannot be reached: {missing}"
            if tool is not None:
                words = _changed(call, spec)
            problem = ("tool.missing" if tool is None else "tool.changed", words)
            return _Prepared(send=send, call=call, problem=problem)
        again = contents.of(arguments)
        digest = digests.of_call(
            effect_id=call.effect_id, tool=call.tool, tool_hash=spec.hash, origin=spec.origin,
            destination=spec.destination, arguments=again,
            agent=session.agent, agent_version=session.agent_version,
        )  # fmt: skip
        assert session.turn is not None, "its call is of the turn in hand"
        return _Prepared(
            send=send, call=call, tool=tool, arguments=arguments, digest=digest,
            caller=session.turn.caller,
        )  # fmt: skip

    async def _perform(
        self, hold: Hold, started: e.CallStarted, tool: Tool, item: "_Prepared"
    ) -> None:
        """One send: through the gate, to the tool, and its outcome into the journal."""
        said = self.driver.mask.running()
        names = Names(self.driver.trace_key, started.turn_id, item.caller)
        kit = Kit(
            key=started.key, deadline=self.driver.clock.monotonic() + tool.spec.timeout,
            session_id=hold.lease.session_id, effect_id=started.effect_id,
            held=item.call.waits > 0,
            traceparent=names.parent(f"{started.effect_id} {started.send}"),
            tracestate=names.state,
            progress=lambda done, total, words: self.driver.feed.set_progress(
                hold.lease.session_id, started.effect_id, done, total, said.line(words)
            ),
        )  # fmt: skip
        fault("call.before_send")
        self.driver.gate(hold)
        try:
            if await self._is_stopped(hold, started):
                came = NOT_SENT
            else:
                used = tool.spec.secrets
                await self.driver.opening.used(used, tool.spec.name, started.effect_id)
                came = hiding.outcome(self.driver.mask, await self._call(tool, item.arguments, kit))
            fault("call.before_outcome")
            placed = Placed(came)
            await self.driver.commit(
                hold,
                lambda s: calls.outcome(s, started.turn_id, started.effect_id, placed.came),
                placed.look,
            )
        finally:
            self.driver.feed.clear_progress(hold.lease.session_id, started.effect_id)
        fault("call.after_outcome")
        if came.unknown and tool.spec.repeatable:
            await asyncio.sleep(BACK_OFF_SECONDS * 2**started.send)  # before the same key again

    async def _is_stopped(self, hold: Hold, started: e.CallStarted) -> bool:
        """The turn was stopped since the intent was recorded: then nothing more goes out."""
        session = await self.driver.session(hold.lease.session_id)
        assert session is not None, "it has an intent"
        call = calls.current_call(session, started.effect_id)
        return call is None or call.state != "started"

    async def _call(self, tool: Tool, arguments: Any, kit: Kit) -> calls.Outcome:
        """Call the tool; whatever happens becomes an outcome, never an exception."""
        spec = tool.spec
        try:
            async with asyncio.timeout(None if spec.waits else spec.timeout + 1.0) as limit:
                if spec.waits:
                    kit = replace(kit, begins=lambda: _from_now(limit, spec.timeout + 1.0))
                if spec.name in platform.KEEPING:
                    return await self._keeping.answer(tool, arguments, kit)
                result = await tool.call(arguments, kit)
                return _came(result, await self._keeping.kept(result.files, kit, spec.name))
        except ToolError as error:
            kept = contents.of(error.result) if error.result is not None else None
            unknown = error.maybe_ran and not spec.read_only
            ran = error.code in RAN and not unknown and not spec.read_only
            message = f"It ran, but its answer cannot be used. {error.message}"
            return calls.Outcome(
                code=error.code, message=message if ran else error.message, failed=True,
                unknown=unknown,
                settled=error.settled, result=kept, masked=error.masked,
            )  # fmt: skip
        except TimeoutError:
            words = f"No answer within {spec.timeout:g} s."
            return calls.Outcome(
                code="tool.timeout", message=words, failed=True, unknown=not spec.read_only
            )
        except Exception as error:  # the one broad net: a tool's fault is a fact, not our crash
            log.exception("The tool %s failed in a way it should not.", spec.name)
            words = f"The tool broke: {type(error).__name__}."
            return calls.Outcome(
                code="tool.broken", message=words, failed=True, unknown=not spec.read_only
            )


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    """A call that is about to be sent, and the facts of its intent."""

    send: turn.SendCall
    call: Call
    tool: Tool | None = None
    arguments: Any = None
    digest: str = ""
    problem: tuple[str, str] | None = None
    now: int = 0
    caller: e.Caller | None = None

    def intent(self, session: Session) -> list[e.Event]:
        """Facts to record before the send."""
        effect_id = self.send.effect_id
        if self.problem is not None:
            code, words = self.problem
            return calls.refuse_call(session, effect_id, code=code, message=words)
        if self.tool is None:
            return self._stand(session)
        return calls.intend_call(session, self.send, digest_sent=self.digest)

    def _stand(self, session: Session) -> list[e.Event]:
        effect_id, arguments = self.send.effect_id, self.call.arguments.value
        try:
            if self.call.tool == platform.ASK_PERSON:
                asked = platform.question_of(arguments)
                deadline = (
                    self.now + asked.expires_seconds * 1000 if asked.expires_seconds else None
                )
                return calls.stand(
                    session, effect_id, kind="question", deadline=deadline, prompt=asked.prompt,
                    schema=asked.schema,
                )  # fmt: skip
            due = platform.due_of(arguments, self.now)
            return calls.stand(session, effect_id, kind="timer", deadline=due)
        except ToolError as error:
            return calls.refuse_call(session, effect_id, code=error.code, message=error.message)


def _from_now(limit: asyncio.Timeout, seconds: float) -> None:
    limit.reschedule(asyncio.get_running_loop().time() + seconds)


def _missing(call: Call, offered: Offered) -> str:
    """Why a tool is not there, of its server first, then of anything; without a server's words."""
    gaps = [gap for gap in offered.gaps if gap.kind == "missing"]
    own = [gap for gap in gaps if gap.source in {call.origin.server, call.origin.plugin}]
    return next((unsaid(gap.message) for gap in [*own, *gaps]), "It is no longer offered.")


def _changed(call: Call, spec: ToolSpec | None) -> str:
    """Why a call is not sent that is no longer what was proposed."""
    if call.origin.kind == "sandbox":
        return (
            "The disk of the environment was put back since this call was proposed, or the session "
            "works in another environment by now, so it was not sent. Ask the agent again."
        )
    return (
        f"The tool {call.tool} changed since this call was proposed{_moved(call.origin, spec)}, so "
        "it was not sent. Ask the agent again."
    )


def _moved(then: e.Origin, spec: ToolSpec | None) -> str:
    """What became of the plugin that brought a tool, in brackets; "" when it is the same."""
    now = spec.origin if spec is not None else then
    if then.plugin is None or now.plugin != then.plugin:
        return ""
    if then.plugin_version == now.plugin_version:
        return f" (the files of its plugin {now.plugin} {now.plugin_version} are others now)"
    return f" (its plugin {now.plugin} was {then.plugin_version} and is {now.plugin_version})"


def _came(result: Result, given: tuple[Given, ...]) -> calls.Outcome:
    if result.text is not None:
        content = contents.of_text(result.text, result.media)
    else:
        content = contents.of(result.value)
    if content.size > RESULT_BYTES:
        words = f"It ran; its result has {content.size:,} bytes, and {RESULT_BYTES:,} are kept."
        return calls.Outcome(code="tool.too_large", message=words, failed=True)
    return calls.Outcome(result=content, files=given, masked=result.masked)
