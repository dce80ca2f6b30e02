"""Worker: moves sessions on. Asks the rules, records intent, touches the world, records outcomes.

The only code that touches the world, and it decides nothing. A session is moved by one worker at a
time (a lease); every write checks the lease's fence, so a worker that was given up can record
nothing and, at the gate, send nothing.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from studio.core import judge
from studio.core.clock import Clock
from studio.core.faults import fault
from studio.core.providers.provider import (
    Message,
    ProposedCall,
    Provider,
    ProviderError,
    Reply,
    Request,
    TextDelta,
    ToolOffer,
)
from studio.core.providers.shelf import Shelf
from studio.core.rules import agent as agents_rule
from studio.core.rules import contents, context, digests, ids, turn
from studio.core.rules import events as e
from studio.core.rules.session import Call, Session
from studio.core.store import agents, listings, policies, wakes
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Committed, Journal, LeaseLost
from studio.core.store.presence import Presence
from studio.core.tools import platform
from studio.core.tools.tool import Catalog, Kit, Offered, Result, Tool, ToolError

log = logging.getLogger("studio.worker")

LEASE_SECONDS = 10.0
HEARTBEAT_SECONDS = 3.0
WATCH_SECONDS = 0.3
POLL_SECONDS = 1.0
DRAFT_SECONDS = 0.1
MODEL_SECONDS = 600.0
RESULT_BYTES = 8 * 1024 * 1024
RETRY_SECONDS = (1.0, 2.0, 5.0, 15.0)


@dataclass
class Hold:
    """A session this worker holds: its lease, how far the lease is good, and what is out."""

    lease: wakes.Lease
    good_until: float  # monotonic seconds
    out: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    grew: asyncio.Event = field(default_factory=asyncio.Event)
    running: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)
    task: "asyncio.Task[None] | None" = None
    failures: int = 0


class Worker:
    """Moves up to `concurrency` sessions at once until it is stopped."""

    def __init__(
        self, *, db: Db, journal: Journal, feed: Feed, shelf: Shelf, catalog: Catalog,
        clock: Clock, name: str, concurrency: int = 256,
    ) -> None:  # fmt: skip
        self.db, self.journal, self.feed = db, journal, feed
        self.shelf, self.catalog, self.clock = shelf, catalog, clock
        self.name, self.concurrency = name, concurrency
        self.presence = Presence(db, name, _ms(LEASE_SECONDS))
        self.holds: dict[str, Hold] = {}
        self._hinted: set[str] = set()
        self._wake = asyncio.Event()
        self._manifests: dict[tuple[str, int], agents_rule.Manifest] = {}
        self._listed: dict[tuple[str, int], str] = {}

    # Which sessions ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled; what is out then is left for the next worker to recover."""
        await self.presence.start()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen(), name="worker.listen")
                group.create_task(self._heartbeat(), name="worker.heartbeat")
                if self.db.kind == "postgresql":
                    group.create_task(self._watch(), name="worker.watch")
                await self._claim_forever(group)
        finally:
            await self.presence.close()

    async def close(self) -> None:
        """Let go of providers and tool servers."""
        await self.shelf.close()
        await self.catalog.close()

    async def _listen(self) -> None:
        async with self.feed.subscribe() as growth:
            while True:
                for session_id in await growth.get():
                    hold = self.holds.get(session_id)
                    if hold is not None:
                        hold.grew.set()
                    else:
                        self._hinted.add(session_id)
                        self._wake.set()

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            asked = self.clock.monotonic()
            try:
                ours = await wakes.renew(self.db, self.name, self.clock.now(), _ms(LEASE_SECONDS))
            except Exception:
                log.exception("The heartbeat failed; leases run out unless the next one succeeds.")
                continue
            for session_id, hold in list(self.holds.items()):
                if session_id in ours:
                    hold.good_until = asked + LEASE_SECONDS
                elif hold.task is not None and self.clock.monotonic() > hold.good_until:
                    hold.task.cancel()

    async def _watch(self) -> None:
        """Take over from workers that died: their sessions may move again at once."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                freed = await self.presence.free_dead()
            except Exception:
                log.exception("The other workers could not be looked at; leases still run out.")
                continue
            if freed:
                self._hinted.update(freed)
                self._wake.set()

    async def _claim_forever(self, group: asyncio.TaskGroup) -> None:
        backlog = True
        until = 0.0
        while True:
            free = self.concurrency - len(self.holds)
            hinted = [s for s in self._hinted if s not in self.holds]
            self._hinted.clear()
            self._wake.clear()
            if self.clock.monotonic() >= until:
                backlog = True
            if free > 0 and (hinted or backlog):
                only = None if backlog else hinted
                leases = await wakes.claim(
                    self.db, self.name, free, self.clock.now(), _ms(LEASE_SECONDS), only=only
                )
                fault("lease.claimed") if leases else None
                for lease in leases:
                    self._take(group, lease)
                if backlog:
                    until = self.clock.monotonic() + await self._rest()
                backlog = len(leases) >= free
                continue
            wait = max(0.0, until - self.clock.monotonic())
            with suppress(TimeoutError):  # not wait_for: in 3.11 it can swallow a cancellation
                async with asyncio.timeout(wait if free > 0 else POLL_SECONDS):
                    await self._wake.wait()

    async def _rest(self) -> float:
        """Seconds until the next known timer, at most one poll."""
        now = self.clock.now()
        soon = await wakes.soon(self.db, now, _ms(POLL_SECONDS))
        return min([POLL_SECONDS, *((due - now) / 1000 + 0.001 for _, due in soon)])

    def _take(self, group: asyncio.TaskGroup, lease: wakes.Lease) -> None:
        if lease.session_id in self.holds:
            return
        hold = Hold(lease=lease, good_until=self.clock.monotonic() + LEASE_SECONDS)
        self.holds[lease.session_id] = hold
        hold.task = group.create_task(self._keep(hold), name=f"session {lease.session_id}")

    async def _keep(self, hold: Hold) -> None:
        """Move one session until it rests; a fault of ours is retried later, never lost."""
        session_id = hold.lease.session_id
        try:
            async with hold.out:
                await self._drive(hold)
        except* LeaseLost:
            log.warning("Another worker took over session %s.", session_id)
        except* Exception:
            log.exception("Session %s could not be moved; it is tried again.", session_id)
            await self._give_up(hold)
        finally:
            self.holds.pop(session_id, None)
            self._hinted.add(session_id)
            self._wake.set()

    async def _give_up(self, hold: Hold) -> None:
        later = self.clock.now() + 2_000
        with suppress(Exception):
            while (again := await wakes.release(self.db, hold.lease, later)) is not None:
                hold.lease = again

    # One session ---------------------------------------------------------------------------------

    async def _drive(self, hold: Hold) -> None:
        session_id = hold.lease.session_id
        session = await self.journal.session(session_id)
        while session is not None:
            hold.grew.clear()
            self._drop_stopped(hold, session)
            now = self.clock.now()
            following = turn.advance(session, now, frozenset(hold.running))
            if following.events:
                running = frozenset(hold.running)
                fault("expiry.before_commit")
                done = await self._commit(
                    hold, lambda s, r=running: turn.advance(s, self.clock.now(), r).events
                )
                session = done.session
            elif following.ask is not None:
                session = await self._ask(hold, session, following.ask)
            elif following.sends:
                session = await self._send(hold, session, following.sends)
            elif hold.running:
                await self._await_any(hold, following.until)
                session = await self.journal.session(session_id)
            else:
                fault("turn.before_release")
                again = await wakes.release(self.db, hold.lease, following.until)
                if again is None:
                    return
                hold.lease = again
                session = await self.journal.session(session_id)

    async def _commit(self, hold: Hold, rule: Any) -> Committed:
        return await self.journal.commit(
            hold.lease.session_id, rule, at=self.clock.now(), fence=hold.lease
        )

    async def _await_any(self, hold: Hold, until: int | None) -> None:
        """Wait for an answer, for news in the journal, or for a deadline."""
        timeout = None if until is None else max(0.0, (until - self.clock.now()) / 1000)
        grew = hold.out.create_task(_nothing(hold.grew))
        try:
            await asyncio.wait(
                [grew, *hold.running.values()], timeout=timeout,
                return_when=asyncio.FIRST_COMPLETED,
            )  # fmt: skip
        finally:
            grew.cancel()
        for effect_id, task in list(hold.running.items()):
            if task.done():
                del hold.running[effect_id]

    def _drop_stopped(self, hold: Hold, session: Session) -> None:
        """Cancel what is out for a turn that is over."""
        for effect_id, task in list(hold.running.items()):
            if not _still_wanted(session, effect_id):
                task.cancel()

    # The model -----------------------------------------------------------------------------------

    async def _ask(self, hold: Hold, session: Session, ask: turn.AskModel) -> Session:
        """Record that the model is asked, then ask it beside the loop."""
        manifest = await self._manifest(session)
        offered = await self.catalog.offered(manifest.data)
        await self._list(session, offered)
        request = await self._request(session, manifest, offered)
        provider_name = str(manifest.model.get("provider", ""))
        request_hash = ids.digest(_as_json(request))
        fault("model.before_intent")
        done = await self._commit(
            hold,
            lambda s: turn.intend_model(
                s, ask, provider=provider_name, model=request.model, request_hash=request_hash
            ),
        )
        fault("model.after_intent")
        if done.facts:
            hold.running[ask.effect_id] = hold.out.create_task(
                self._think(hold, ask.effect_id, manifest, offered, request)
            )
        return done.session

    async def _request(
        self, session: Session, manifest: agents_rule.Manifest, offered: Offered
    ) -> Request:
        whole = await self._whole(session)
        said = context.talk(session, lambda c: whole.get(c.hash) or contents.words(c))
        return Request(
            model=str(manifest.model.get("name", "")),
            instructions=manifest.instructions,
            messages=tuple(_message(item) for item in said),
            tools=tuple(
                ToolOffer(name=name, description=tool.spec.description, schema=tool.spec.schema)
                for name, tool in offered.tools.items()
            ),
            output_schema=manifest.output_schema,
            options=manifest.model,
        )

    async def _whole(self, session: Session) -> dict[str, str]:
        """The full text of people's long messages within the window."""
        turns = [*session.past, *([session.turn] if session.turn else [])]
        stored = [item.message for item in turns if item.message.stored]
        texts: dict[str, str] = {}
        for content in stored:
            raw = await self.journal.blob(content.hash)
            if raw is not None:
                texts[content.hash] = raw.decode("utf-8", "surrogatepass")
        return texts

    async def _think(
        self, hold: Hold, effect_id: str, manifest: agents_rule.Manifest, offered: Offered,
        request: Request,
    ) -> None:  # fmt: skip
        """One model call: stream drafts to open pages, record the reply or the failure."""
        session_id = hold.lease.session_id
        try:
            self._gate(hold)
            provider = await self.shelf.get(manifest.model)
            async with asyncio.timeout(MODEL_SECONDS):
                reply = await self._stream(session_id, effect_id, provider, request)
            fault("model.before_outcome")
            answer = await self._judged(session_id, manifest, offered, reply)
            await self._commit(hold, lambda s: turn.reply(s, effect_id, answer, self.clock.now()))
            fault("model.after_outcome")
        except ProviderError as error:
            await self._model_failed(hold, effect_id, error)
        except TimeoutError:
            words = f"The model did not finish within {MODEL_SECONDS:.0f} s."
            slow = ProviderError("model.slow", words, permanent=False)
            await self._model_failed(hold, effect_id, slow)
        finally:
            self.feed.set_draft(session_id, effect_id, None)

    async def _stream(
        self, session_id: str, effect_id: str, provider: Provider, request: Request
    ) -> Reply:
        text, shown = "", 0.0
        async with aclosing(provider.stream(request)) as stream:  # type: ignore[type-var]
            async for item in stream:
                if isinstance(item, Reply):
                    return item
                if isinstance(item, TextDelta):
                    text += item.text
                    if self.clock.monotonic() - shown >= DRAFT_SECONDS:
                        self.feed.set_draft(session_id, effect_id, text)
                        shown = self.clock.monotonic()
                    fault("model.mid_stream")
        raise ProviderError(
            "model.cut_off", "The model's answer broke off before its end.", permanent=False
        )

    async def _model_failed(self, hold: Hold, effect_id: str, error: ProviderError) -> None:
        def rule(session: Session) -> list[e.Event]:
            attempt = session.turn.model.attempt if session.turn and session.turn.model else 1
            pause = error.retry_after or RETRY_SECONDS[min(attempt, len(RETRY_SECONDS)) - 1]
            return turn.model_failed(
                session, effect_id, code=error.code, message=error.message,
                permanent=error.permanent, retry_at=self.clock.now() + _ms(min(pause, 3600.0)),
            )  # fmt: skip

        await self._commit(hold, rule)

    async def _judged(
        self, session_id: str, manifest: agents_rule.Manifest, offered: Offered, reply: Reply
    ) -> turn.ModelAnswer:
        session = await self.journal.session(session_id)
        policy = await self.db.read(policies.current)
        name = session.agent if session is not None else manifest.name
        calls = tuple(judge.call(call, offered, policy, name) for call in reply.calls)
        output, bad = judge.output(manifest.output_schema, reply.text, done=not reply.calls)
        return turn.ModelAnswer(
            text=contents.of_text(reply.text), usage=reply.usage, stop=reply.stop, calls=calls,
            output=output, bad_output=bad,
        )  # fmt: skip

    # Calls ---------------------------------------------------------------------------------------

    async def _send(self, hold: Hold, session: Session, sends: Iterable[turn.SendCall]) -> Session:
        """Record intent for every call that may go out, in one transaction, then send them."""
        manifest = await self._manifest(session)
        offered = await self.catalog.offered(manifest.data)
        ready = [await self._prepare(session, send, offered) for send in sends]
        fault("call.before_intent")
        done = await self._commit(hold, lambda s: [x for item in ready for x in item.intent(s)])
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
                    self._perform(hold, fact, item.tool, item.arguments)
                )
        return done.session

    async def _prepare(
        self, session: Session, send: turn.SendCall, offered: Offered
    ) -> "_Prepared":
        call = turn.current_call(session, send.effect_id)
        assert call is not None, "advance names calls of the turn in hand"
        if call.origin.kind == "platform":
            return _Prepared(send=send, call=call, now=self.clock.now())
        tool = offered.tools.get(call.tool)
        if tool is None or tool.spec.hash != call.tool_hash:
            missing = next((gap.message for gap in offered.gaps), "It is no longer offered.")
            words = (
                f"The tool {call.tool} cannot be reached: {missing}"
                if tool is None
                else f"The tool {call.tool} changed since this call was proposed, so it was not "
                "sent. Ask the agent again."
            )
            problem = ("tool.missing" if tool is None else "tool.changed", words)
            return _Prepared(send=send, call=call, problem=problem)
        arguments = await self._value(call.arguments)
        again = contents.of(arguments)
        digest = digests.of_call(
            effect_id=call.effect_id, tool=call.tool, tool_hash=tool.spec.hash,
            origin=tool.spec.origin, destination=tool.spec.destination, arguments=again,
            agent=session.agent, agent_version=session.agent_version,
        )  # fmt: skip
        return _Prepared(send=send, call=call, tool=tool, arguments=arguments, digest=digest)

    async def _perform(
        self, hold: Hold, started: e.CallStarted, tool: Tool, arguments: Any
    ) -> None:
        """One send: through the gate, to the tool, and its outcome into the journal."""
        kit = Kit(
            key=started.key, deadline=self.clock.monotonic() + tool.spec.timeout,
            session_id=hold.lease.session_id, effect_id=started.effect_id,
            progress=lambda done, total, words: self.feed.set_progress(
                hold.lease.session_id, started.effect_id, done, total, words
            ),
        )  # fmt: skip
        fault("call.before_send")
        self._gate(hold)
        came = await self._call(tool, arguments, kit)
        fault("call.before_outcome")
        await self.journal.commit(
            hold.lease.session_id,
            lambda s: turn.outcome(s, started.turn_id, started.effect_id, came),
            at=self.clock.now(), fence=hold.lease,
        )  # fmt: skip
        fault("call.after_outcome")
        if came.unknown and tool.spec.repeatable:
            await asyncio.sleep(0.25 * 2**started.send)  # back off before the same key goes again

    async def _call(self, tool: Tool, arguments: Any, kit: Kit) -> turn.Outcome:
        """Call the tool; whatever happens becomes an outcome, never an exception."""
        spec = tool.spec
        try:
            async with asyncio.timeout(spec.timeout + 1.0):
                return _came(await tool.call(arguments, kit))
        except ToolError as error:
            kept = contents.of(error.result) if error.result is not None else None
            unknown = error.maybe_ran and not spec.read_only
            return turn.Outcome(
                code=error.code, message=error.message, failed=True, unknown=unknown,
                settled=error.settled, result=kept,
            )  # fmt: skip
        except TimeoutError:
            words = f"No answer within {spec.timeout:g} s."
            return turn.Outcome(
                code="tool.timeout", message=words, failed=True, unknown=not spec.read_only
            )
        except Exception as error:  # the one broad net: a tool's fault is a fact, not our crash
            log.exception("The tool %s failed in a way it should not.", spec.name)
            words = f"The tool broke: {type(error).__name__}."
            return turn.Outcome(
                code="tool.broken", message=words, failed=True, unknown=not spec.read_only
            )

    # Small things --------------------------------------------------------------------------------

    def _gate(self, hold: Hold) -> None:
        """Nothing is sent under a lease that may have run out."""
        if self.clock.monotonic() >= hold.good_until:
            raise LeaseLost(hold.lease.session_id)

    async def _value(self, content: e.Content) -> Any:
        if not content.stored:
            return content.value
        raw = await self.journal.blob(content.hash)
        assert raw is not None, "a stored content has its blob from the same transaction"
        return contents.parse(raw, content)

    async def _manifest(self, session: Session) -> agents_rule.Manifest:
        key = (session.agent, session.agent_version)
        if key not in self._manifests:
            data = await self.db.read(lambda conn: agents.get(conn, *key))
            assert data is not None, "a session is pinned to a version that exists"
            self._manifests[key] = agents_rule.parse(data.manifest, schema_problem=lambda _: None)
        return self._manifests[key]

    async def _list(self, session: Session, offered: Offered) -> None:
        """Leave word of what the agent is offered now, for the pages that show its tools."""
        key = (session.agent, session.agent_version)
        tools = [_listed(tool) for tool in offered.tools.values()]
        gaps = [{"source": gap.source, "message": gap.message} for gap in offered.gaps]
        digest = ids.digest([tools, gaps])
        if self._listed.get(key) != digest:
            self._listed[key] = digest
            now = self.clock.now()
            await self.db.touch(lambda conn: listings.save(conn, *key, tools, gaps, now))


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

    def intent(self, session: Session) -> list[e.Event]:
        """Facts to record before the send."""
        effect_id = self.send.effect_id
        if self.problem is not None:
            code, words = self.problem
            return turn.refuse_call(session, effect_id, code=code, message=words)
        if self.tool is None:
            return self._stand(session)
        return turn.intend_call(session, self.send, digest_sent=self.digest)

    def _stand(self, session: Session) -> list[e.Event]:
        effect_id, arguments = self.send.effect_id, self.call.arguments.value
        try:
            if self.call.tool == platform.ASK_PERSON:
                asked = platform.question_of(arguments)
                deadline = (
                    self.now + asked.expires_seconds * 1000 if asked.expires_seconds else None
                )
                return turn.stand(
                    session, effect_id, kind="question", deadline=deadline, prompt=asked.prompt,
                    schema=asked.schema,
                )  # fmt: skip
            due = platform.due_of(arguments, self.now)
            return turn.stand(session, effect_id, kind="timer", deadline=due)
        except ToolError as error:
            return turn.refuse_call(session, effect_id, code=error.code, message=error.message)


