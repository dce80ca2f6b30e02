"""Facts and folded sessions to JSON and back, by the type hints of their classes.

A plan is made once for each class: which fields are plain JSON and which need a step of their own.
Order and numbers stay as they were given, so what is read back is what was recorded, arguments in
the order that the model wrote them.
"""

import json
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from studio.core.rules import events, session
from studio.core.rules.events import EVENTS, Content, Event, Fact
from studio.core.rules.session import Session

V = TypeVar("V")
Step = Callable[[Any], Any]
COLUMNS = "session_id, seq, position, id, time, actor, evidence, type, payload"

_OPTIONS: dict[str, Any] = {"separators": (",", ":"), "allow_nan": False, "check_circular": False}
_encode = json.JSONEncoder(ensure_ascii=False, **_OPTIONS).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, **_OPTIONS).encode
_decode = json.JSONDecoder().decode


def text(value: Any) -> str:
    """JSON text that either store can keep, also when it holds half a surrogate pair."""
    made = _encode(value)
    if not made.isascii():
        try:
            made.encode()
        except UnicodeEncodeError:
            return _encode_ascii(value)
    return made


def payload(event: Event) -> str:
    """The JSON of an event's fields."""
    return text(_plan(type(event)).out(event))


def event(kind: str, made: str) -> Event:
    """The event of this type from its JSON; fields that are unknown here are left out."""
    result: Event = _plan(EVENTS[kind]).back(_decode(made))
    return result


def fact(row: Any) -> Fact:
    """A fact from a row of `COLUMNS`."""
    session_id, seq, position, fact_id, time, actor, evidence, kind, made = row
    return Fact(
        session_id=session_id, seq=seq, position=position, id=fact_id, time=time, actor=actor,
        evidence=evidence, event=event(kind, made),
    )  # fmt: skip


def contents_of(kind: type[Event]) -> tuple[str, ...]:
    """Names of the fields that hold a Content."""
    return _plan(kind).contents


def content(made: str) -> Content:
    """A Content from a derived row."""
    return back(Content, made)


def value(of: Any) -> str:
    """The JSON of a Content, a Ruling or another value of the rules; `null` for None."""
    return text(None if of is None else _plan(type(of)).out(of))


def back(kind: type[V], made: str) -> V:
    """A value of the rules from its JSON."""
    result: V = _plan(kind).back(_decode(made))
    return result


def checkpoint(folded: Session) -> str:
    """A folded session as JSON."""
    return text(_plan(Session).out(folded))


def from_checkpoint(made: str) -> Session:
    """The folded session."""
    return back(Session, made)


def fold_sources() -> list[Path]:
    """The files that say what is folded and how: every kind of fact, and the session."""
    facts = Path(str(events.__file__)).parent.glob("*.py")
    return [*sorted(facts), Path(str(session.__file__))]


def _fold_version() -> str:
    """Names the code that folds: a checkpoint another version made is not trusted."""
    source = b"".join(path.read_bytes() for path in fold_sources())
    return sha256(source).hexdigest()[:16]


FOLD = _fold_version()


# Plans --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How one class goes to JSON and comes back."""

    kind: type[Any]
    names: frozenset[str]
    steps: tuple[tuple[str, Step, Step], ...]
    contents: tuple[str, ...]

    def out(self, of: Any) -> dict[str, Any]:
        """A dict that JSON can hold."""
        made = of.__dict__
        if self.steps:
            made = made.copy()
            for name, out, _ in self.steps:
                made[name] = out(made[name])
        return made  # type: ignore[no-any-return]

    def back(self, made: dict[str, Any]) -> Any:
        """The value again."""
        if not self.names.issuperset(made):
            made = {name: item for name, item in made.items() if name in self.names}
        for name, _, back in self.steps:
            if name in made:
                made[name] = back(made[name])
        return self.kind(**made)


_plans: dict[type[Any], Plan] = {}


def _plan(kind: type[Any]) -> Plan:
    plan = _plans.get(kind)
    if plan is None:
        plan = _plans[kind] = _make(kind)
    return plan


def _make(kind: type[Any]) -> Plan:
    hints = typing.get_type_hints(kind)
    steps = []
    for item in fields(kind):
        found = _step(hints[item.name])
        if found is not None:
            steps.append((item.name, *found))
    names = [item.name for item in fields(kind)]
    contents = tuple(name for name in names if hints[name] in (Content, Content | None))
    return Plan(kind=kind, names=frozenset(names), steps=tuple(steps), contents=contents)


def _step(hint: Any) -> tuple[Step, Step] | None:
    """What a value of this type needs on its way; None when JSON holds it as it is."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if is_dataclass(hint):
        return _dataclass(typing.cast("type[Any]", hint))
    if origin in (typing.Union, types.UnionType):
        inner = [_step(part) for part in arguments if part is not types.NoneType]
        found = [step for step in inner if step is not None]
        return _maybe(*found[0]) if found else None
    if origin is tuple:
        return _tuple(_step(arguments[0]))
    if origin is dict:
        return _dict(_step(arguments[1]))
    return None


def _dataclass(kind: type[Any]) -> tuple[Step, Step]:
    return (lambda of: _plan(kind).out(of)), (lambda made: _plan(kind).back(made))


def _maybe(out: Step, back: Step) -> tuple[Step, Step]:
    return (
        lambda of: None if of is None else out(of),
        lambda made: None if made is None else back(made),
    )


def _tuple(inner: tuple[Step, Step] | None) -> tuple[Step, Step]:
    if inner is None:
        return list, tuple
    out, back = inner
    return (lambda of: [out(item) for item in of]), (lambda made: tuple(back(x) for x in made))


def _dict(inner: tuple[Step, Step] | None) -> tuple[Step, Step] | None:
    if inner is None:
        return None
    out, back = inner
    return (
        lambda of: {key: out(item) for key, item in of.items()},
        lambda made: {key: back(item) for key, item in made.items()},
    )
