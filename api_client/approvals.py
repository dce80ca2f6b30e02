"""Calls about what waits for a person."""

from api_client.call import ABSENT, Call, Json, Listing, get, given, keyed, part, tag
from api_client.shapes import Approval, ApprovalDetail, Decided


def index(
    *, state: str | None = None, kind: str | None = None, agent: str | None = None,
    tool: str | None = None, plugin: str | None = None, session: str | None = None,
    older_than: int | None = None, q: str | None = None, limit: int | None = None,
) -> Listing[Approval]:  # fmt: skip
    """Waits: the oldest first while open, the newest first once closed."""
    return Listing(
        first=get(
            "/v1/approvals", state=state, kind=kind, agent=agent, tool=tool, plugin=plugin,
            session=session, older_than=older_than, q=q, limit=limit,
        )
    )  # fmt: skip


def show(approval_id: str) -> Call[ApprovalDetail]:
    """One wait with all that a person must see."""
    return get(f"/v1/approvals/{part(approval_id)}")


def decide(
    approval_id: str, choice: str, *, digest: str, reason: str = "", arguments: Json = ABSENT,
    answer: Json = ABSENT, key: str | None = None,
) -> Call[Decided]:  # fmt: skip
    """Answer a wait. `digest` is that of what was shown; what changed since is refused."""
    body = given(choice=choice, reason=reason, arguments=arguments, answer=answer)
    path = f"/v1/approvals/{part(approval_id)}/decision"
    return keyed(path, body, key, **{"If-Match": tag(digest)})
