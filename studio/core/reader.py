"""Reader: every question one may ask. It reads and never writes; access is part of each answer.

Every question takes the person first. What a person may not see does not exist for them: NotFound,
and absent from every list and count. One question is one read transaction of at most four
statements, so rows and cursors agree.
"""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import sqlalchemy as sa

from studio.core.artifact_questions import (
    ArtifactDiff,
    ArtifactFile,
    ArtifactFolder,
    ArtifactQuestions,
    LinkRow,
)
from studio.core.disk_questions import DiskDiff, DiskFile, DiskFolder
from studio.core.export_questions import Export, ExportQuestions
from studio.core.outside_questions import OutsideQuestions
from studio.core.projections import (
    agent_diffs,
    agents,
    calls,
    cards,
    collector,
    facts,
    health,
    home,
    models,
    pages,
    people,
    plugins,
    policy,
    probes,
    secrets,
    servers,
    session,
    sessions,
    timeline,
    traces,
    turn_disks,
    turn_list,
    usage,
    waits,
)
from studio.core.projections.agent_diffs import AgentDiff, VerdictRow, VersionChange, VersionPage
from studio.core.projections.agents import (
    AgentBrief,
    AgentRow,
    AgentView,
    GapView,
    ToolView,
    VersionRow,
)
from studio.core.projections.artifacts import ArtifactRow, ArtifactView, VersionView
from studio.core.projections.calls import CallRow
from studio.core.projections.cards import Card, Decision
from studio.core.projections.collector import CollectorState
from studio.core.projections.disk_versions import DiskVersionRow
from studio.core.projections.environments import EnvironmentView
from studio.core.projections.facts import EventRow
from studio.core.projections.home import Home
from studio.core.projections.models import ModelChoice, ModelsView, ProviderView
from studio.core.projections.operations import OperationRow
from studio.core.projections.outside import (
    AskedOutside,
    OutsideRow,
    OutsideSender,
    OutsideSpan,
    OutsideTrace,
    RefusalRow,
)
from studio.core.projections.pages import Page
from studio.core.projections.people import KeyRow
from studio.core.projections.plugins import FileView, PluginRow, PluginView
from studio.core.projections.policy import PolicyView, RuleRow
from studio.core.projections.probes import ProbeView
from studio.core.projections.secrets import SecretRow
from studio.core.projections.servers import ServerPreview, ServerRow
from studio.core.projections.session import LimitUse, SessionHead, SessionView
from studio.core.projections.sessions import SessionRow, TurnRow
from studio.core.projections.timeline import Grown, Line, Timeline
from studio.core.projections.trace_words import TraceWords
from studio.core.projections.turn_disks import TurnDisk
from studio.core.projections.turn_list import AskedTurns, TurnLine, Usual
from studio.core.projections.usage import By, LostRow, Span, UsageRow, UsageView
from studio.core.projections.waits import Asked, Pending, WaitRow
from studio.core.rules.access import Person
from studio.core.rules.comparing import Comparison
from studio.core.rules.errors import NotFound, Unavailable
from studio.core.rules.spans import Trace
from studio.core.store import backfills
from studio.core.store.backfills import Backfill
from studio.core.store.links import Linked

if TYPE_CHECKING:  # what only types say; its libraries are loaded when a disk is looked into
    from studio.core.disk_questions import DiskChange as DiskChange
    from studio.core.disk_questions import DiskEntry as DiskEntry
    from studio.core.disk_questions import DiskListing as DiskListing
    from studio.core.disk_questions import DiskTextDiff as DiskTextDiff

__all__ = [
    "AgentBrief",
    "AgentDiff",
    "AgentRow",
    "AgentView",
    "ArtifactDiff",
    "ArtifactFile",
    "ArtifactFolder",
    "ArtifactRow",
    "ArtifactView",
    "AskedOutside",
    "AskedTurns",
    "Backfill",
    "CallRow",
    "Card",
    "CollectorState",
    "Decision",
    "DiskDiff",
    "DiskFile",
    "DiskFolder",
    "DiskVersionRow",
    "EnvironmentView",
    "EventRow",
    "Export",
    "FileView",
    "Follow",
    "GapView",
    "Grown",
    "Home",
    "KeyRow",
    "LimitUse",
    "Line",
    "LinkRow",
    "Linked",
    "LostRow",
    "ModelChoice",
    "ModelsView",
    "OperationRow",
    "OutsideRow",
    "OutsideSender",
    "OutsideSpan",
    "OutsideTrace",
    "Page",
    "Pending",
    "PluginRow",
    "PluginView",
    "PolicyView",
    "ProbeView",
    "ProviderView",
    "Reader",
    "RefusalRow",
    "RuleRow",
    "SecretRow",
    "ServerPreview",
    "ServerRow",
    "SessionHead",
    "SessionRow",
    "SessionView",
    "Span",
    "Timeline",
    "ToolView",
    "TraceWords",
    "TurnDisk",
    "TurnLine",
    "TurnRow",
    "UsageRow",
    "UsageView",
    "Usual",
    "VerdictRow",
    "VersionChange",
    "VersionPage",
    "VersionRow",
    "VersionView",
    "WaitRow",
]

