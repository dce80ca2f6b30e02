"""Operations: what a person wants done to a disk as a whole, one at a time for each environment.

Keeping needs only that no command runs for a moment; whatever puts another disk in place needs
that no turn stands on this one. To start an environment does before a turn what a turn would do.
"""

from collections.abc import Collection
from typing import Literal

from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.environments import records
from studio.core.rules.environments.environment import Environment
from studio.core.rules.environments.records import Busy
from studio.core.rules.errors import Invalid, NotFound, Refused

Act = Literal["keep", "restore", "reset", "start", "stop", "import"]
CHANGING = frozenset({"restore", "reset", "stop", "import"})
WORDS: dict[str, str] = {
    "keep": "keep its disk", "restore": "restore its disk", "reset": "reset it",
    "start": "start it", "stop": "stop it", "import": "import the archive",
}  # fmt: skip


def ask(
    environment: Environment, act: Act, *, operation_id: str, by: Person, busy: Busy | None,
    waiting: str | None, there: Collection[int] = (), version: int | None = None, note: str = "",
    archive: str = "", archive_name: str = "",
) -> list[e.Event]:  # fmt: skip
    """The wish of a person; `waiting` is the act that is open already, `there` the versions."""
    records.guarded(by, records.alive(environment))
    _possible(environment, act)
    if waiting is not None:
        raise Refused(
            f"The environment {environment.name} is busy: somebody asked to "
            f"{WORDS.get(waiting, waiting)}, and that is not done yet. Wait for it.",
            code="environment_busy", details={"operation": waiting},
        )  # fmt: skip
    if act in CHANGING or act == "start":
        records.idle(environment, busy, WORDS[act])
    if act == "restore" and version not in there:
        raise NotFound("The disk has no such version.", code="disk.not_found")
    if len(note) > records.LONGEST_NOTE:
        words = f"has {len(note):,} characters; {records.LONGEST_NOTE} are allowed."
        raise Invalid(f"The note {words}", fields={"note": words}, code="disk.note")
    return [
        e.OperationAsked(
            operation_id=operation_id, act=act, by=by.id, note=note.strip(), version=version,
            archive=archive, archive_name=archive_name,
        )
    ]  # fmt: skip


def still_possible(environment: Environment, act: str, busy: Busy | None) -> None:
    """Refuse what became impossible since it was asked for: a turn began, or it was deleted."""
    records.alive(environment)
    if act in CHANGING:
        records.idle(environment, busy, WORDS[act])


def _possible(environment: Environment, act: Act) -> None:
    if environment.kind == "none":
        raise Refused(
            f"The environment {environment.name} is of the kind none: it holds secrets and has no "
            "disk.",
            code="environment.no_disk",
        )
    if act in ("keep", "import") and environment.setup != "ok":
        what = "keep" if act == "keep" else "put an archive in place of"
        raise Refused(
            f"The disk of {environment.name} has not been made yet; the next turn makes it. Before "
            f"that there is nothing to {what}.",
            code="disk.not_made",
        )


def at_rest(environment: Environment, open_act: str | None) -> None:
    """Refuse a turn while another disk is about to take the place of this one."""
    if open_act not in CHANGING:
        return
    raise Refused(
        f"The environment {environment.name} is busy: somebody asked to {WORDS[open_act]}, and "
        "that is not done yet. Nothing was sent; try again in a moment.",
        code="environment_busy", details={"operation": open_act},
    )  # fmt: skip
