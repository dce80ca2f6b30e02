"""Killed anywhere, a studio loses nothing and does nothing twice unsaid: the crash matrix.

Every cell is a real process on a real store, killed at a crash point while programs and people talk
to it over HTTP; see `tests/crash`. The cells that were chosen are played a few at a time.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.crash import matrix as m

SIDE_BY_SIDE = 4
CELLS = [*m.cells(), *m.cells(m.APPENDS, kinds=["sqlite"])]


class Plays:
    """The cells that are played or shall be: ahead, where all of them are for this process."""

    def __init__(self, matrix: m.Matrix, chosen: list[m.Cell]) -> None:
        self.matrix, self._chosen = matrix, chosen
        self._pool = ThreadPoolExecutor(SIDE_BY_SIDE)
        self._futures: dict[str, Future[m.Result]] = {}

    def of(self, cell: m.Cell) -> m.Result:
        """What came of a cell; the others of its store are begun as well."""
        for one in [cell, *(other for other in self._chosen if other.kind == cell.kind)]:
            if one.name not in self._futures:
                self._futures[one.name] = self._pool.submit(self.matrix.run, one)
        return self._futures[cell.name].result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session")
def plays(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Plays]:
    chosen = [item.callspec.params["cell"] for item in request.session.items if _is_cell(item)]
    with m.matrix(tmp_path_factory.mktemp("crash")) as matrix:
        found = Plays(matrix, chosen if _has_the_whole_file(request.config) else [])
        yield found
        found.close()


def _has_the_whole_file(config: pytest.Config) -> bool:
    """Every cell that was chosen comes to this process: no xdist, or whole files to each worker."""
    worker = getattr(config, "workerinput", None)
    return worker is None or "loadfile" in worker["mainargv"]


def _is_cell(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and item.originalname == PLAYED.__name__


def _marked(cell: m.Cell) -> object:
    marks = [pytest.mark.postgres] if cell.kind == "postgresql" else []
    return pytest.param(cell, id=cell.name, marks=marks)


@pytest.mark.timeout(1_800)  # all cells of a store are played ahead, and this may be the last
@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("cell", [_marked(cell) for cell in CELLS])
def test_nothing_is_lost_and_nothing_happens_twice_after_a_kill(
    cell: m.Cell, plays: Plays, request: pytest.FixtureRequest
) -> None:
    if cell.kind == "postgresql":
        plays.matrix.cluster = request.getfixturevalue("postgres_cluster")

    result = plays.of(cell)

    assert result.violations == (), result.log[-3_000:]


PLAYED = test_nothing_is_lost_and_nothing_happens_twice_after_a_kill
