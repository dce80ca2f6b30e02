"""Opening: the one place where sealed values become plain, in the worker alone.

All of them are opened again whenever one changes: to be used by what names them, and to be masked
in whatever comes back. Nothing of it leaves this process but in the one call that names it.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from studio.core.clock import Clock
from studio.core.providers.provider import Key, ProviderError
from studio.core.rules import models
from studio.core.rules import saved as saved_rule
from studio.core.rules import secrets as rule_of
from studio.core.rules.environments import slots
from studio.core.rules.environments.environment import Environment
from studio.core.rules.errors import StudioError
from studio.core.sealing import CannotOpen, KeyFile, Place, Ring, Sealed
from studio.core.store import environments, providers, secrets
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.providers import ProviderRow
from studio.core.store.secrets import SealedRow
from studio.core.tools.values import SECRET, NotSet, Values

log = logging.getLogger("studio.worker")

USE_MILLISECONDS = 60_000  # between two notes that a secret was used


class Opening:
    """Keeps `values` as the store has them. `seals` is the key file, None when there is none."""

    def __init__(
        self, *, db: Db, feed: Feed, clock: Clock, values: Values, seals: KeyFile | None = None
    ) -> None:
        self._db, self._feed, self._clock = db, feed, clock
        self._seals, self.values = seals, values
        self._mark = (-1, -1)
        self._providers: dict[str, ProviderRow] = {}
        self._environments: dict[str, Environment] = {}
        self._of_environments: dict[str, dict[str, str]] = {}
        self._keys: dict[str, str] = {}
        self._key_problems: dict[str, str] = {}
        self._has_problems = False
        self._taken: tuple[Any, Any] | None = None
        self._noted: dict[str, int] = {}

    async def fresh(self) -> None:
        """Open everything again when something was set or removed since; costs nothing if not.

        What could not be opened is tried again each time: its key may be back.
        """
        mark = (self._feed.mark("secrets"), self._feed.mark("models"))
        if mark == self._mark and not self._has_problems:
            return
        rows, saved, owners = await self._db.read(
            lambda conn: (
                secrets.all_sealed(conn), providers.list_all(conn), environments.with_secrets(conn)
            )
        )  # fmt: skip
        self._environments = {one.id: one for one in owners}
        self._providers = {row.saved.name: row for row in saved}
        self._open(rows)
        self._mark = mark

    async def resolve(self, model: Mapping[str, Any]) -> Mapping[str, Any]:
        """A model object as it is in a manifest made whole, its key opened (see `Shelf`)."""
        await self.fresh()
        name = str(model.get("provider", ""))
        if name in models.PROVIDERS:
            return self._with_own_key(model)
        found = self._providers.get(name)
        if found is None:
            raise _unusable(f"There is no provider {name} saved in the studio. An admin adds it "
                            "under Models.")  # fmt: skip
        whole = saved_rule.full(found.saved, model)
        if name in self._key_problems:
            why = self._key_problems[name]
            raise _unusable(f"The key of the provider {name} cannot be opened: {why}.")
        if name not in self._keys:
            return whole
        return {**whole, "key": Key(value=self._keys[name], of=f"provider {name}")}

    def _with_own_key(self, model: Mapping[str, Any]) -> Mapping[str, Any]:
        """The model with its {"secret": NAME} opened."""
        key = model.get("key")
        if not isinstance(key, Mapping) or "secret" not in key:
            return model
        try:
            return {
                **model,
                "key": Key(value=self.values.opened(key), of=f"secret {key['secret']}"),
            }
        except NotSet as wrong:
            raise _unusable(f"The model cannot be asked. {wrong}") from None

    def of(self, environment_id: str) -> Mapping[str, str]:
        """The opened secrets of an environment by name, as of the last `fresh`."""
        return self._of_environments.get(environment_id, {})

    async def used(self, names: Iterable[str], by: str, effect_id: str | None) -> None:
        """Note that these secrets of the studio are used now, once a minute at most."""
        now = self._clock.now()
        ours = [name for name in names if SECRET + name in self.values]
        due = [name for name in ours if now - self._noted.get(name, 0) > USE_MILLISECONDS]
        if not due:
            return
        self._noted.update(dict.fromkeys(due, now))
        await self._db.touch(
            lambda conn: secrets.used(conn, rule_of.STUDIO, due, now, by, effect_id)
        )

    def _open(self, rows: tuple[SealedRow, ...]) -> None:
        plain: dict[str, dict[str, str]] = {}
        problems: dict[str, dict[str, str]] = {}
        ring, missing = self._ring() if rows else (None, "")
        for row in rows:
            try:
                value = _opened(ring, row, missing)
            except CannotOpen as wrong:
                problems.setdefault(row.owner, {})[row.name] = str(wrong)
                continue
            plain.setdefault(row.owner, {})[row.name] = value
        self._has_problems = bool(problems)
        if (plain, problems) != self._taken:
            self._taken = (plain, problems)
            self._take(plain, problems)

    def _take(
        self, plain: Mapping[str, Mapping[str, str]], problems: Mapping[str, Mapping[str, str]]
    ) -> None:
        self._keys = dict(plain.get(saved_rule.OWNER, {}))
        self._key_problems = dict(problems.get(saved_rule.OWNER, {}))
        self._of_environments = {
            owner: dict(named) for owner, named in plain.items() if owner in self._environments
        }
        others = [
            one
            for owner, named in plain.items()
            if owner != rule_of.STUDIO
            for name, value in named.items()
            for one in self._masked(owner, name, value)
        ]
        self.values.fill(
            plain.get(rule_of.STUDIO, {}), problems.get(rule_of.STUDIO, {}), others
        )  # fmt: skip

    def _masked(self, owner: str, name: str, value: str) -> list[tuple[str, str]]:
        """What is masked of a value that is not the studio's, each under its name."""
        if owner == saved_rule.OWNER:
            return [(f"key of {name}", value)]
        environment = self._environments.get(owner)
        if environment is None:
            return [(f"{owner} {name}", value)]
        types = {slot.name: slot.type for slot in environment.slots}
        texts = slots.texts(types.get(name, ""), value)
        return [(f"{name} of {environment.name}", text) for text in dict.fromkeys(texts)]

    def _ring(self) -> tuple[Ring | None, str]:
        """The keys, and why there are none."""
        if self._seals is None:
            return None, "this process has no key file"
        try:
            ring = self._seals.ring()
        except StudioError as error:
            log.warning("The key file cannot be used: %s", error)
            return None, str(error).rstrip(".")
        return ring, f"there is no key file {self._seals.path}" if ring is None else ""


def _unusable(words: str) -> ProviderError:
    return ProviderError("model.configuration", words, permanent=True)


def _opened(ring: Ring | None, row: SealedRow, missing: str) -> str:
    if ring is None:
        raise CannotOpen(missing)
    place = Place(owner=row.owner, name=row.name, version=row.version)
    sealed = Sealed(key=row.key, wrapped=row.wrapped, value=row.value)
    return ring.open(place, sealed).decode("utf-8")
