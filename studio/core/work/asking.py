"""Asking: one model call, from its intent to its reply or failure."""

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from studio.core.faults import Injected, fault
from studio.core.providers.provider import (
    Provider,
    ProviderError,
    Reply,
    Request,
    TextDelta,
    ToolOffer,
)
from studio.core.rules import agent as agents_rule
from studio.core.rules import contents, models, replies, requests, skills, summaries, turn
from studio.core.rules.session import Session
from studio.core.rules.spans import Names
from studio.core.rules.summaries import Plan, Sizes
from studio.core.store import policies
from studio.core.talks import Talk, Talks
from studio.core.tools import needs
from studio.core.tools.tool import Offered
from studio.core.work import hiding, judge, states
from studio.core.work.choosing import Chosen, choose
from studio.core.work.first import First
from studio.core.work.hold import Hold
from studio.core.work.messages import Messages
from studio.core.work.summarising import Summarising

if TYPE_CHECKING:
    from studio.core.work.driver import Driver

log = logging.getLogger("studio.worker")

DRAFT_SECONDS = 0.1
MODEL_SECONDS = 600.0
TOO_LONG = "model.context"


class Asking:
    """Asks models for a driver."""

    def __init__(self, driver: "Driver") -> None:
        self.driver = driver
        self._talks, self._messages = Talks(driver.journal), Messages(driver)
        self._summarising = Summarising(driver, self._talks)

    async def ask(self, hold: Hold, session: Session, ask: turn.AskModel) -> Session:
        """Record that the model is asked, then ask it beside the loop."""
        manifest = await self.driver.manifest(session)
        offered = await self.driver.offered(session, manifest)
        first = ask.step == 1 and ask.attempt == 1
        if first and (words := needs.told(offered.gaps)):
            done = await self.driver.commit(
                hold, lambda s: replies.cannot_ask(s, ask, code="skill.requires", message=words)
            )
            return done.session
        if self.driver.environments is not None and session.environment_id is not None:
            session, words = await self._prepared(hold, session, offered)
            if words or _is_over(session):
                done = await self.driver.commit(
                    hold,
                    lambda s: replies.cannot_ask(
                        s, ask, code="environment.unusable", message=words
                    ),
                )
                return done.session
            offered = await self.driver.offered(session, manifest)  # its disk may be another
        chosen = await choose(self.driver.shelf, manifest.model, ask.candidate)
        talk = await self._talks.of(session, models.reads(chosen.model))
        sizes = talk.sizes(self._overhead(manifest, offered))
        planned = _plan(session, sizes, chosen)
        if planned is not None:
            return await self._summarising.ask(hold, session, planned, sizes, chosen)
        request, request_hash = await self._request(talk, manifest, offered, chosen)
        names = self._names(session)
        request = replace(
            request, traceparent=names.parent(ask.effect_id), tracestate=names.state
        )  # fmt: skip
        fault("model.before_intent")
        done = await self.driver.commit(
            hold,
            lambda s: replies.intend_model(
                s, ask, provider=chosen.provider, model=request.model, request_hash=request_hash
            ),
        )
        fault("model.after_intent")
        if done.facts:
            hold.running[ask.effect_id] = hold.out.create_task(
                self._think(hold, ask.effect_id, manifest, offered, request, chosen)
            )
        return done.session

    async def _prepared(
        self, hold: Hold, session: Session, offered: Offered
    ) -> tuple[Session, str]:
        """Have the session's environment ready, as long as nobody stops the turn; or why not.

        The limits of the turn hold meanwhile.
        """
        assert self.driver.environments is not None, "asked where there are environments"
        task = hold.out.create_task(self.driver.environments.ready(session, offered))
        try:
            while not task.done():
                now = self.driver.clock.now()
                left = turn.until(session, now) - now
                grew = hold.out.create_task(hold.grew.wait())
                try:
                    await asyncio.wait(
                        [grew, task], timeout=max(0.0, left / 1000),
                        return_when=asyncio.FIRST_COMPLETED,
                    )  # fmt: skip
                finally:
                    grew.cancel()
                session = await self._looked(hold, session)
                if _is_over(session):
                    return session, ""
            return session, task.result()
        finally:
            task.cancel()

    async def _looked(self, hold: Hold, session: Session) -> Session:
        """The session after what came meanwhile, and after a limit of its turn that was reached."""
        if hold.grew.is_set():
            hold.grew.clear()
            session = await self.driver.session(session.id) or session
        if turn.until(session, now := self.driver.clock.now()) <= now:
            session = (await self.driver.commit(hold, self.driver.following(hold))).session
        return session

    def _names(self, session: Session) -> Names:
        """Places in the turn's trace, for the provider's own telemetry."""
        assert session.turn is not None, "a turn asks"
        return Names(self.driver.trace_key, session.turn.id, session.turn.caller)

    def _overhead(self, manifest: agents_rule.Manifest, offered: Offered) -> int:
        """The tokens of instructions and tools, about."""
        specs = [tool.spec for tool in offered.tools.values()]
        return summaries.overhead(
            skills.instructions(manifest.instructions, offered.skills),
            ((spec.description, spec.schema) for spec in specs),
        )

    async def _request(
        self, talk: Talk, manifest: agents_rule.Manifest, offered: Offered, chosen: Chosen
    ) -> tuple[Request, str]:
        """The request, and its digest."""
        reads = models.reads(chosen.model)
        request = Request(
            model=str(chosen.model.get("name", "")),
            instructions=skills.instructions(manifest.instructions, offered.skills),
            messages=await self._messages.of(talk, reads),
            tools=tuple(
                ToolOffer(name=name, description=tool.spec.description, schema=tool.spec.schema)
                for name, tool in offered.tools.items()
            ),
            output_schema=manifest.output_schema,
            options=chosen.model,
        )
        digest = requests.digest(
            model=chosen.written, resolved=chosen.model, instructions=request.instructions,
            talk=talk.digest,
            tools=[(name, tool.spec.hash) for name, tool in offered.tools.items()],
            output_schema=manifest.output_schema,
        )  # fmt: skip
        return request, digest

    async def _think(
        self, hold: Hold, effect_id: str, manifest: agents_rule.Manifest, offered: Offered,
        request: Request, chosen: Chosen,
    ) -> None:  # fmt: skip
        """One model call: stream drafts to open pages, record the reply or the failure."""
        session_id, first = hold.lease.session_id, First(self.driver.clock)
        try:
            self.driver.gate(hold)
            if chosen.broken is not None:
                raise chosen.broken
            provider = await self.driver.shelf.get(chosen.model)
            came = await self._reply(session_id, effect_id, provider, request, first)
            reply, masked = hiding.reply(self.driver.mask, came)
            fault("model.before_outcome")
            judged = await self._judged(session_id, manifest, offered, reply)
            answer = replace(
                judged, provider=chosen.provider, model=request.model, masked=masked,
                first_token=first.after,
            )  # fmt: skip
            await self.driver.commit(
                hold, lambda s: replies.reply(s, effect_id, answer, self.driver.clock.now())
            )
            fault("model.after_outcome")
        except ProviderError as error:
            hidden = hiding.error(self.driver.mask, error)
            await self._model_failed(hold, effect_id, hidden, chosen, first)
        except TimeoutError:
            words = f"The model did not finish within {MODEL_SECONDS:.0f} s."
            slow = ProviderError("model.slow", words, permanent=False)
            slow.begun = True
            await self._model_failed(hold, effect_id, slow, chosen, first)
        finally:
            self.driver.feed.set_draft(session_id, effect_id, None)

    async def _reply(
        self, session_id: str, effect_id: str, provider: Provider, request: Request, first: First
    ) -> Reply:
        """The model's answer in time; a provider that breaks has failed like any other."""
        try:
            async with asyncio.timeout(MODEL_SECONDS):
                return await self._stream(session_id, effect_id, provider, request, first)
        except (ProviderError, TimeoutError, Injected):
            raise
        except Exception as error:
            log.exception("The provider %s failed in a way it should not.", provider.name)
            words = f"The provider broke: {type(error).__name__}."
            raise ProviderError("model.broken", words, permanent=True) from error

    async def _stream(
        self, session_id: str, effect_id: str, provider: Provider, request: Request, first: First
    ) -> Reply:
        text, shown = self.driver.mask.running(), 0.0
        async with aclosing(provider.stream(request)) as stream:  # type: ignore[type-var]
            async for item in stream:
                if isinstance(item, Reply):
                    return item
                first.came(item.text)
                if isinstance(item, TextDelta):
                    text.add(item.text)
                    if self.driver.clock.monotonic() - shown >= DRAFT_SECONDS:
                        self.driver.feed.set_draft(session_id, effect_id, text.shown())
                        shown = self.driver.clock.monotonic()
                    fault("model.mid_stream")
        raise ProviderError(
            "model.cut_off", "The model's answer broke off before its end.", permanent=False
        )

    async def _model_failed(
        self, hold: Hold, effect_id: str, error: ProviderError, chosen: Chosen, first: First
    ) -> None:
        failure = replies.Failure(
            code=error.code, message=error.message, permanent=error.permanent,
            retry_after=error.retry_after, usage=error.usage, begun=error.begun,
            shrinks=error.code == TOO_LONG and await self._shrinks(hold), first_token=first.after,
        )  # fmt: skip
        await self.driver.commit(
            hold,
            lambda s: replies.model_failed(
                s, effect_id, failure, now=self.driver.clock.now(), candidates=chosen.candidates
            ),
        )

    async def _shrinks(self, hold: Hold) -> bool:
        """Some of the talk can still be summarised."""
        session = await self.driver.session(hold.lease.session_id)
        if session is None:
            return False
        talk = await self._talks.of(session)
        return summaries.plan(session, talk.sizes(0), window=None, forced=True) is not None

    async def _labels(self, session: Session | None) -> tuple[str, ...]:
        """The labels of the session's environment, which rules may ask about."""
        if session is None or session.environment_id is None or not self.driver.environments:
            return ()
        return await self.driver.environments.labels(session.environment_id)

    async def _judged(
        self, session_id: str, manifest: agents_rule.Manifest, offered: Offered, reply: Reply
    ) -> replies.ModelAnswer:
        session = await self.driver.session(session_id)
        policy = await self.driver.read(policies.current)
        name = session.agent if session is not None else manifest.name
        labels = await self._labels(session)
        calls = tuple(judge.call(call, offered, policy, name, labels) for call in reply.calls)
        output, bad = judge.output(manifest.output_schema, reply.text, done=not reply.calls)
        return replies.ModelAnswer(
            text=contents.of_text(reply.text), usage=reply.usage, stop=reply.stop, calls=calls,
            output=output, bad_output=bad, state=states.content(reply.state),
            summary=contents.of_text(reply.summary) if reply.summary else None,
        )  # fmt: skip


def _is_over(session: Session) -> bool:
    return session.turn is None or session.turn.is_over


def _plan(session: Session, sizes: Sizes, chosen: Chosen) -> Plan | None:
    """What is to be summarised before this model is asked."""
    turn = session.turn
    failed = turn.model if turn is not None else None
    return summaries.plan(
        session, sizes, window=models.window(chosen.model), reply=models.longest(chosen.model),
        forced=failed is not None and failed.too_long,
    )  # fmt: skip
