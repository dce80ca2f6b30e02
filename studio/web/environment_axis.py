"""What happened in an environment, drawn on one axis: a lane a session, and lanes of its own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from studio.core.projections.environment_times import (
    EnvironmentTimes,
    EnvironmentTurn,
    Milestone,
    Tries,
)
from studio.web import waterfall
from studio.web.format import count
from studio.web.waterfall import FOLD_MS, FOLD_SHARE, THIN, WIDE, Stretch

LANES = 12  # of sessions; those of more share the last one
LISTED = 200
MARK = 4.0  # how wide a moment is drawn
FOLDS, WIDEST = 0.4, 60.0  # of the axis: folded stretches together; and each at most
NEAR = 200  # a part of the window that is never folded on both sides of what happened


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A rectangle in a lane: where it leads, its words, its look, its place on the axis."""

    href: str
    words: str
    look: str
    x: float
    w: float
    y: float = 1.0
    h: float = 8.0


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A row of the drawing; `href` is "" where it leads nowhere as a whole."""

    name: str
    href: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, kw_only=True)
class Happening:
    """A line of the list: what, of whom, where it leads; `lasted` is None for a moment."""

    time: int
    kind: str
    words: str
    href: str
    state: str = ""
    by: str = ""
    lasted: int | None = None


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """The axis, its lanes, and what happened as a list, the newest first; `more` are not in it."""

    axis: tuple[Stretch, ...]
    lanes: tuple[Lane, ...]
    listed: tuple[Happening, ...]
    more: int


def drawing(of: EnvironmentTimes, url: str) -> Drawing:
    """The picture and the list; `url` is the environment's page."""
    axis = _axis(of)
    told = sorted(
        [
            *(_turn(one, of.now) for one in of.turns),
            *(_milestone(one, url) for one in of.milestones),
            *(_tries(one, url) for one in of.tries),
        ],
        key=lambda one: one.time, reverse=True,
    )  # fmt: skip
    lanes = [*_sessions(of, axis), *_own(of, axis, url)]
    return Drawing(
        axis=axis, lanes=tuple(lane for lane in lanes if lane.marks), listed=tuple(told[:LISTED]),
        more=max(len(told) - LISTED, 0),
    )  # fmt: skip


