"""What of a trace is shown, and which span is looked at: all of it stands in the URL."""

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request

from studio.core.rules.spans import Span
from studio.web.visit import asked

ROWS = 40  # rows of a window: more than a screen of them
MOST_ROWS = 2_000  # that stand in a page at once
KINDS = ("model", "tool", "wait", "environment")
WRONG = ("failed", "uncertain", "denied", "expired")
MOST_FOLDS = 60


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """Filters (`kind`, `plugin`, `wrong`), what is searched for, and what is folded.

    `start` is the place of the first row, None where it follows from the span looked at; `rows` how
    many are shown, `base` where those began that more are added to. `zoom` is the span whose time
    is the axis. `folds` are the spans (by id) and steps (`s3`) that are folded; with `steps` all
    steps are, but those. `find` is searched for in the payload of the span looked at.
    """

    kind: str = ""
    plugin: str = ""
    q: str = ""
    only: bool = False
    wrong: bool = False
    span: str = ""
    start: int | None = None
    rows: int = ROWS
    base: int | None = None
    zoom: str = ""
    folds: tuple[str, ...] = ()
    steps: bool = False
    find: str = ""

    @property
    def any(self) -> bool:
        """Something is left out by a filter."""
        return bool(self.kind or self.plugin or self.wrong or (self.only and self.q))

    def shows(self, span: Span) -> bool:
        """Whether the filters let a span through."""
        return (
            (not self.kind or span.kind == self.kind)
            and (not self.plugin or span.plugin == self.plugin)
            and (not self.wrong or span.state in WRONG)
        )

    def is_folded(self, key: str) -> bool:
        """Whether a span's subtree or a step is folded."""
        return (key in self.folds) != (self.steps and key.startswith("s") and key[1:].isdigit())

    def turned(self, key: str) -> str:
        """`folds` with this one turned, for the URL."""
        kept = [one for one in self.folds if one != key]
        return ",".join(kept if key in self.folds else [*kept, key][-MOST_FOLDS:])

    def url(self, **changes: str | int | None) -> str:
        """The query with some of it changed, and without a window; what is empty is left out."""
        kept: dict[str, str | int | None] = {**dict(self.fields()), "find": self.find, **changes}
        query = {
            name: value for name, value in kept.items()
            if value or (value == 0 and name in ("from", "base"))
        }  # fmt: skip
        return f"?{urlencode(query, safe=',/')}" if query else "?"

    def fields(self, *without: str) -> list[tuple[str, str]]:
        """What a form of its own sends along, but these."""
        kept = {
            "kind": self.kind, "plugin": self.plugin, "q": self.q, "only": self.only and "1",
            "wrong": self.wrong and "1", "zoom": self.zoom, "fold": ",".join(self.folds),
            "steps": self.steps and "1", "span": self.span,
        }  # fmt: skip
        return [(name, value) for name, value in kept.items() if value and name not in without]

    def at(self, start: int) -> str:
        """The query of another window."""
        changes: dict[str, str | int | None] = {"from": start, "span": ""}
        return self.url(**changes)


def narrowed(request: Request) -> Narrowed:
    """What the URL says. A kind or a plugin that is nowhere is asked for all the same."""
    folds = [one for one in asked(request, "fold").split(",") if one][:MOST_FOLDS]
    return Narrowed(
        kind=asked(request, "kind")[:80],
        plugin=asked(request, "plugin")[:80],
        q=asked(request, "q")[:200],
        only=asked(request, "only") == "1",
        wrong=asked(request, "wrong") == "1",
        span=asked(request, "span"),
        start=_number(asked(request, "from")),
        rows=min(max(_number(asked(request, "rows")) or ROWS, ROWS), MOST_ROWS),
        base=_number(asked(request, "base")),
        zoom=asked(request, "zoom"),
        folds=tuple(dict.fromkeys(folds)),
        steps=asked(request, "steps") == "1",
        find=asked(request, "find")[:200],
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None
