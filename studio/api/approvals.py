"""Approvals: everything that waits for a person, and their decisions.

A decision carries the digest that was shown as If-Match; what changed since is not decided.
"""

from typing import Any

from studio.api import answers as a
from studio.api import bodies as b
from studio.api import wire
from studio.api.endpoint import Answer, Ask, Endpoint, Link
from studio.api.sessions import call_of
from studio.api.shapes import Absent
from studio.core.reader import Card, WaitRow
from studio.core.rules.errors import Invalid
from studio.core.runtime import MISSING

DIGEST = "the approval's digest (its ETag)"


async def index(ask: Ask[b.ApprovalsQuery, b.NoBody]) -> a.Approvals:
    """A page of waits."""
    q = ask.query
    page = await ask.reader.waits(
        ask.person, state=q.state, kind=q.kind, agent=q.agent, tool=q.tool, plugin=q.plugin,
        older_than_ms=None if q.older_than is None else q.older_than * 1000, q=q.q,
        session_id=q.session, limit=q.limit, cursor=q.cursor,
    )  # fmt: skip
    items = tuple(_approval(row) for row in page.items)
    return a.Approvals(items=items, next=page.next, complete=page.complete)


async def show(ask: Ask[b.NoQuery, b.NoBody]) -> Answer:
    """One wait with all that its card shows."""
    card = await ask.reader.wait(ask.person, ask.part("id"))
    return Answer(value=_detail(card), headers={"ETag": f'"{card.wait.digest}"'})


async def decide(ask: Ask[b.NoQuery, b.NewDecision]) -> a.Decided:
    """Answer a wait."""
    body, wait_id = ask.body, ask.part("id")
    digest = wire.if_match(ask.request, what=DIGEST, required=True)
    _check_fits(body)
    decided = await ask.runtime.decide(
        ask.person, wait_id, body.choice, digest=digest or "", reason=body.reason,
        arguments=MISSING if isinstance(body.arguments, Absent) else body.arguments,
        answer=MISSING if isinstance(body.answer, Absent) else body.answer,
        key=ask.key,
    )  # fmt: skip
    return a.take(a.Decided, decided)


def _check_fits(body: b.NewDecision) -> None:
    """Nothing that was sent is dropped unsaid."""
    wrong = {}
    if not isinstance(body.arguments, Absent) and body.choice != "approve":
        wrong["arguments"] = "go only with approve"
    if not isinstance(body.answer, Absent) and body.choice != "answer":
        wrong["answer"] = "goes only with the choice answer"
    if wrong:
        raise Invalid(f"The choice {body.choice} does not take this.", fields=wrong)


def _approval(row: WaitRow) -> a.Approval:
    return a.take(a.Approval, row, call=call_of(row.call))


def _detail(card: Card) -> a.ApprovalDetail:
    return a.take(
        a.ApprovalDetail, card,
        approval=_approval(card.wait),
        session=a.take(a.Session, card.session),
        arguments=card.arguments_value,
        proposed=card.proposed_value,
        decided=a.take(a.Decision, card.decided) if card.decided else None,
    )  # fmt: skip


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="list_approvals", method="GET", path="/approvals", call=index, gives=a.Approvals,
        query=b.ApprovalsQuery, says="List what waits for a person.",
        links=(Link(to="show_approval", part="id", value="$response.body#/items/0/id"),),
    ),
    Endpoint(
        name="show_approval", method="GET", path="/approvals/{id}", call=show,
        gives=a.ApprovalDetail, tagged=True, says="Read what a person must see before deciding.",
        links=(Link(to="decide_approval", part="id", value="$response.body#/approval/id"),),
    ),
    Endpoint(
        name="decide_approval", method="POST", path="/approvals/{id}/decision", call=decide,
        gives=a.Decided, body=b.NewDecision, keyed=True, match=DIGEST, match_required=True,
        errors=(409, 410), says="Approve, deny, answer or settle.",
    ),
)  # fmt: skip
