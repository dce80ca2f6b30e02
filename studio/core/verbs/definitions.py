"""Definitions: agents and the policy, saved in versions."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core import schemas
from studio.core.rules import access, ids, policy
from studio.core.rules import agent as agents_rule
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Refused
from studio.core.store import agents, effects, policies
from studio.core.verbs import parts
from studio.core.verbs.parts import Verbs


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What saving an agent does, or would do. `version` is the one it makes, or keeps."""

    name: str
    version: int
    creates: bool
    changes: tuple[str, ...]
    warnings: tuple[str, ...]
    digest: str


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A policy was saved."""

    version: int
    warnings: tuple[str, ...]


class DefinitionVerbs(Verbs):
    """What one may do with agents and the policy."""

    async def save_agent(
        self, person: Person, manifest: Any, *, dry_run: bool = False, expect: int | None = None
    ) -> Plan:
        """Save a manifest as a new version, or say what saving it would do."""
        access.needs(person, "admin", "save an agent")
        parsed = agents_rule.parse(manifest, schema_problem=schemas.problem)
        plan: Plan | None = None

        def rule(conn: sa.Connection) -> list[e.Event]:
            nonlocal plan
            plan = _plan(agents.get(conn, parsed.name, None), parsed, expect)
            if dry_run or not plan.creates:
                return []
            return [
                e.AgentSaved(
                    name=parsed.name, version=plan.version, manifest=parsed.data,
                    digest=plan.digest, by=person.id,
                )
            ]  # fmt: skip

        if dry_run:
            await self.db.read(rule)
        else:
            await self.journal.commit_other("agents", rule, at=self.clock.now(), actor=person.actor)
        assert plan is not None, "the rule has run"
        return plan

    async def save_policy(
        self, person: Person, rules: Any, *, expect: int | None, note: str = ""
    ) -> Saved:
        """Save the policy as a new version. `expect` is the version the person looked at."""
        access.needs(person, "admin", "save the policy")
        parsed, warnings = policy.parse(rules)
        made = 0

        def rule(conn: sa.Connection) -> list[e.Event]:
            nonlocal made
            current = policies.current(conn).version
            if expect is not None and expect != current:
                raise Refused(
                    f"The policy is at version {current}; you looked at {expect}. Read it again.",
                    code="policy.changed", details={"version": current, "expected": expect},
                )  # fmt: skip
            made = current + 1
            dumped = policy.dump(policy.Policy(version=made, rules=parsed))
            return [
                e.PolicySaved(version=made, rules=dumped, by=person.id, note=parts.reason(note))
            ]

        await self.journal.commit_other("policy", rule, at=self.clock.now(), actor=person.actor)
        return Saved(version=made, warnings=tuple(warnings))

    async def dry_run_policy(
        self, person: Person, rules: Any, *, limit: int = 1000
    ) -> tuple[policy.DryRun, tuple[str, ...]]:
        """Which of the last `limit` recorded calls would change their verdict under these rules."""
        parsed, warnings = policy.parse(rules)
        current = await self.db.read(policies.current)
        calls = await self.db.read(lambda conn: effects.recorded(conn, person, limit))
        new = policy.Policy(version=current.version + 1, rules=parsed)
        return policy.dry_run(current, new, calls), tuple(warnings)


def _plan(found: Any, parsed: agents_rule.Manifest, expect: int | None) -> Plan:
    current = found.version if found is not None else 0
    if expect is not None and expect != current:
        raise Refused(
            f"The agent {parsed.name} is at version {current}; you looked at {expect}.",
            code="agent.changed", details={"version": current, "expected": expect},
        )  # fmt: skip
    digest = ids.digest(parsed.data)
    same = found is not None and found.digest == digest
    changes = agents_rule.diff(found.manifest, parsed.data) if found is not None else ["new agent"]
    return Plan(
        name=parsed.name, version=current if same else current + 1, creates=not same,
        changes=() if same else tuple(changes), warnings=tuple(parsed.warnings), digest=digest,
    )  # fmt: skip
