"""The crash matrix: where the studio is killed, in which scene, on which store, restarted by whom.

A cell plays its scene to the end over HTTP, kills and all, and hands the evidence to the checker.
"""

import contextlib
import hashlib
import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import postgres
from tests.crash import checker, places
from tests.crash.driver import Driver
from tests.crash.places import House, Template
from tests.crash.scenes import RULES, SCENES, TOOLS, Scene, Stage, manifests, received
from tests.standins.models import models
from tests.standins.receiver import receiver


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the matrix: its number in the plan, crash points (one a process), the scene."""

    number: str
    points: tuple[str, ...]
    scene: str
    frozen: bool = False  # stopped for longer than its lease, and then let go on

    @property
    def name(self) -> str:
        return f"{self.number} {'+'.join(self.points)} in {self.scene}"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A row on a store; `other` says that another process takes over."""

    row: Row
    kind: str
    other: bool = False

    @property
    def column(self) -> str:
        if self.row.frozen:
            return f"{self.kind}, another worker"
        return f"{self.kind}, {'another worker' if self.other else 'restarted'}"

    @property
    def name(self) -> str:
        return f"{self.row.name}; {self.column}"


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a cell."""

    cell: Cell
    violations: tuple[str, ...]
    seconds: float
    log: str = ""


def _summaries() -> Iterator[Row]:
    """A summary: lost once it is asked for again, lost twice the turn goes on without."""
    points = ("before_intent", "after_intent", "before_outcome", "after_outcome")
    for point in points:
        yield Row(number="26", points=(f"summary.{point}:kill:1",), scene="a summary")
    yield Row(number="26", points=("summary.after_intent:kill:1",) * 2, scene="a summary")


def _files() -> Iterator[Row]:
    """A file that comes with a message, and one that an agent saves."""
    both = ("file.before_whole", "file.after_whole")
    uploaded = (*both, "upload.after_kept", "message.before_commit", "message.after_commit")
    for point in uploaded:
        yield Row(number="27", points=(f"{point}:kill:1",), scene="an upload")
    steps = ("before_intent", "after_intent", "before_send", "before_outcome", "after_outcome")
    for point in (*both, "artifact.after_kept", *(f"call.{step}" for step in steps)):
        yield Row(number="28", points=(f"{point}:kill:1",), scene="a saved file")


def _rows() -> Iterator[Row]:
    def row(number: str, point: str, *scenes: str, hits: Sequence[int] = (1,)) -> Iterator[Row]:
        for scene, hit in itertools.product(scenes, hits):
            yield Row(number=number, points=(f"{point}:kill:{hit}",), scene=scene)

    yield from row("1", "message.before_commit", "two messages", hits=(1, 2))
    yield from row("1", "journal.before_commit", "keyed call")
    yield from row("2", "message.after_commit", "two messages", hits=(1, 2))
    yield from row("2", "journal.after_commit", "keyed call")
    yield from row("3", "journal.before_publish", "keyed call")
    yield from row("4", "lease.claimed", "keyed call", "held call")
    yield from row("4", "lease.claimed", "held call", hits=(2,))
    yield from row("5", "turn.before_release", "held call", hits=(1, 2))
    yield from row("5", "turn.before_release", "question")
    yield from row("6", "model.before_intent", "keyed call", hits=(1, 2))
    yield from row("6", "model.after_intent", "keyed call", "model over HTTP")
    yield from row("7", "call.mid_send", "keyed call", "unkeyed call")
    yield from row("8", "model.mid_stream", "slow answer", hits=(1, 2, 3))
    yield from row("8", "model.mid_stream", "model over HTTP", hits=(1, 2))
    yield from row("9", "model.before_outcome", "keyed call", "model over HTTP")
    yield from row("10", "model.after_outcome", "keyed call")
    yield from row("10", "journal.before_publish", "keyed call", hits=(3,))
    yield from row("11", "model.before_outcome", "held call")
    yield from row("11", "journal.before_append", "held call", hits=(3,))
    yield from row("12", "model.after_outcome", "held call")
    yield from row("12", "journal.after_commit", "held call", hits=(3,))
    yield from row("13", "decision.before_commit", "held call", "edited call", "question")
    yield from row("14", "decision.after_commit", "held call", "edited call", "question")
    yield from row("15", "journal.before_publish", "held call", hits=(4,))
    yield from row("16", "decision.after_commit", "denied call")
    yield from row("16", "model.before_intent", "denied call", hits=(2,))
    yield from row("17", "decision.before_commit", "two people", hits=(2,))
    yield from row("17", "decision.after_commit", "two people", hits=(1, 2))
    yield from row("18", "expiry.before_commit", "expired call")
    for point in ("call.before_intent", "call.after_intent", "call.before_send"):
        yield from row("19", point, "keyed call", "unkeyed call")
    yield from row("19", "call.after_intent", "unkeyed call, model told", "held unkeyed call")
    yield from row(
        "20", "call.after_send", "keyed call", "unkeyed call", "unkeyed call, model told",
        "held unkeyed call",
    )  # fmt: skip
    yield Row(number="20", points=("call.after_send:kill:1",) * 2, scene="keyed call")
    yield Row(number="20", points=("call.after_send:kill:1",) * 3, scene="keyed call")
    yield from row("21", "call.before_outcome", "keyed call", "unkeyed call")
    yield from row("21", "call.after_outcome", "keyed call", "unkeyed call")
    yield from row("24", "call.after_outcome", "three calls", hits=(1, 2, 3))
    yield from row("24", "call.after_send", "three calls", hits=(2,))
    for scene in ("stop, keyed call out", "stop, unkeyed call out", "stop, held call"):
        yield from row("25", "cancel.before_commit", scene)
        yield from row("25", "cancel.after_commit", scene)


FROZEN = tuple(
    Row(number=number, points=(f"{point}:stop:1",), scene=scene, frozen=True)
    for number, point, scene in (
        ("4", "lease.claimed", "keyed call"),
        ("18", "expiry.before_commit", "expired call"),
        ("19", "call.before_send", "keyed call"),
        ("19", "call.before_send", "unkeyed call"),
        ("21", "call.before_outcome", "unkeyed call"),
    )
)
LEASE_MS = 10_000
KINDS = ("sqlite", "postgresql")
ROWS = (*_rows(), *_summaries(), *_files())
APPENDS = tuple(  # every append of one full scene, killed inside its transaction and behind it
    Row(number=f"{hit}", points=(f"{point}:kill:{hit}",), scene="everything")
    for point in ("journal.after_append", "journal.after_commit")
    for hit in range(1, 25)
)


def cells(
    rows: Sequence[Row] = ROWS, *, kinds: Sequence[str] = ("sqlite", "postgresql")
) -> list[Cell]:
    """Every row on every store, and on PostgreSQL also with another worker taking over."""
    found = [Cell(row=row, kind=kind) for row in rows for kind in kinds]
    if "postgresql" in kinds:
        once = [row for row in rows if len(row.points) == 1]
        once += [*FROZEN] if rows is ROWS else []
        found += [Cell(row=row, kind="postgresql", other=True) for row in once]
    return found


@dataclass
class Matrix:
    """What the cells share: the stand-ins, and a template of each store."""

    folder: Path
    received: Path
    model: Any
    environ: dict[str, str]
    manifests: list[Any]
    cluster: postgres.Cluster | None = None
    _templates: dict[str, Template] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def run(self, cell: Cell) -> Result:
        """Play one cell and check it."""
        started = time.monotonic()
        tag = f"cell{next(self._numbers):04d}"
        folder = self.folder / tag
        with self._template(cell.kind).copy(folder) as environ:
            house = House(
                environ=environ, folder=folder, faults=cell.row.points, other=cell.other,
                frozen=cell.row.frozen,
            )  # fmt: skip
            try:
                house.start()
                found = self._play(cell, house, tag)
            except Exception as error:  # noqa: BLE001 - a cell that breaks is one more finding
                found = [f"{type(error).__name__}: {error}"]
            finally:
                house.close()
            log = house.log() if found else ""
        return Result(
            cell=cell, violations=tuple(found), seconds=time.monotonic() - started, log=log
        )

    def _play(self, cell: Cell, house: House, tag: str) -> list[str]:
        driver = Driver(house=house, people=self._template(cell.kind).people, tag=tag)
        scene = SCENES[cell.row.scene]
        stage = Stage(scene=scene, driver=driver, received=self.received)
        try:
            stage.play()
            found = self._settle(driver, stage, house)
        finally:
            driver.close()
        if house.hits() != len(cell.row.points):
            found.append(f"the crash points were hit {house.hits()} times: {house.ended}")
        return found

    def _settle(self, driver: Driver, stage: Stage, house: House) -> list[str]:
        """Wait until all is at rest, check, restart once more, and see that nothing moves."""
        url = house.environ["STUDIO_DATABASE_URL"]
        follower = driver.follower
        assert follower is not None
        if house.frozen:
            thawed = time.time()
            house.thaw()
            driver.until("the frozen one to look around", lambda: _has_beaten(house, url, thawed))
        driver.until("the wakes to drain", lambda: _at_rest(url))
        newest = len([e for e in _events(url) if e["session_id"] == stage.session_id])
        driver.until("the stream to catch up", lambda: len(follower.events) >= newest)
        evidence = self._evidence(driver, stage, url)
        found = checker.violations(evidence) + _expected(stage, evidence)
        house.restart()
        driver.until("the wakes to be looked at", lambda: _at_rest(url))
        if len(_events(url)) != len(evidence.tables["events"]):
            found.append("I15: a second recovery recorded something")
        return found

    def _evidence(self, driver: Driver, stage: Stage, url: str) -> checker.Evidence:
        follower = driver.follower
        assert follower is not None
        asked = sum(driver.tag in json.dumps(entry["body"]) for entry in self.model.asked)
        return checker.Evidence(
            tools=TOOLS, said=tuple(driver.said), received=received(self.received, driver.tag),
            ids=tuple(follower.ids), streamed=tuple(follower.events), tables=places.rows(url),
            asked_models=asked, store_faults=places.health(url),
        )  # fmt: skip

    def _template(self, kind: str) -> Template:
        with self._lock:
            if kind not in self._templates:
                cluster = None if kind == "sqlite" else self.cluster
                self._templates[kind] = places.template(
                    kind, self.folder / f"template-{kind}", self.environ, self.manifests, RULES,
                    cluster,
                )  # fmt: skip
            return self._templates[kind]


@contextlib.contextmanager
def matrix(folder: Path, cluster: postgres.Cluster | None = None) -> Iterator[Matrix]:
    """The stand-ins and templates, until the block ends."""
    with receiver(folder) as tools, models() as model:
        hosts = ",".join(url.partition("//")[2].partition("/")[0] for url in (tools.url, model.url))
        yield Matrix(
            folder=folder, received=tools.log, model=model, cluster=cluster,
            environ={"STUDIO_HTTP_ALLOW": hosts, "STUDIO_DEMO": "off", "STUDIO_LOG": "warning"},
            manifests=manifests(tools.url, model.url),
        )  # fmt: skip


def _expected(stage: Stage, evidence: checker.Evidence) -> list[str]:
    """What the scene itself demands."""
    scene = stage.scene
    statuses = [row["status"] for row in evidence.tables["turns"]]
    wanted = [scene.ends, *(["completed"] if scene.then else [])]
    found = [] if statuses == wanted else [f"the turns are {statuses} and should be {wanted}"]
    rows = evidence.tables["effects"]
    keys = {row["key"] for row in rows if row["key"] and row["tool"] in scene.never}
    if any(line["key"] in keys for line in evidence.received):
        found.append(f"I6: {scene.never} ran")
    return [*found, *_kept(scene, evidence.tables)]


def _kept(scene: Scene, tables: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    """I16: each file is there once, whole, and nothing that was accepted waits to be sent."""
    versions = sorted((row["name"], row["version"]) for row in _versions(tables))
    if versions != sorted((name, 1) for name in scene.keeps):
        yield f"I16: the files are {versions} and should be {sorted(scene.keeps)}"
    whole = {row["hash"]: row["size"] for row in tables["files"] if row["hash"]}
    for row in _versions(tables):
        data = scene.keeps.get(row["name"], b"")
        if row["hash"] != hashlib.sha256(data).hexdigest():
            yield f"I16: {row['name']} has other bytes"
        if whole.get(row["hash"]) != len(data):
            yield f"I16: the bytes of {row['name']} are not in the store"
    sent = {f"art_{row['id'].partition('_')[2]}" for row in tables["uploads"]}
    if sent & {row["id"] for row in tables["artifacts"]}:
        yield "I16: an upload is an artifact and still waits to be sent"


def _versions(tables: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    names = {row["id"]: row["name"] for row in tables["artifacts"]}
    return [{**row, "name": names[row["artifact_id"]]} for row in tables["artifact_versions"]]


def _events(url: str) -> list[dict[str, Any]]:
    return places.rows(url, ("events",))["events"]


def _has_beaten(house: House, url: str, thawed: float) -> bool:
    """The heart of the frozen worker beat well after it was let go on: it knows by now."""
    name = f"-{house.processes[0].process.pid}-"
    alive = [row for row in places.rows(url, ("workers",))["workers"] if name in row["id"]]
    return any(row["alive_until"] - LEASE_MS > (thawed + 2) * 1000 for row in alive)


def _at_rest(url: str) -> bool:
    wakes = places.rows(url, ("wakes",))["wakes"]
    return all(wake["owner"] is None and wake["due"] is None for wake in wakes)


def table(results: Sequence[Result]) -> str:
    """The matrix as text: one line a row, one column for each way to restart."""
    columns = list(dict.fromkeys(result.cell.column for result in results))
    by_row: dict[str, dict[str, Result]] = {}
    for result in results:
        by_row.setdefault(result.cell.row.name, {})[result.cell.column] = result
    width = max(len(name) for name in by_row) + 2
    lines = [" " * width + "".join(f"{column:30}" for column in columns)]
    for name, found in by_row.items():
        words = [_word(found.get(column)) for column in columns]
        lines.append(f"{name:{width}}" + "".join(f"{word:30}" for word in words))
    broken = sum(bool(result.violations) for result in results)
    lines.append(f"{len(results)} cells, {broken} with violations")
    return "\n".join(lines)


def _word(result: Result | None) -> str:
    if result is None:
        return "-"
    return f"{'VIOLATED' if result.violations else 'holds'} ({result.seconds:.1f} s)"