def _axis(of: EnvironmentTimes) -> tuple[Stretch, ...]:
    """Stretches in which nothing happened for long are folded."""
    near = max((of.until - of.since) // NEAR, 1)
    near = min(near, FOLD_MS // 2)
    busy = [(one.opened, _end(one, of.now)) for one in of.turns]
    busy += [(one.time - near, one.time + near) for one in of.milestones]
    busy += [(one.start - near, one.end + near) for one in of.tries]
    idle = waterfall.gaps(of.since, of.until, busy)
    worked = (of.until - of.since) - sum(b - a for a, b in idle)
    least = max(FOLD_MS, FOLD_SHARE * worked / max(len(busy), 1))
    folds = sum(b - a >= least for a, b in idle)
    wide = min(WIDEST, FOLDS * WIDE / max(folds, 1))
    return waterfall.fold(of.since, of.until, idle, least=least, most=folds, wide=wide)


def _sessions(of: EnvironmentTimes, axis: Sequence[Stretch]) -> list[Lane]:
    found: dict[str, list[EnvironmentTurn]] = {}
    for one in reversed(of.turns):  # the session that moved last comes first
        found.setdefault(one.session_id, []).append(one)
    rooms = list(found.items())
    lanes = [
        Lane(name=some[0].title, href=f"/sessions/{id}/trace", marks=_bars(some, of, axis))
        for id, some in rooms[:LANES]
    ]
    rest = [one for _, some in rooms[LANES:] for one in some]
    if rest:
        name = count(len(rooms) - LANES, "more session", "more sessions")
        lanes.append(Lane(name=name, href="", marks=_bars(rest, of, axis)))
    return lanes


def _bars(
    turns: Iterable[EnvironmentTurn], of: EnvironmentTimes, axis: Sequence[Stretch]
) -> tuple[Mark, ...]:
    return tuple(
        _mark(axis, of, one.opened, _end(one, of.now), told=_turn(one, of.now), look=_LOOKS.get(
            one.status, "turn"
        ), least=THIN, y=2.0, h=6.0)
        for one in turns
    )  # fmt: skip


def _own(of: EnvironmentTimes, axis: Sequence[Stretch], url: str) -> list[Lane]:
    """The lanes of the environment itself: its disk, its life, its network."""
    disk = [one for one in of.milestones if one.type.startswith("disk.")]
    life = [one for one in of.milestones if not one.type.startswith("disk.")]
    lanes = [
        Lane(name=name, href=href, marks=tuple(
            _mark(axis, of, one.time, one.time, told=_milestone(one, url), look=_look(one))
            for one in some
        ))
        for name, href, some in (("Disk", f"{url}/disk", disk), ("Environment", url, life))
    ]  # fmt: skip
    highest = max((one.count for one in of.tries), default=1)
    marks = tuple(mark for one in of.tries for mark in _stack(one, of, axis, url, highest))
    return [*lanes, Lane(name="Network", href=f"{url}?tab=network", marks=marks)]


def _stack(
    one: Tries, of: EnvironmentTimes, axis: Sequence[Stretch], url: str, highest: int
) -> list[Mark]:
    """Tries as a bar from below: allowed, and on it those that came to nothing."""
    told, wrong, found, y = _tries(one, url), one.refused + one.failed, list[Mark](), 10.0
    for look, some in (("allowed", one.allowed), ("refused", wrong)):
        if some:
            h = max(9.0 * some / highest, 1.5)
            y -= h
            place = (max(y, 0.0), round(h, 1))
            found.append(
                _mark(axis, of, one.start, one.end, told=told, look=look, y=place[0], h=place[1])
            )
    return found


def _mark(
    axis: Sequence[Stretch], of: EnvironmentTimes, start: int, end: int, *, told: Happening,
    look: str, least: float = MARK, y: float = 1.0, h: float = 8.0,
) -> Mark:  # fmt: skip
    x = waterfall.place(axis, max(start, of.since))
    w = max(waterfall.place(axis, min(end, of.until)) - x, least)
    return Mark(
        href=told.href, words=told.words, look=look, x=round(min(x, WIDE - w), 1), w=round(w, 1),
        y=round(y, 1), h=h,
    )  # fmt: skip


def _turn(one: EnvironmentTurn, now: int) -> Happening:
    return Happening(
        time=one.opened, kind="turn", words=f"Turn {one.number} of {one.title}", state=one.status,
        href=f"/sessions/{one.session_id}/turns/{one.number}", lasted=_end(one, now) - one.opened,
    )  # fmt: skip


def _milestone(one: Milestone, url: str) -> Happening:
    p, fact = one.payload, f"{url}?tab=events&before={one.seq + 1}#event-{one.seq}"
    by, kind, words, href = str(p.get("by") or ""), one.type.partition(".")[0], one.type, fact
    lasted = None
    match one.type:
        case "disk.kept":
            words, href = _kept(p), f"{url}/disk/{p['version']}"
        case "disk.restored":
            words, href = f"Version {p['source']} restored", f"{url}/disk/{p['version']}"
        case "environment.forked":
            words, href = f"Forked into {p['name']}", f"/environments/{p['into']}"
        case "environment.made":
            source = p.get("forked_from")
            words = f"Made as a fork of {source['name']}" if source else "Made"
        case "setup.finished":
            words, href = "Set up" if p["ok"] else "Setup failed", f"{url}?tab=setup"
            began = [run["began"] for run in p["runs"] if run.get("began") is not None]
            lasted = one.time - min(began) if began else None
        case "environment.lost":
            words = f"Lost: {p['reason']}"
        case _:
            words = one.type.partition(".")[2].capitalize()
    return Happening(time=one.time, kind=kind, words=words, href=href, by=by, lasted=lasted)


def _kept(payload: dict[str, object]) -> str:
    why = {
        "setup": "of its setup", "turn": "at a turn’s end", "hand": "by hand",
        "restore": "by a restore", "import": "of an import", "fork": "of a fork",
    }  # fmt: skip
    note = f": {payload['note']}" if payload.get("note") else ""
    return f"Version {payload['version']} kept {why.get(str(payload['reason']), '')}{note}"


def _tries(one: Tries, url: str) -> Happening:
    named = (("allowed", one.allowed), ("refused", one.refused), ("failed", one.failed))
    told = ", ".join(f"{number:,} {word}" for word, number in named if number)
    words = f"{one.host} {told.partition(' ')[2]}" if one.host else f"{told} tries"
    return Happening(
        time=one.end, kind="egress", words=words, lasted=one.end - one.start or None,
        href=f"{url}?tab=events&before={one.seq + 1}#event-{one.seq}",
    )  # fmt: skip


_LOOKS = {"failed": "bad", "held": "held", "waiting": "held", "cancelled": "off"}


def _look(one: Milestone) -> str:
    if one.type in ("environment.lost", "environment.reset", "environment.deleted"):
        return "bad"
    if one.type == "setup.finished":
        return "setup" if one.payload["ok"] else "bad"
    if one.type == "disk.restored" or one.payload.get("reason") == "restore":
        return "restore"
    return "fork" if one.type == "environment.forked" else "keep"


def _end(one: EnvironmentTurn, now: int) -> int:
    return max(now if one.ended is None else one.ended, one.opened)
