"""What each kind of environment enforces, in one table; what it does not are its hardening gaps.

Rows are promises, columns the ways in which commands may run. A cell is HELD, the words of a gap,
or `Needs`: held where the machine, or the service, has a feature. Pages, refusals and the table of
`docs/kinds.md` come from here. The kind `none` runs nothing, so it has nothing to enforce.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from studio.core.sandboxes.contract import SandboxError

# The kind `sandbox` is held by bubblewrap; where a machine allows no more, by Landlock and limits
# alone, or by nothing, which an operator asks for by name.
Column = Literal["bubblewrap", "landlock", "none", "container", "remote"]
COLUMNS: Final[tuple[Column, ...]] = ("bubblewrap", "landlock", "none", "container", "remote")


@dataclass(frozen=True)
class Needs:
    """Held where `feature` is there; else a gap of these words."""

    feature: str
    words: str


HELD: Final = None
Cell = Needs | str | None


@dataclass(frozen=True, kw_only=True)
class Row:
    """A promise, and who keeps it. `with_places`: it matters where there is an allow-list."""

    key: str
    title: str
    cells: Mapping[Column, Cell]
    with_places: bool = False


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A promise that an environment does not keep: its row, and why, in a sentence."""

    row: str
    title: str
    words: str


_UNSAID = "The service does not say that it keeps this."


def _row(
    key: str, title: str, bubblewrap: Cell, landlock: Cell, none: Cell, container: Cell,
    *, with_places: bool = False,
) -> Row:  # fmt: skip
    """A row; a remote service keeps what it says it keeps, by the row's key."""
    remote = Needs(key, _UNSAID)
    cells = (bubblewrap, landlock, none, container, remote)
    return Row(
        key=key, title=title, cells=dict(zip(COLUMNS, cells, strict=True)),
        with_places=with_places,
    )  # fmt: skip


_MEMORY = "Memory is bounded for each process, not for all of a command together."
_PROCESSES = "Processes are counted for the whole user, not for one environment."
_CALLS = "System calls are not filtered."
_REACHED = "Commands reach the network of this machine."
_HIDDEN = "Commands can see which processes run on this machine."
_SCRATCH = "There is no /tmp of a command's own; the disk stands at its real path."
_NO_FILES = "Secrets cannot be given as files."
_TREE = "What a command leaves behind may outlive a crash of the studio's helper process."
_USER = "Commands run as the user of the studio."
# What Landlock does not hold (landlock(7), "Current limitations"; signals from ABI 6 on).
_MODES = "Commands can change modes, owners and times of all that the user of the studio owns."
_SIGNALS = (
    "Commands can see which processes run on this machine; as the user of the studio, before"
    " Landlock's ABI 6, they can end them."
)
_VARIABLES = "A command can read the variables of another that runs beside it."

ROWS: Final = (
    _row("files", "Files of the machine are out of reach", HELD, HELD,
         "Commands see all that the user of the studio can read.", HELD),
    _row("system", "The system is read-only", HELD, Needs("own_user", _MODES),
         "Commands change what the user of the studio can change.", HELD),
    _row("scratch", "A bounded /tmp of its own", HELD, _SCRATCH, _SCRATCH, HELD),
    _row("disk", "The disk is bounded", HELD, HELD, HELD, HELD),
    _row("memory", "Memory is bounded", Needs("cgroups", _MEMORY), Needs("cgroups", _MEMORY),
         Needs("cgroups", _MEMORY), Needs("memory", "Memory in it is not bounded.")),
    _row("processes", "Processes are bounded", HELD, Needs("cgroups", _PROCESSES),
         Needs("cgroups", _PROCESSES), Needs("pids", "Processes in it are not bounded.")),
    _row("network", "The network is closed", HELD, Needs("filter", _REACHED), _REACHED, HELD),
    _row("allow_list", "An allow-list opens places in it", HELD,
         "The network is closed whole: the allow-list cannot be used.",
         "The allow-list holds nobody back.",
         Needs("relay", "The image has no socat to reach the proxy with: the network is closed"
               " whole."), with_places=True),
    _row("syscalls", "System calls are filtered", Needs("filter", _CALLS), Needs("filter", _CALLS),
         _CALLS, Needs("seccomp", _CALLS)),
    _row("rights", "No program gives rights", HELD, HELD,
         "A program with a set-user-id bit gives its rights to a command.", HELD),
    _row("user", "Commands have a user of their own", Needs("own_user", _USER),
         Needs("own_user", _USER), Needs("own_user", _USER), Needs("own_user", _USER)),
    _row("hidden", "Other processes are hidden", HELD, _SIGNALS, _HIDDEN, HELD),
    _row("tree", "All that a command started ends with it", HELD, _TREE, _TREE,
         "A process that hides from its command lives until the environment is stopped."),
    _row("secret_files", "Secret files are for one command", HELD, _NO_FILES,
         f"{_NO_FILES} {_VARIABLES}",
         "A command can read the secret files and the variables of another that runs beside it."),
)  # fmt: skip
KEYS: Final = frozenset(row.key for row in ROWS)


def gaps(
    column: Column, features: Collection[str] = (), *, places: bool = False,
    loosened: Collection[str] = (),
) -> tuple[Gap, ...]:  # fmt: skip
    """What an environment does not keep, in the table's order.

    `features` are those that a probe found; `places` says that it has an allow-list; `loosened` are
    rows that an operator gave up by name.
    """
    found = list[Gap]()
    for row in ROWS:
        words = _words(row.cells[column], features)
        if row.key in loosened:
            words = "It was loosened for this environment."
        if words and (places or not row.with_places):
            found.append(Gap(row=row.key, title=row.title, words=words))
    return tuple(found)


def refuse(found: Iterable[Gap]) -> None:
    """Refuse to run with gaps: SandboxError `sandbox.unavailable` names each of them."""
    listed = "; ".join(f"{gap.title}: {gap.words.removesuffix('.')}" for gap in found)
    if listed:
        words = f"This environment is not to run with gaps, and there are some. {listed}."
        raise SandboxError("sandbox.unavailable", words)


def table() -> str:
    """The table in Markdown, as it stands in `docs/kinds.md`."""
    lines = [
        "| promise | sandbox (bubblewrap) | reduced (Landlock) | none | container | remote |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.title} (`{row.key}`) | {' | '.join(_shown(c) for c in row.cells.values())} |"
        for row in ROWS
    ]
    return "\n".join(lines) + "\n"


def _words(cell: Cell, features: Collection[str]) -> str:
    if isinstance(cell, Needs):
        return "" if cell.feature in features else cell.words
    return cell or ""


def _shown(cell: Cell) -> str:
    if not isinstance(cell, Needs):
        return cell or "kept"
    elif cell.words == _UNSAID:
        return "when it says so"
    return f"with `{cell.feature}`; else: {cell.words}"
