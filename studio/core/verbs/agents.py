"""Agents, saved in versions: one, or many in one transaction, all of them or none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from studio.core import schemas
from studio.core.rules import access, ids, paths
from studio.core.rules import agent as agents_rule
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.agent import Manifest
from studio.core.rules.errors import Invalid, Refused
from studio.core.store import agents
from studio.core.store.agents import Agent
from studio.core.verbs import brought
from studio.core.verbs.parts import Verbs

MOST_TOGETHER = 200


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A manifest to save. `expect` is the version its author looked at, 0 when there was none."""

    manifest: Any
    expect: int | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What saving an agent does, or would do. `version` is the one it makes, or keeps."""

    name: str
    version: int
    creates: bool
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    digest: str


class AgentVerbs(Verbs):
    """What one may do with agents."""

    async def save_agent(
        self, person: Person, manifest: Any, *, dry_run: bool = False, expect: int | None = None
    ) -> Plan:
        """Save a manifest as a new version, or say what saving it would do.

        Invalid with a sentence for each field; Refused when it is not at version `expect`.
        """
        wanted = [Wanted(manifest=manifest, expect=expect)]
        (plan,) = await self._save(person, wanted, ("",), dry_run=dry_run)
        return plan

    async def save_agents(
        self, person: Person, wanted: Sequence[Wanted], *, dry_run: bool = False
    ) -> tuple[Plan, ...]:
        """Save all of these manifests in one transaction, or none; a plan for each, in order.

        Invalid tells every fault of every manifest, by paths such as `items[3].manifest.model`.
        """
        if len(wanted) > MOST_TOGETHER:
            words = f"At most {MOST_TOGETHER} agents are saved together, not {len(wanted)}."
            raise Invalid(words, fields={"items": words}, code="agents.too_many")
        places = tuple(f"items[{index}].manifest" for index in range(len(wanted)))
        return await self._save(person, wanted, places, dry_run=dry_run)

    async def _save(
        self, person: Person, wanted: Sequence[Wanted], places: Sequence[str], *, dry_run: bool
    ) -> tuple[Plan, ...]:
        access.needs(person, "admin", "save an agent")
        faults: dict[str, str] = {}
        parsed = [_parsed(one.manifest, at, faults) for one, at in zip(wanted, places, strict=True)]
        plans: tuple[Plan, ...] = ()

        def rule(conn: sa.Connection) -> list[e.Event]:
            nonlocal plans
            found = _Found(conn, parsed, places)
            _check(found, faults)
            whole = [one for one in parsed if one is not None]
            plans = tuple(
                _plan(conn, found.newest(one.name), one, ask.expect, together=len(wanted) > 1)
                for one, ask in zip(whole, wanted, strict=True)
            )
            return [
                e.AgentSaved(
                    name=one.name, version=plan.version, manifest=one.data, digest=plan.digest,
                    by=person.id,
                )
                for one, plan in zip(whole, plans, strict=True)
                if plan.creates
            ]  # fmt: skip

        if dry_run or faults:
            await self.db.read(rule)
        else:
            await self.journal.commit_other("agents", rule, at=self.clock.now(), actor=person.actor)
        return plans


class _Found:
    """The agents of a transaction: those that are saved in it, and the newest of the others."""

    def __init__(
        self, conn: sa.Connection, parsed: Sequence[Manifest | None], places: Sequence[str]
    ) -> None:
        self._conn, self._known = conn, dict[str, Agent | None]()
        self.saved = [(one, at) for one, at in zip(parsed, places, strict=True) if one is not None]
        self._own = {one.name: one for one, _ in self.saved}

    def newest(self, name: str) -> Agent | None:
        """The newest version that is kept."""
        if name not in self._known:
            self._known[name] = agents.get(self._conn, name)
        return self._known[name]

    def is_there(self, name: str) -> bool:
        """It is saved already, or now."""
        return name in self._own or self.newest(name) is not None

    def agents_of(self, name: str) -> tuple[str, ...]:
        """The sub-agents that it names, or will."""
        if name in self._own:
            return self._own[name].agents
        kept = self.newest(name)
        return tuple(kept.manifest.get("agents") or ()) if kept is not None else ()


def _parsed(manifest: Any, place: str, faults: dict[str, str]) -> Manifest | None:
    try:
        return agents_rule.parse(manifest, schema_problem=schemas.problem)
    except Invalid as error:
        faults.update({_below(place, path): words for path, words in error.fields.items()})
        return None


def _below(place: str, path: str) -> str:
    if not place or not path:
        return place or path
    return f"{place}{path}" if path.startswith("[") else f"{place}.{path}"


def _check(found: _Found, faults: dict[str, str]) -> None:
    """What one manifest alone does not show: names given twice, sub-agents that are not there."""
    told = dict(faults)
    first: dict[str, str] = {}
    for one, place in found.saved:
        if one.name in first:
            words = f"is the name of {first[one.name]} too; each agent stands once."
            told.setdefault(_below(place, "name"), words)
        first.setdefault(one.name, place)
        for index, name in enumerate(one.agents):
            at = _below(place, paths.join("agents", index))
            if not found.is_there(name):
                told.setdefault(at, f"there is no agent {name}; save it first, or with this one.")
            elif circle := _circle(found, one.name, name):
                told.setdefault(at, f"leads back to this agent: {' → '.join(circle)}.")
    if told:
        raise _invalid(told)


def _circle(found: _Found, own: str, first: str) -> tuple[str, ...] | None:
    """The way from an agent through its sub-agents back to itself."""
    waiting: list[tuple[str, ...]] = [(own, first)]
    seen: set[str] = set()
    while waiting:
        way = waiting.pop()
        for name in found.agents_of(way[-1]):
            if name == own:
                return (*way, own)
            if name not in seen:
                seen.add(name)
                waiting.append((*way, name))
    return None


def _invalid(faults: Mapping[str, str]) -> Invalid:
    together = any(path.startswith("items[") for path in faults)
    count = len(faults)
    noun = "field is" if count == 1 else "fields are"
    if not together:
        words = f"The agent manifest cannot be used: {count} {noun} not right."
        return Invalid(words, fields=faults, code="agent.invalid")
    files = len({path.partition(".")[0] for path in faults})
    whose = "one manifest" if files == 1 else f"{files} manifests"
    words = f"Nothing was saved: {count} {noun} not right, in {whose}."
    return Invalid(words, fields=faults, code="agent.invalid")


def _plan(
    conn: sa.Connection, kept: Agent | None, parsed: Manifest, expect: int | None, *,
    together: bool,
) -> Plan:  # fmt: skip
    current = kept.version if kept is not None else 0
    if expect is not None and expect != current:
        raise _changed(kept, parsed.name, expect, together=together)
    digest = ids.digest(parsed.data)
    same = kept is not None and kept.digest == digest
    changes = agents_rule.diff(kept.manifest, parsed.data) if kept is not None else ["new agent"]
    warnings = (*parsed.warnings, *brought.warnings(conn, parsed, current))
    return Plan(
        name=parsed.name, version=current if same else current + 1, creates=not same,
        changes=() if same else tuple(changes), warnings=warnings, digest=digest,
    )  # fmt: skip


def _changed(kept: Agent | None, name: str, expect: int, *, together: bool) -> Refused:
    """Somebody saved it meanwhile: who, when, and which version that is."""
    nothing = " Nothing was saved." if together else ""
    if kept is None:
        words = f"There is no agent {name} yet; you looked at version {expect}.{nothing}"
        return Refused(words, code="agent.changed",
                       details={"name": name, "version": 0, "expected": expect})  # fmt: skip
    looked = f"you looked at version {expect}" if expect else "you looked when there was none"
    return Refused(
        f"The agent {name} was saved meanwhile: version {kept.version}, by {kept.by}; "
        f"{looked}.{nothing}",
        code="agent.changed",
        details={
            "name": name, "version": kept.version, "expected": expect, "by": kept.by,
            "time": datetime.fromtimestamp(kept.time / 1000, UTC).isoformat(timespec="seconds"),
        },
    )  # fmt: skip
