"""Summarising: the older part of a talk in short, from its intent to the text or the failure.

It is a model call of its own, asked of the model that is to answer, and recorded like any other.
"""

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from studio.core.faults import Injected, fault
from studio.core.providers.provider import Message, Provider, ProviderError, Reply, Request
from studio.core.rules import contents, ids, models, requests, summaries
from studio.core.rules import events as e
from studio.core.rules.session import Session
from studio.core.rules.spans import Names
from studio.core.rules.summaries import Plan, Sizes, Written
from studio.core.talks import Talks
from studio.core.work import hiding
from studio.core.work.choosing import Chosen
from studio.core.work.first import First
from studio.core.work.hold import Hold

if TYPE_CHECKING:
    from studio.core.work.driver import Driver

log = logging.getLogger("studio.worker")

SUMMARY_SECONDS = 300.0


class Summarising:
    """Asks for summaries for a driver."""

    def __init__(self, driver: "Driver", talks: Talks) -> None:
        self.driver, self._talks = driver, talks

    async def ask(
        self, hold: Hold, session: Session, planned: Plan, sizes: Sizes, chosen: Chosen
    ) -> Session:
        """Record that a summary is asked for, then ask for it beside the loop."""
        room = min(models.window(chosen.model) or planned.tokens, planned.tokens)
        older = await self._talks.older(session, planned.place)
        text = summaries.record(older.earlier, older.said, summaries.record_room(room))
        request = Request(
            model=str(chosen.model.get("name", "")), instructions=summaries.INSTRUCTIONS,
            messages=(Message(role="user", text=f"{summaries.ASK}\n\n{text}"),),
            options=chosen.model, purpose="summary",
        )  # fmt: skip
        digest = requests.digest(
            model=chosen.written, resolved=chosen.model, instructions=request.instructions,
            talk=ids.digest(text), tools=(), output_schema=None,
        )  # fmt: skip
        fault("summary.before_intent")
        done = await self.driver.commit(
            hold,
            lambda s: summaries.intend(
                s, planned, provider=chosen.provider, model=request.model, request_hash=digest
            ),
        )
        fault("summary.after_intent")
        for fact in done.facts:
            if isinstance(fact.event, e.SummaryRequested):
                effect_id = fact.event.effect_id
                request = self._placed(session, request, effect_id)
                files = summaries.references([older.earlier, *(one.text for one in older.said)])
                hold.running[effect_id] = hold.out.create_task(
                    self._write(hold, effect_id, request, chosen, planned, sizes, files, room)
                )
        return done.session

    def _placed(self, session: Session, request: Request, effect_id: str) -> Request:
        """The request with its place in the turn's trace."""
        assert session.turn is not None, "a turn asks"
        names = Names(self.driver.trace_key, session.turn.id, session.turn.caller)
        return replace(request, traceparent=names.parent(effect_id), tracestate=names.state)

    async def _write(
        self, hold: Hold, effect_id: str, request: Request, chosen: Chosen, planned: Plan,
        sizes: Sizes, files: list[str], room: int,
    ) -> None:  # fmt: skip
        """One summary: whatever goes wrong is a fact, and the turn goes on."""
        first = First(self.driver.clock)
        try:
            self.driver.gate(hold)
            if chosen.broken is not None:
                raise chosen.broken
            provider = await self.driver.shelf.get(chosen.model)
            reply, _ = hiding.reply(self.driver.mask, await self._reply(provider, request, first))
            fault("summary.before_outcome")
            text = summaries.finished(reply.text, files, room)
            came = Written(
                text=contents.of_text(text), usage=reply.usage,
                tokens_after=summaries.after(sizes, planned.place, text),
                tokens=summaries.shown_tokens(text, planned.place.replies),
                replaced=planned.replaced, first_token=first.after,
            )  # fmt: skip
            await self.driver.commit(hold, lambda s: summaries.written(s, effect_id, came))
            fault("summary.after_outcome")
        except ProviderError as error:
            await self._failed(hold, effect_id, error, first)
        except TimeoutError:
            words = f"The model did not finish within {SUMMARY_SECONDS:.0f} s."
            slow = ProviderError("model.slow", words, permanent=False)
            await self._failed(hold, effect_id, slow, first)

    async def _reply(self, provider: Provider, request: Request, first: First) -> Reply:
        """The model's summary, whole; a provider that breaks has failed like any other."""
        try:
            async with (
                asyncio.timeout(SUMMARY_SECONDS),
                aclosing(provider.stream(request)) as stream,  # type: ignore[type-var]
            ):
                async for item in stream:
                    fault("summary.mid_stream")
                    if isinstance(item, Reply):
                        return _with_text(item)
                    first.came(item.text)
        except (ProviderError, TimeoutError, Injected):
            raise
        except Exception as error:
            log.exception("The provider %s failed in a way it should not.", provider.name)
            words = f"The provider broke: {type(error).__name__}."
            raise ProviderError("model.broken", words, permanent=True) from error
        raise ProviderError(
            "model.cut_off", "The model's answer broke off before its end.", permanent=False
        )

    async def _failed(self, hold: Hold, effect_id: str, error: ProviderError, first: First) -> None:
        error = hiding.error(self.driver.mask, error)
        billed = error.begun or error.code in summaries.SENT
        await self.driver.commit(
            hold,
            lambda s: summaries.failed(
                s, effect_id, code=error.code, message=error.message, usage=error.usage,
                maybe_billed=billed and error.usage.cost is None, first_token=first.after,
            ),
        )  # fmt: skip


def _with_text(reply: Reply) -> Reply:
    if not reply.text.strip():
        empty = ProviderError("model.empty", "The model wrote nothing.", permanent=True)
        empty.usage = reply.usage
        raise empty
    return reply
