"""Who may see and who may do."""

import pytest

from studio.core.rules import access
from studio.core.rules.access import Person, Role
from studio.core.rules.errors import Denied

ROLES: list[Role] = ["viewer", "operator", "admin"]


@pytest.mark.parametrize("has", ROLES)
@pytest.mark.parametrize("needs", ROLES)
def test_role_reaches_itself_and_what_is_below(has: Role, needs: Role) -> None:
    person = Person(id="alice", role=has)
    may = ROLES.index(has) >= ROLES.index(needs)

    if may:
        access.needs(person, needs, "decide")
    else:
        with pytest.raises(Denied, match=f"Your role is {has}; to decide you need the role"):
            access.needs(person, needs, "decide")


def test_refusal_says_what_is_needed() -> None:
    with pytest.raises(Denied) as told:
        access.needs(Person(id="charlie", role="viewer"), "admin", "save the policy")

    assert told.value.code == "denied.admin_only"
    assert told.value.details == {"role": "viewer", "needs": "admin"}


@pytest.mark.parametrize("via,actor", [("browser", "operator:alice"), ("key", "application:alice")])
def test_journal_names_how_somebody_came(via: str, actor: str) -> None:
    assert Person(id="alice", role="admin", via=via).actor == actor  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "who,role,private,sees",
    [
        ("alice", "viewer", True, True),
        ("charlie", "operator", True, False),
        ("charlie", "admin", True, True),
        ("charlie", "viewer", False, True),
    ],
)
def test_private_session_is_seen_by_its_owner_and_admins(
    who: str, role: Role, private: bool, sees: bool
) -> None:
    person = Person(id=who, role=role)

    assert access.may_see(person, owner="alice", private=private) is sees
