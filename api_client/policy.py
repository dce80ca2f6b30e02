"""Calls about the policy."""

from collections.abc import Sequence

from api_client.call import Call, Json, get, given, tag
from api_client.shapes import Policy, PolicySaved, Tried


def show(*, version: int | None = None) -> Call[Policy]:
    """The policy in force, or one version of it."""
    return get("/v1/policy", version=version)


def save(rules: Sequence[Json], *, version: int, note: str = "") -> Call[PolicySaved]:
    """Replace the rules; `version` is the one you looked at."""
    return Call(
        method="PUT", path="/v1/policy", body=given(rules=list(rules), note=note),
        headers={"If-Match": tag(version)},
    )  # fmt: skip


def dry_run(rules: Sequence[Json], *, limit: int = 1_000) -> Call[Tried]:
    """What these rules would have said of recorded calls."""
    return Call(
        method="POST", path="/v1/policy/dry-run", body=given(rules=list(rules), limit=limit)
    )
