"""What the page of a trace is drawn from, whoever sent its spans: its rows, its map, one span."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from studio.core.reader import CallRow, EventRow
from studio.core.rules.spans import Span, Trace
from studio.web import rows
from studio.web.minimap import Map
from studio.web.narrowed import KINDS, MOST_ROWS, Narrowed
from studio.web.payloads import Payload
from studio.web.rows import Shape, Shown
from studio.web.waterfall import Part

NOTHING: Mapping[str, object] = {}
LOOKS = ("model", "tool", "environment", "person", "timer")
BOUND = "Arguments and results are looked through whole."


@dataclass(frozen=True, kw_only=True)
class Link:
    """Where a span leads to."""

    words: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Something that happened within a span, so many ms after its start, and what it said."""

    words: str
    offset: int
    who: str = ""
    attributes: Mapping[str, object] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, kw_only=True)
class Looked:
    """One span looked at: its attributes, what happened in it, what it carries, facts behind it.

    `call` and `facts` are only of our own spans; `events_url` with a seq behind it leads to a fact.
    `told` (terms with their words), `resource` and `missing` (sentences on what was not kept) are
    only of spans that another system sent.
    """

    span: Span
    attributes: Mapping[str, object]
    lasted: int
    offset: int
    moments: tuple[Moment, ...] = ()
    payloads: tuple[Payload, ...] = ()
    links: tuple[Link, ...] = ()
    call: CallRow | None = None
    facts: tuple[EventRow, ...] = ()
    events_url: str = ""
    told: tuple[tuple[str, str], ...] = ()
    resource: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SpanView:
    """What one span looked at is drawn from. `here` is the page's address without its query.

    `noun` is what the whole is called; with `says_kinds` each row says its kind, as names that
    others chose do not.
    """

    trace: Trace
    here: str
    narrowed: Narrowed
    looked: Looked | None
    noun: str = "turn"
    says_kinds: bool = False


@dataclass(frozen=True, kw_only=True)
class TraceView(SpanView):
    """What the rows of a trace, its map and a span looked at are drawn from.

    `looks` are the shapes that the legend tells; `bound` says how far a search looks, and
    `unlooked` what this one did not look through, "" when that is nothing.
    """

    shown: Shown
    parts: tuple[Part, ...]
    map: Map | None
    kinds: tuple[str, ...] = KINDS
    most: int = MOST_ROWS
    looks: tuple[str, ...] = LOOKS
    bound: str = BOUND
    unlooked: str = ""

    @property
    def shape(self) -> Shape:
        """What of the trace is the same for whoever looks."""
        return rows.shape(self.trace)
