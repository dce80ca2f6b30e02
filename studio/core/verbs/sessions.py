"""Sessions: start one, send a message, stop a turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from studio.core.faults import fault
from studio.core.rules import access, messages, models, requests, session, skills, summaries
from studio.core.rules import agent as agents_rule
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.context import Said
from studio.core.rules.errors import Invalid, NotFound, Refused, TooLarge
from studio.core.rules.files import Part
from studio.core.rules.session import Session
from studio.core.store import agents, listings, providers
from studio.core.verbs import parts
from studio.core.verbs.attaching import Attached
from studio.core.verbs.environments import finding
from studio.core.verbs.models import offered
from studio.core.verbs.parts import Verbs

MESSAGE_BYTES = 1024 * 1024
TITLE_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True)
class Started:
    """A new session, and its first turn when a message came with it; `warnings` as of `Sent`."""

    session_id: str
    turn_id: str | None
    warnings: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A message was accepted and opened this turn.

    `warnings` say which fallbacks of its model would not be given one of its files.
    """

    session_id: str
    turn_id: str
    warnings: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """A turn was stopped: the calls that had already run, and those whose outcome is unknown."""

    session_id: str
    turn_id: str
    ran: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The request that a message would send to the model, before anything is recorded or sent.

    `digest` is what `model.requested` records as `request_hash` when exactly this is sent; None
    when no worker has listed the agent's tools yet, or when `summarises` says which part of the
    talk would be summarised first. `listed` (ms, UTC) is when one did; `tools` are then as
    `store.listings` keeps them.
    """

    session_id: str
    provider: str
    model: str
    instructions: str
    messages: tuple[Said, ...]
    tools: tuple[dict[str, Any], ...]
    output_schema: Any
    listed: int | None
    digest: str | None
    summarises: str = ""


@dataclass
class _Place:
    """The environment of a session to start: its name or id as asked, and its id once found."""

    person: Person
    asked: str | None
    id: str | None = None

    def then(self, find: Callable[[Any, Session], None]) -> Callable[[Any, Session], None]:
        """Find it in the transaction that starts the session, and then what else is to be found."""

        def before(conn: Any, session: Session) -> None:
            if self.asked is not None:
                self.id = finding.usable(conn, self.person, self.asked).id
            find(conn, session)

        return before


class SessionVerbs(Verbs):
    """What one may do with sessions."""

    async def start_session(
        self, person: Person, *, agent: str, title: str = "", message: str | None = None,
        private: bool = False, version: int | None = None, files: Sequence[Part] = (),
        model: tuple[str, str] | None = None, environment: str | None = None,
        key: str | None = None, caller: e.Caller | None = None,
    ) -> Started:  # fmt: skip
        """Start a session of an agent (its newest version unless told), with a first message.

        `model` is a saved provider and one of its models, in place of what the agent names. An
        agent that names none gets the default of now. `environment` is a name or an id; Refused
        when deleted, another's alone, or short of a secret. `caller` is as in `send_message`.
        """
        access.needs(person, "operator", "start a session")
        if message is not None or files:
            message = _message(message or "", files)
        found = await self.db.read(lambda conn: agents.get(conn, agent, version))
        if found is None:
            raise NotFound(
                f"There is no agent named {agent}" + (f" v{version}." if version else "."),
                code="agent.not_found",
            )
        session_id = self.clock.new_id("ses")
        turn_id = self.clock.new_id("trn") if message is not None else None
        manifest = agents_rule.parse(found.manifest, schema_problem=lambda _: None, is_kept=True)
        title = _title(title, message, agent)
        chosen = await self.db.read(lambda conn: _chosen(conn, manifest, model))
        attached = Attached(
            person, files, self.limits, agent=(agent, found.version), model=chosen
        )  # fmt: skip

        place = _Place(person, environment)

        def rule(session: Session) -> list[e.Event]:
            events = messages.start(
                agent=agent, agent_version=found.version, title=title, owner=person.id,
                private=private, limits=manifest.limits, model=chosen, environment_id=place.id,
            )  # fmt: skip
            if message is not None and turn_id is not None:
                events += messages.accept(
                    session, turn_id=turn_id, text=message, by=person.id, given=attached.given,
                    caller=caller,
                )  # fmt: skip
            return events

        fault("message.before_commit")
        done = await self.journal.commit(
            session_id, rule, at=self.clock.now(), actor=person.actor, must_exist=False,
            wake_at=self.clock.now() if turn_id else None,
            receipt=parts.receipt(
                person, "start_session", "", key,
                [agent, version, title, message, private, *attached.asked, *(model or ()),
                 *([environment] if environment is not None else ())],
            ),
            before=place.then(attached.find), also=attached.spend,
            answer=lambda s, f: {
                "session_id": session_id, "turn_id": turn_id, "warnings": attached.warnings
            },
        )  # fmt: skip
        fault("message.after_commit")
        return Started(**done.answer)

    async def choose_model(
        self, person: Person, session_id: str, model: tuple[str, str] | None
    ) -> None:
        """Give the turns to come another model, or (None) the one that the agent names.

        Refused while a turn is in hand, which keeps its own.
        """
        access.needs(person, "operator", "choose the model of a session")
        chosen: dict[str, str] | None = None
        if model is not None:
            provider, name = model
            chosen = await self.db.read(lambda conn: offered(conn, provider, name))

        def rule(session: Session) -> list[e.Event]:
            parts.visible(person, session)
            return messages.choose_model(session, model=chosen, by=person.id)

        await self.journal.commit(session_id, rule, at=self.clock.now(), actor=person.actor)

    async def send_message(
        self, person: Person, session_id: str, text: str, *, files: Sequence[Part] = (),
        key: str | None = None, caller: e.Caller | None = None,
    ) -> Sent:  # fmt: skip
        """Send a message; it opens a turn. Refused while a turn runs.

        `caller` is the place in a trace of the sender's that the turn then belongs to.
        Invalid (`message.files`) when the model does not read one of the files; no turn is opened.
        """
        access.needs(person, "operator", "send a message")
        text = _message(text, files)
        turn_id, attached = self.clock.new_id("trn"), Attached(person, files, self.limits)

        def rule(session: Session) -> list[e.Event]:
            return messages.accept(
                session, turn_id=turn_id, text=text, by=person.id, given=attached.given,
                caller=caller,
            )  # fmt: skip

        return Sent(
            **await self._message(person, session_id, rule, turn_id, "send", key, [text], attached)
        )

    async def preview_message(
        self, person: Person, session_id: str, text: str, *, files: Sequence[Part] = ()
    ) -> Preview:
        """What sending this message would ask the model. Refused as sending it would be.

        Nothing is recorded, so nothing is there that a worker could take up and send.
        """
        access.needs(person, "operator", "preview a message")
        text = _message(text, files)
        found = await self.journal.session(session_id)
        if found is None:
            raise NotFound("There is no such session.", code="session.not_found")
        parts.visible(person, found)
        attached = Attached(person, files, self.limits)
        await self.db.read(lambda conn: attached.find(conn, found))
        event = messages.accept(
            found, turn_id=self.clock.new_id("trn"), text=text, by=person.id, given=attached.given
        )[-1]  # before it stand the artifacts, which no request tells of
        now = self.clock.now()
        fact = e.Fact(
            session_id=session_id, seq=found.seq + 1, position=0, id="", time=now,
            actor=person.actor, evidence=event.EVIDENCE, event=event,
        )  # fmt: skip
        return await self._preview(session.apply(found, fact))

    async def _preview(self, then: Session) -> Preview:
        agent, listing = await self.db.read(
            lambda conn: (
                agents.get(conn, then.agent, then.agent_version),
                listings.get(conn, then.agent, then.agent_version),
            )
        )
        assert agent is not None, "a session is pinned to a version that exists"
        manifest = agents_rule.parse(agent.manifest, schema_problem=lambda _: None, is_kept=True)
        if then.model is not None:
            manifest = replace(manifest, model=then.model)
        # as the worker does, but for the key
        model = await self.db.read(lambda conn: providers.full(conn, manifest.model))
        talk = await self.talks.of(then, models.reads(model))
        tools = listing.tools if listing else ()
        briefs = [skills.Brief(**brief) for brief in listing.skills] if listing else []
        instructions = skills.instructions(manifest.instructions, briefs)
        overhead = summaries.overhead(
            instructions, ((tool["description"], tool["schema"]) for tool in tools)
        )
        planned = summaries.plan(
            then, talk.sizes(overhead), window=models.window(model),
            reply=models.longest(model),
        )  # fmt: skip
        digest = requests.digest(
            model=manifest.model, resolved=model, instructions=instructions, talk=talk.digest,
            tools=[(tool["name"], tool["hash"]) for tool in tools],
            output_schema=manifest.output_schema,
        )  # fmt: skip
        return Preview(
            session_id=then.id, provider=str(manifest.model.get("provider", "")),
            model=str(model.get("name", "")), instructions=instructions,
            messages=talk.said, tools=tools, output_schema=manifest.output_schema,
            listed=listing.time if listing else None,
            digest=digest if listing and planned is None else None,
            summarises=_covered(planned.place) if planned else "",
        )  # fmt: skip

    async def deny_and_send(
        self, person: Person, session_id: str, text: str, *, reason: str = "",
        files: Sequence[Part] = (), key: str | None = None, caller: e.Caller | None = None,
    ) -> Sent:  # fmt: skip
        """Deny every held call, stop the turn and send a message, all in one transaction."""
        access.needs(person, "operator", "deny and send")
        text, reason = _message(text, files), parts.reason(reason)
        turn_id, attached = self.clock.new_id("trn"), Attached(person, files, self.limits)

        def rule(session: Session) -> list[e.Event]:
            words = reason or "A person sent a new message instead."
            return messages.deny_and_accept(
                session, turn_id=turn_id, text=text, by=person.id, reason=words,
                given=attached.given, caller=caller,
            )  # fmt: skip

        asked = [text, reason]
        return Sent(
            **await self._message(person, session_id, rule, turn_id, "deny", key, asked, attached)
        )

    async def _message(
        self, person: Person, session_id: str, rule: Any, turn_id: str, verb: str,
        key: str | None, asked: list[Any], attached: Attached,
    ) -> dict[str, Any]:  # fmt: skip
        def before(conn: Any, found: Session) -> None:
            parts.visible(person, found)
            finding.still_usable(conn, person, found)
            attached.find(conn, found)

        fault("message.before_commit")
        done = await self.journal.commit(
            session_id, rule, at=self.clock.now(), actor=person.actor, wake_at=self.clock.now(),
            receipt=parts.receipt(person, verb, session_id, key, [*asked, *attached.asked]),
            answer=lambda s, f: {
                "session_id": session_id, "turn_id": turn_id, "warnings": attached.warnings
            },
            before=before, also=attached.spend,
        )  # fmt: skip
        fault("message.after_commit")
        return dict(done.answer)

    async def cancel_turn(
        self, person: Person, session_id: str, *, reason: str = "", key: str | None = None
    ) -> Stopped:
        """Stop the turn in hand, at once, whether or not a worker lives."""
        access.needs(person, "operator", "stop a turn")
        reason = parts.reason(reason)

        def rule(session: Session) -> list[e.Event]:
            parts.visible(person, session)
            return messages.stop(session, by=person.id, reason=reason)

        def answer(session: Session, facts: list[e.Fact]) -> dict[str, Any]:
            end = facts[-1].event
            assert isinstance(end, e.TurnCancelled), "stopping ends with the turn's end"
            return {"turn_id": end.turn_id, "ran": list(end.ran), "unknown": list(end.unknown)}

        fault("cancel.before_commit")
        done = await self.journal.commit(
            session_id, rule, at=self.clock.now(), actor=person.actor, wake_at=self.clock.now(),
            receipt=parts.receipt(person, "cancel", session_id, key, [reason]), answer=answer,
        )  # fmt: skip
        fault("cancel.after_commit")
        said = done.answer
        return Stopped(
            session_id=session_id, turn_id=said["turn_id"], ran=tuple(said["ran"]),
            unknown=tuple(said["unknown"]),
        )  # fmt: skip


def _covered(place: session.Place) -> str:
    return summaries.covered(place.turn, place.replies)


def _message(text: str, files: Sequence[Part] = ()) -> str:
    if not text.strip() and not files:
        raise Invalid(
            "The message is empty.", code="message.empty", fields={"text": "Write something."}
        )
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise Invalid(
            "The message has characters that are not valid Unicode (lone surrogates).",
            code="message.not_utf8", fields={"text": "Remove them and send again."},
        ) from error  # fmt: skip
    if size > MESSAGE_BYTES:
        raise TooLarge(
            f"The message has {size:,} bytes; {MESSAGE_BYTES:,} are allowed. Shorten it.",
            code="message.too_large", details={"size": size, "limit": MESSAGE_BYTES},
        )  # fmt: skip
    return text


def _title(title: str, message: str | None, agent: str) -> str:
    words = " ".join((title or message or f"Session with {agent}").split())
    return words if len(words) <= TITLE_CHARACTERS else words[: TITLE_CHARACTERS - 1] + "…"


def _chosen(
    conn: Any, manifest: agents_rule.Manifest, model: tuple[str, str] | None
) -> dict[str, str] | None:
    """The model of a new session when it is not the one that its agent names."""
    if model is not None:
        return offered(conn, *model)
    if manifest.model:
        return None
    default = providers.default(conn)
    if default is None:
        raise Refused(
            f"The agent {manifest.name} names no model, and the studio has no default. An admin "
            "chooses one under Models; or choose a model for this session.",
            code="model.none",
        )
    return default
