"""Facts of secrets, never a value.

They stand in the journal `secrets`, or that of whose they are: `models`, an environment's.
"""

from dataclasses import dataclass
from typing import ClassVar

from studio.core.rules.events.base import Event


@dataclass(frozen=True, kw_only=True)
class SecretSet(Event):
    """A secret got a value, sealed elsewhere. `owner` is whose it is: the studio's, or another's.

    Neither the value nor its sealed form is ever recorded in a journal.
    """

    TYPE: ClassVar[str] = "secret.set"
    ACTOR: ClassVar[str] = "person"
    owner: str
    name: str
    version: int
    by: str


@dataclass(frozen=True, kw_only=True)
class SecretRemoved(Event):
    """A secret was removed; its sealed value is gone. `version` is the one it had."""

    TYPE: ClassVar[str] = "secret.removed"
    ACTOR: ClassVar[str] = "person"
    owner: str
    name: str
    version: int
    by: str


@dataclass(frozen=True, kw_only=True)
class SecretsResealed(Event):
    """Every sealed value is under another key of the key file now; the values are the same."""

    TYPE: ClassVar[str] = "secrets.resealed"
    ACTOR: ClassVar[str] = "person"
    key: str
    count: int
    by: str
