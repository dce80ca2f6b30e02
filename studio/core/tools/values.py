"""What manifests name instead of writing it down: settings of the studio, and secrets.

`{"setting": "NAME"}` is opened from the studio's own settings, `{"secret": "NAME"}` from what an
admin set. One object is shared by all who open; it is filled anew when a secret changes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from studio.core.masking import Mask

MOST_PAST = 200
SECRET = "secret:"  # noqa: S105 - a mark before a name, as settings and secrets share the names


class NotSet(Exception):
    """What is named has no value; the message says which, and what to do."""


class Values(Mapping[str, str]):
    """Settings by name, secrets by `secret:NAME`. `generation` grows when a value changes.

    `mask` takes all of them, and `more` values that nobody can name, out of what comes back.
    """

    def __init__(self, settings: Mapping[str, str], more: Iterable[tuple[str, str]] = ()) -> None:
        self._settings, self._more = dict(settings), tuple(more)
        self._secrets: dict[str, str] = {}
        self._others: tuple[tuple[str, str], ...] = ()
        self._problems: dict[str, str] = {}
        self._past: dict[str, str] = {}  # what was replaced or removed may still come back
        self.generation = 0
        self.mask = Mask()
        self._fill_mask()

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> "Values":
        """These values; plain settings become values without secrets."""
        return settings if isinstance(settings, Values) else cls(settings)

    def fill(
        self, secrets: Mapping[str, str], problems: Mapping[str, str],
        others: Iterable[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        """Take these secrets in place of all earlier ones.

        `problems` says of those that cannot be opened why; `others` are masked and have no name
        here.
        """
        before = {value: name for name, value in (*self._secrets.items(), *self._others)}
        self._secrets, self._problems = dict(secrets), dict(problems)
        self._others = tuple(others)
        now = {*self._secrets.values(), *(value for _, value in self._others)}
        gone = [(value, name) for value, name in (self._past | before).items() if value not in now]
        self._past = dict(gone[-MOST_PAST:])
        self.generation += 1
        self._fill_mask()

    def opened(self, given: Mapping[str, Any]) -> str:
        """The value of {"setting": NAME} or {"secret": NAME}; NotSet says what is missing."""
        if "secret" in given:
            return self._secret(str(given["secret"]))
        name = str(given.get("setting", ""))
        if not self._settings.get(name):
            raise NotSet(f"It needs STUDIO_SETTING_{name}, which is not set.")
        return self._settings[name]

    def _secret(self, name: str) -> str:
        if name in self._problems:
            raise NotSet(f"It needs the secret {name}, which cannot be opened: "
                         f"{self._problems[name]}.")  # fmt: skip
        if name not in self._secrets:
            raise NotSet(f"It needs the secret {name}, which is not set. An admin sets it under "
                         "Secrets.")  # fmt: skip
        return self._secrets[name]

    def _fill_mask(self) -> None:
        past = [(name, value) for value, name in self._past.items()]
        known = [*self._secrets.items(), *self._settings.items(), *self._more, *self._others]
        self.mask.put([*known, *past])

    def __getitem__(self, name: str) -> str:
        if name.startswith(SECRET):
            return self._secrets[name.removeprefix(SECRET)]
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._settings
        yield from (SECRET + name for name in self._secrets)

    def __len__(self) -> int:
        return len(self._settings) + len(self._secrets)


def named(given: Iterable[Any]) -> tuple[str, ...]:
    """The names of the secrets among these values, each once."""
    names = [
        str(item["secret"]) for item in given if isinstance(item, Mapping) and "secret" in item
    ]
    return tuple(dict.fromkeys(names))
