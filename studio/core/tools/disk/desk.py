"""What one session knows of the environment it works on: which files it has seen, and as what.

A file may be overwritten only by who has read it as it is now. What was seen is kept in memory
alone, so after a restart the agent reads again; that is safe, and costs a call.
"""

import posixpath
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from studio.core.sandboxes.contract import Sandbox
from studio.core.tools.tool import ToolError

MOST_SEEN = 5_000
ROOT = "/work"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Secrets for one command: variables, and files below /run/secrets."""

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)


Opener = Callable[[Iterable[str]], Opened]
"""Opens secrets by name for one command; ToolError says which are not there."""


def nothing_opens(names: Iterable[str]) -> Opened:
    """The opener of an environment without secrets."""
    for name in names:
        words = f"This environment has no secret {name} for commands."
        raise ToolError("secret.unknown", words, settled=True)
    return Opened()


class Desk:
    """A session at work on an environment. `seconds` is how long a command may take by default.

    `variables` are in each command's environment.
    """

    def __init__(
        self, sandbox: Sandbox, *, opens: Opener = nothing_opens, seconds: float = 30.0,
        variables: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.sandbox, self.opens, self.seconds = sandbox, opens, seconds
        self.variables = dict(variables or {})
        self._seen: OrderedDict[str, str] = OrderedDict()

    def see(self, path: str, digest: str) -> None:
        """The session has seen this file as it is."""
        key = _key(path)
        self._seen[key] = digest
        self._seen.move_to_end(key)
        while len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)

    def seen(self, path: str) -> str | None:
        """The hash under which the session knows this file."""
        return self._seen.get(_key(path))


def _key(path: str) -> str:
    """One spelling of a path; links are two files here, which only asks for another look."""
    return posixpath.normpath(posixpath.join(ROOT, path))
