"""What every verb stands on, and the checks that several share."""

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studio.core.clock import Clock
from studio.core.rules import access
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid, NotFound, TooLarge
from studio.core.rules.files import FileLimits
from studio.core.rules.outside.claims import Limits
from studio.core.rules.session import Session
from studio.core.sealing import KeyFile
from studio.core.store.db import Db
from studio.core.store.journal import Journal, Receipt
from studio.core.store.people import Ages
from studio.core.talks import Talks
from studio.core.tokens import Tokens, hashed

if TYPE_CHECKING:
    from studio.core.disks.disks import Disks

REASON_CHARACTERS = 4_000


class Verbs:
    """The parts that verbs use. `data` is the folder that holds the store."""

    def __init__(
        self, *, db: Db, journal: Journal, tokens: Tokens, clock: Clock, ages: Ages | None = None,
        seals: KeyFile | None = None, limits: FileLimits | None = None,
        outside: Limits | None = None, data: Path | None = None,
    ) -> None:  # fmt: skip
        self.db, self.journal, self.tokens, self.clock = db, journal, tokens, clock
        self.ages, self.seals, self.limits = ages or Ages(), seals, limits or FileLimits()
        self.outside = outside or Limits()
        self.talks = Talks(journal)
        self._data = data

    @cached_property
    def disks(self) -> "Disks":
        """The store of disk versions, which every process of an installation has."""
        from studio.core.disks.disks import Disks  # its libraries are loaded when first asked

        assert self._data is not None, "the composition root names the folder"
        return Disks(self._data / "versions")


def reason(text: str) -> str:
    """A reason as it is kept."""
    text = text.strip()
    if len(text) > REASON_CHARACTERS:
        raise TooLarge(
            f"The reason has {len(text):,} characters; {REASON_CHARACTERS:,} are allowed.",
            code="reason.too_large",
        )
    return text


def visible(person: Person, session: Session) -> None:
    """What a person may not see does not exist for them."""
    if not access.may_see(person, owner=session.owner, private=session.private):
        raise NotFound("There is no such session.", code="session.not_found")


def receipt(
    person: Person, verb: str, target: str, key: str | None, asked: list[Any]
) -> Receipt | None:
    """The receipt of a command that carries an idempotency key."""
    if key is None:
        return None
    if not 1 <= len(key) <= 255:
        raise Invalid(
            "An idempotency key has 1 to 255 characters.", code="idempotency.key",
            fields={"Idempotency-Key": "Use 1 to 255 characters."},
        )  # fmt: skip
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True)
    return Receipt(scope=f"{person.actor} {verb} {target}", key=key, request=hashed(text))