def _came(result: Result) -> turn.Outcome:
    if result.text is not None:
        content = contents.of_text(result.text, result.media)
    else:
        content = contents.of(result.value)
    if content.size > RESULT_BYTES:
        words = (
            f"The result has {content.size:,} bytes; {RESULT_BYTES:,} are kept. It may have run."
        )
        return turn.Outcome(code="tool.too_large", message=words, failed=True)
    return turn.Outcome(result=content)


def _still_wanted(session: Session, effect_id: str) -> bool:
    current = session.turn
    if current is None or current.is_over:
        return False
    if current.model is not None and current.model.effect_id == effect_id:
        return True
    call = current.calls.get(effect_id)
    return call is not None and call.state == "started"


def _message(said: context.Said) -> Message:
    calls = tuple(
        ProposedCall(id=call.id, name=call.name, arguments=call.arguments) for call in said.calls
    )
    return Message(
        role=said.role, text=said.text, calls=calls, call_id=said.call_id, name=said.name,
        failed=said.failed,
    )  # fmt: skip


def _as_json(request: Request) -> Any:
    return {
        "model": request.model,
        "instructions": request.instructions,
        "messages": [
            [m.role, m.text, [[c.id, c.name, c.arguments] for c in m.calls], m.call_id]
            for m in request.messages
        ],
        "tools": [[t.name, t.description, dict(t.schema)] for t in request.tools],
    }


def _listed(tool: Tool) -> dict[str, Any]:
    spec = tool.spec
    return {
        "name": spec.name,
        "description": spec.description,
        "schema": spec.schema,
        "kind": spec.origin.kind,
        "server": spec.origin.server,
        "plugin": spec.origin.plugin,
        "plugin_version": spec.origin.plugin_version,
        "read_only": spec.read_only,
        "repeatable": spec.repeatable,
        "destination": spec.destination,
        "hash": spec.hash,
    }


async def _nothing(event: asyncio.Event) -> None:
    await event.wait()


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