T = TypeVar("T")
DAY = 86_400_000
EXPORTED = 1_000  # sessions read at once for an export


class Follow(Protocol):
    """What `follow()` gives: the sessions that grew."""

    async def get(self) -> set[str]:
        """Wait until something grew; the ids of every session that did since the last call."""
        ...


class Reader(ArtifactQuestions, ExportQuestions, OutsideQuestions):
    """Questions over one store. `data` is the folder that holds it."""

    # What needs a person ----------------------------------------------------------------------

    async def home(self, person: Person, *, since: int | None = None) -> Home:
        """The first page. `since` (ms) is where the day began; without it, 24 hours ago."""
        begun = self._clock.now() - DAY if since is None else pages.within(since)
        return await self._read(lambda conn: home.view(conn, person, begun))

    async def pending(self, person: Person) -> Pending:
        """How much waits for people; cheap enough for every page."""
        return await self._read(lambda conn: waits.count(conn, person).pending)

    async def waits(
        self, person: Person, *, state: str = "open", kind: str = "", agent: str = "",
        tool: str = "", plugin: str = "", older_than_ms: int | None = None, q: str = "",
        session_id: str | None = None, limit: int = 50, cursor: str | None = None,
    ) -> Page[WaitRow]:  # fmt: skip
        """Waits with light calls: the oldest first while open, the newest first once closed.

        Without `kind`: everything that stands on a person (timers only when asked for).
        """
        asked = Asked(
            state=state, kind=kind, agent=agent, tool=tool, plugin=plugin,
            older_than_ms=_whole(older_than_ms), q=q, session_id=session_id,
        )  # fmt: skip
        now, patience = self._clock.now(), self._patience()
        texts = (agent, tool, plugin, q, session_id or "")
        return await self._read(
            lambda conn: waits.page(
                conn, person, asked, now=now, limit=limit, cursor=cursor, patience=patience
            ),
            *texts,
        )

    async def wait(self, person: Person, wait_id: str) -> Card:
        """Everything the card of this wait shows to this person."""
        now = self._clock.now()
        return await self._read(lambda conn: cards.one(conn, person, wait_id, now), wait_id)

    async def cards(self, person: Person, session_id: str) -> list[Card]:
        """The open waits of a session that stand on a person, in the order they opened."""
        now = self._clock.now()
        return await self._read(
            lambda conn: cards.of_session(conn, person, session_id, now), session_id
        )

    # Sessions ---------------------------------------------------------------------------------

    async def sessions(
        self, person: Person, *, q: str = "", agent: str = "", status: str = "", needs: str = "",
        plugin: str = "", environment: str = "", limit: int = 50, cursor: str | None = None,
    ) -> Page[SessionRow]:  # fmt: skip
        """Sessions, the one started last first: an order that never changes under a cursor.

        `needs`: held, questions, uncertain, or any of the three ("any"). Each word of `q` is in
        the session's title, agent, owner, tools or last failure, or begins its id. `plugin`: it
        called something of that plugin. `environment` is the id of the one it works in.
        """
        patience = self._patience()
        return await self._read(
            lambda conn: sessions.page(
                conn, person, q=q, agent=agent, status=status, needs=needs, plugin=plugin,
                environment=environment, limit=limit, cursor=cursor, patience=patience,
            ),
            q, agent, plugin, environment,
        )  # fmt: skip

    async def session(self, person: Person, session_id: str) -> SessionView:
        """One session with its newest turns, limits and agent."""
        return await self._read(lambda conn: session.view(conn, person, session_id), session_id)

    async def session_head(self, person: Person, session_id: str) -> SessionHead:
        """What one session is and how it stands, without its earlier turns."""
        return await self._read(lambda conn: session.head(conn, person, session_id), session_id)

    async def timeline(
        self, person: Person, session_id: str, *, before: int | None = None,
        after: int | None = None, limit: int = 100,
    ) -> Timeline:  # fmt: skip
        """A window of lines, oldest first: the newest, those before, or those after a seq."""
        return await self._read(
            lambda conn: timeline.window(
                conn, person, session_id, before=_whole(before), after=_whole(after), limit=limit
            ),
            session_id,
        )

    async def grown(self, person: Person, session_id: str, after: int, limit: int = 200) -> Grown:
        """The facts of a session behind `after`, and the lines they made or changed."""

        def read(conn: sa.Connection) -> Grown:
            facts = self._journal.facts(conn, session_id, after=after, limit=limit)
            return timeline.grown(conn, person, session_id, facts)

        return await self._read(read, session_id)

    async def turn_disks(self, person: Person, session_id: str) -> dict[str, TurnDisk]:
        """By turn, what the newest turns of a session kept of their environment's disk."""
        return await self._read(
            lambda conn: turn_disks.of_session(conn, person, session_id), session_id
        )

    async def turn_disk(self, person: Person, session_id: str, turn_id: str) -> TurnDisk | None:
        """What one turn of a session kept of its environment's disk."""
        return await self._read(
            lambda conn: turn_disks.of_turn(conn, person, session_id, turn_id), session_id, turn_id
        )

    async def ends(self, person: Person, session_id: str, turn_ids: Collection[str]) -> list[Line]:
        """The lines that end these turns of a session, oldest first."""
        return await self._read(
            lambda conn: timeline.ends(conn, person, session_id, turn_ids), session_id
        )

    async def calls(
        self, person: Person, session_id: str, *, before: int | None = None, limit: int = 200
    ) -> list[CallRow]:
        """The newest tool calls of a session (before that seq), light, oldest first."""
        return await self._read(
            lambda conn: calls.page(conn, person, session_id, before=_whole(before), limit=limit),
            session_id,
        )

    async def call(self, person: Person, effect_id: str) -> CallRow:
        """One effect with its contents."""
        return await self._read(lambda conn: calls.one(conn, person, effect_id), effect_id)

    async def call_part(
        self, person: Person, effect_id: str, part: str, *, offset: int = 0, length: int
    ) -> bytes:
        """Some bytes of what an effect was given or what came of it: arguments, proposed, result.

        As they were recorded; b"" behind the end.
        """
        return await self._read(
            lambda conn: calls.part(conn, person, effect_id, part, offset, length), effect_id
        )

    async def call_facts(
        self, person: Person, session_id: str, effect_id: str, *, limit: int = 200
    ) -> list[EventRow]:
        """The facts of one effect, oldest first."""
        return await self._read(
            lambda conn: facts.of_effect(conn, person, session_id, effect_id, limit),
            session_id, effect_id,
        )  # fmt: skip

    async def compared(
        self, person: Person, left: tuple[str, str], right: tuple[str, str]
    ) -> Comparison:
        """Two turns side by side; each is (session id, its number or id)."""
        now, key, built = self._clock.now(), self._trace_key, self._built
        return await self._read(
            lambda conn: traces.compared(conn, person, left, right, key=key, now=now, built=built),
            *left, *right,
        )  # fmt: skip

    async def turns(
        self, person: Person, asked: AskedTurns, *, limit: int = 50, cursor: str | None = None
    ) -> Page[TurnLine]:
        """Turns over all sessions, the newest first."""
        return await self._read(
            lambda conn: turn_list.page(conn, person, asked, limit=limit, cursor=cursor),
            asked.agent, asked.tool, asked.plugin, asked.error,
        )  # fmt: skip

    async def usual(self, person: Person, asked: AskedTurns) -> tuple[list[Usual], list[Usual]]:
        """How long the agents and the tools of these turns usually take."""
        return await self._read(
            lambda conn: turn_list.usual(conn, person, asked),
            asked.agent, asked.tool, asked.plugin, asked.error,
        )  # fmt: skip

    async def collector(self, person: Person) -> CollectorState:
        """How the export of spans stands."""
        now = self._clock.now()
        return await self._read(lambda conn: collector.state(conn, now, self._waiting))

    async def backfill(self, person: Person, id: str) -> Backfill:
        """One backfill: how far it is."""
        found = await self._read(lambda conn: backfills.get(conn, id), id)
        if found is None:
            raise NotFound("There is no such backfill.", code="backfill.not_found")
        return found

    async def trace(self, person: Person, session_id: str, turn: str) -> Trace:
        """A turn (by its number or id) as spans: where its time went. Also while it is in hand."""
        now, key, built = self._clock.now(), self._trace_key, self._built
        return await self._read(
            lambda conn: traces.of_turn(
                conn, person, session_id, turn, key=key, now=now, built=built
            ),
            session_id, turn,
        )  # fmt: skip

    async def events(
        self, person: Person, session_id: str, *, after: int = 0, limit: int = 200
    ) -> list[EventRow]:
        """Facts with a seq above `after`, oldest first."""
        return await self._read(
            lambda conn: facts.after(conn, person, session_id, pages.within(after), limit),
            session_id,
        )

    async def events_before(
        self, person: Person, session_id: str, *, before: int | None = None, limit: int = 200
    ) -> list[EventRow]:
        """The newest facts, or those with a seq below `before`; oldest first."""
        return await self._read(
            lambda conn: facts.before(conn, person, session_id, _whole(before), limit), session_id
        )

    async def blob(self, person: Person, hash: str, session_id: str) -> bytes:
        """The bytes of a large value that a fact of this session refers to."""
        return await self._read(lambda conn: facts.blob(conn, person, session_id, hash), session_id)

    # Agents, policy, keys -----------------------------------------------------------------------

    async def agents(self, person: Person) -> list[AgentRow]:
        """The newest version of every agent, by name."""
        return await self._read(agents.rows)

    async def agent(self, person: Person, name: str, version: int | None = None) -> AgentView:
        """One version of an agent (without `version` the newest) with its tools as last found."""
        return await self._read(lambda conn: agents.view(conn, name, _whole(version)), name)

    async def agent_versions(
        self, person: Person, name: str, *, before: int | None = None
    ) -> VersionPage:
        """The versions of an agent below `before`, newest first, and what each changed."""
        return await self._read(lambda conn: agent_diffs.versions(conn, name, _whole(before)), name)

    async def agent_diff(self, person: Person, name: str, old: int, new: int) -> AgentDiff:
        """How two versions of an agent differ, and what the policy of now says of their tools."""
        first, second = pages.within(old), pages.within(new)
        return await self._read(lambda conn: agent_diffs.view(conn, name, first, second), name)

    async def agent_draft(self, person: Person, manifest: Mapping[str, Any]) -> AgentDiff:
        """How a manifest that is not saved differs from the newest version of its agent."""
        return await self._read(lambda conn: agent_diffs.draft(conn, manifest))

    async def plugins(self, person: Person) -> list[PluginRow]:
        """Every plugin, by name: installed ones and those in folders of workers."""
        return await self._read(lambda conn: plugins.rows(conn, person))

    async def plugin_names(self, person: Person) -> list[str]:
        """The plugins that calls carry, for filters."""
        return await self._read(plugins.names)

    async def plugin(self, person: Person, name: str) -> PluginView:
        """One plugin with what it brings, who uses it and its history."""
        return await self._read(lambda conn: plugins.view(conn, person, name), name)

    async def plugin_file(self, person: Person, name: str, skill: str, path: str) -> FileView:
        """A file of a skill of a plugin, as much of it as a page shows."""
        return await self._read(
            lambda conn: plugins.file(conn, name, skill, path), name, skill, path
        )

    async def plugin_calls(
        self, person: Person, name: str, *, state: str = "", limit: int = 50,
        cursor: str | None = None,
    ) -> Page[CallRow]:  # fmt: skip
        """Calls of a plugin that this person may see, the newest first."""
        return await self._read(
            lambda conn: plugins.recent(
                conn, person, name, state=state, limit=limit, cursor=cursor
            ),
            name,
        )

    async def policy(self, person: Person, version: int | None = None) -> PolicyView:
        """One version of the policy, without `version` the one in force."""
        return await self._read(lambda conn: policy.view(conn, _whole(version)))

    async def keys(self, person: Person) -> list[KeyRow]:
        """Every application key, the newest first; for admins."""
        return await self._read(lambda conn: people.keys(conn, person))

    async def probe(self, person: Person, probe_id: str) -> ProbeView:
        """One look at something outside, with what was found."""
        return await self._read(lambda conn: probes.one(conn, person, probe_id), probe_id)

    async def probes(self, person: Person, kind: str) -> dict[str, ProbeView]:
        """The newest look of a kind at each target."""
        return await self._read(lambda conn: probes.newest(conn, person, kind), kind)

    async def probe_moves(self, person: Person, kind: str) -> tuple[int, int, int]:
        """What is another whenever any look of a kind moved on; without what was found."""
        return await self._read(lambda conn: probes.moves(conn, person, kind), kind)

    async def servers(self, person: Person) -> list[ServerRow]:
        """Every MCP server of the newest agents and the plugins, as it was last found."""
        return await self._read(lambda conn: servers.rows(conn, person))

    async def server_preview(self, person: Person, probe_id: str, agent: str = "") -> ServerPreview:
        """What a server would bring, and what the policy says of it for an agent; for admins."""
        return await self._read(
            lambda conn: servers.preview(conn, person, probe_id, agent), probe_id, agent
        )

    async def secrets(self, person: Person) -> list[SecretRow]:
        """Every secret without its value, and those that agents name and nobody set; for admins."""
        keys, path = self._keys()
        return await self._read(lambda conn: secrets.rows(conn, person, keys, path))

    async def models(self, person: Person) -> ModelsView:
        """Providers saved in the studio, without their keys, and the default model."""
        keys, path = self._keys()
        return await self._read(lambda conn: models.view(conn, person, keys, path))

    async def model_choices(self, person: Person) -> list[ModelChoice]:
        """Every model of the saved providers, that a session may be given."""
        return await self._read(models.choices)

    # Usage ------------------------------------------------------------------------------------

    def span(self, *, since: str = "", until: str = "", days: int = 30) -> Span:
        """The days that are meant (UTC): two dates, or so many until today."""
        today = usage.EPOCH + timedelta(days=self._clock.now() // DAY)
        return usage.span(since, until, days, today)

    async def usage(self, person: Person, span: Span, by: By, *, limit: int = 50) -> UsageView:
        """Tokens and cost of these days in groups, the dearest first; sums over all of them."""
        limit = pages.size(limit)
        return await self._read(lambda conn: usage.view(conn, person, span, by, limit))

    async def usage_rows(self, person: Person, span: Span, by: By) -> AsyncIterator[list[UsageRow]]:
        """Every group, in pages; each session once, others the dearest first."""
        if by != "session":
            total = await self._read(lambda conn: usage.total(conn, person, span))
            yield await self._read(
                lambda conn: list(usage.groups(conn, person, span, by, total, 0))
            )
            return
        place: tuple[int, str] | None = (0, "")
        while place is not None:
            found, place = await self._read(partial(_sessions_after, person, span, place))
            yield found

    # Live -----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def follow(self) -> AsyncIterator[Follow]:
        """Follow the store: `await it.get()` gives the ids of the sessions that grew."""
        async with self._feed.subscribe() as grown:
            yield grown

    def draft(self, session_id: str) -> tuple[str, str] | None:
        """(effect id, text) of the reply that is being written, or None. Not a fact."""
        return self._feed.draft(session_id)

    def progress(self, session_id: str) -> dict[str, tuple[float, float | None, str]]:
        """(done, total or None, words) of calls that tell how far they are, by effect id."""
        return self._feed.progress(session_id)

    def now(self) -> int:
        """The time of the store's clock, in ms, UTC."""
        return self._clock.now()

    # The store ----------------------------------------------------------------------------------

    async def position(self) -> int:
        """The position of the store's newest fact."""
        return await self._read(health.position)

    async def waits_changed(self, after: int) -> tuple[int, bool]:
        """The newest position, and whether a card may have changed between `after` and it."""
        return await self._read(lambda conn: waits.changed(conn, after))

    async def health(self) -> dict[str, Any]:
        """How the store does, in figures (see `projections.health`)."""
        return await health.figures(self._db, self._clock.now(), self._data)

    async def trouble(self, role: str = "viewer") -> str:
        """What somebody of that role should know on every page; "" when all is well."""
        try:
            return health.trouble(await self.health(), role)
        except Unavailable as error:
            return f"Nothing can be read at the moment: {error.message}"

    async def ready(self) -> dict[str, Any]:
        """Whether requests can be answered: {"ready": bool, "why": sentence or None}."""
        try:
            await self.position()
        except Unavailable as error:
            return {"ready": False, "why": error.message}
        return {"ready": True, "why": None}


def _sessions_after(
    person: Person, span: Span, after: tuple[int, str], conn: sa.Connection
) -> tuple[list[UsageRow], tuple[int, str] | None]:
    return usage.sessions_after(conn, person, span, after, EXPORTED)


def _whole(number: int | None) -> int | None:
    return None if number is None else pages.within(number)
