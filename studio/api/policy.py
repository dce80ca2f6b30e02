"""Policy: read a version, save a new one, try one on recorded calls."""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api import wire
from studio.api.endpoint import Answer, Ask, Endpoint
from studio.api.shapes import Time
from studio.core.rules.policy import Change

VERSION = "the version you looked at (its ETag)"


async def show(ask: Ask[b.PolicyQuery, b.NoBody]) -> Answer:
    """One version of the policy."""
    view = await ask.reader.policy(ask.person, ask.query.version)
    policy = a.take(
        a.Policy, view, rules=a.take_all(a.Rule, view.rules),
        versions=a.take_all(a.Version, view.versions),
    )  # fmt: skip
    return Answer(value=policy, headers={"ETag": f'"{view.version}"'})


async def save(ask: Ask[b.NoQuery, b.NewPolicy]) -> Answer:
    """Replace the rules in force."""
    expect = wire.if_match_version(ask.request, what=VERSION, required=True)
    saved = await ask.runtime.save_policy(
        ask.person, list(ask.body.rules), expect=expect, note=ask.body.note
    )
    return Answer(value=a.take(a.PolicySaved, saved), headers={"ETag": f'"{saved.version}"'})


async def dry_run(ask: Ask[b.NoQuery, b.DryRun]) -> a.Tried:
    """What these rules would have said."""
    tried, warnings = await ask.runtime.dry_run_policy(
        ask.person, list(ask.body.rules), limit=ask.body.limit
    )
    return a.Tried(
        total=tried.total, changes=sum(tried.counts.values()), sentence=tried.sentence,
        items=tuple(_change(one) for one in tried.changed), warnings=tuple(warnings),
    )  # fmt: skip


def _change(change: Change) -> a.Change:
    call, subject = change.call, change.call.subject
    return a.Change(
        effect_id=call.effect_id, session_id=call.session_id, tool=subject.tool,
        agent=subject.agent, proposed_at=Time(call.time), before=change.before,
        after=change.after, rules=tuple(rule.words for rule in change.rules),
    )  # fmt: skip


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="show_policy", method="GET", path="/policy", call=show, gives=a.Policy,
        query=b.PolicyQuery, tagged=True, errors=(404,),
        says="Read the policy in force, or one version of it.",
    ),
    Endpoint(
        name="save_policy", method="PUT", path="/policy", call=save, gives=a.PolicySaved,
        body=b.NewPolicy, match=VERSION, match_required=True, tagged=True, errors=(409,),
        says="Replace the policy.",
    ),
    Endpoint(
        name="dry_run_policy", method="POST", path="/policy/dry-run", call=dry_run,
        gives=a.Tried, body=b.DryRun, says="Try a rule set on recorded calls; nothing is saved.",
    ),
)  # fmt: skip
