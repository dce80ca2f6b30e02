"""Who may see and who may do. Roles: viewer reads, operator decides and sends, admin also rules.

A sender is a program elsewhere: it sends spans of its traces, and sees and does nothing else.
"""

from dataclasses import dataclass
from typing import Literal

from studio.core.rules.errors import Denied

Role = Literal["sender", "viewer", "operator", "admin"]
RANK: dict[str, int] = {"sender": -1, "viewer": 0, "operator": 1, "admin": 2}


@dataclass(frozen=True, kw_only=True)
class Person:
    """Who is asking. `id` is stable; `via` is how they came: a browser or an application key.

    A key's id is `key:` and its name, so that no key can pass for a person.
    """

    id: str
    role: Role
    via: Literal["browser", "key"] = "browser"

    @property
    def actor(self) -> str:
        """As the journal names them."""
        name = self.id.removeprefix("key:")
        return f"application:{name}" if self.via == "key" else f"operator:{self.id}"


def needs(person: Person, role: Role, what: str) -> None:
    """Raise Denied unless the person's role reaches `role`."""
    if RANK[person.role] < RANK[role]:
        raise Denied(
            f"Your role is {person.role}; to {what} you need the role {role}. Ask an admin.",
            code=f"denied.{role}_only",
            details={"role": person.role, "needs": role},
        )


def needs_to_send_spans(person: Person) -> None:
    """Raise Denied unless the person may send spans: a sender, or one who may also act."""
    if person.role != "sender":
        needs(person, "operator", "send spans")


def may_see(person: Person, *, owner: str, private: bool) -> bool:
    """A private session is seen by its owner and by admins."""
    return not private or person.id == owner or person.role == "admin"
