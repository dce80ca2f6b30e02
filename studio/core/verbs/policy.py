"""The policy, saved in versions and tried on recorded calls."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules import access, policy
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Refused
from studio.core.store import effects, policies
from studio.core.verbs import parts
from studio.core.verbs.parts import Verbs


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A policy was saved."""

    version: int
    warnings: tuple[str, ...]


class PolicyVerbs(Verbs):
    """What one may do with the policy."""

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
