"""What every test may ask for: an empty store of either kind.

More is in the conftest beside the tests that need it.
Without PostgreSQL server programs its tests are not run, and the end of the run says so loudly;
where CI is true that is a failure.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import postgres

# A busy machine is slow at times; what an example shows does not hang on how long it took.
settings.register_profile("studio", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("studio")

# The files that take longest, begun first: what is begun last has one worker wait for the other.
LONGEST = (
    "core/test_crash.py", "api/test_schemathesis.py", "core/test_environment_crash.py",
    "core/sandboxes/test_contract.py", "core/sandboxes/test_confinement.py",
    "core/test_environment_disks.py", "core/test_environment_turns.py",
    "core/test_journal_agrees.py", "core/test_rebuild.py",
    "core/test_traces_agree.py", "core/test_files.py", "core/disks/test_crash.py",
    "core/store/test_writer.py", "core/sandboxes/test_container.py", "api/test_routes.py",
    "outside/test_conformance.py", "otlp/test_frameworks.py", "test_full_disk.py",
    "test_package.py", "core/test_worker.py", "core/test_models.py", "cli/test_server.py",
)  # fmt: skip
NOT_RUN = "NOT RUN: PostgreSQL"
OTHERS = "NOT RUN: suites of others"
CONTAINERS = "NOT RUN: containers"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; the others stay as they are, and so does the order in each."""
    ranks = {Path(__file__).parent / name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[postgres.Cluster]:
    """One server for this test process, started when the first test asks."""
    try:
        cluster = postgres.start()
    except postgres.Unavailable as missing:
        reason = f"{NOT_RUN}: {missing}"
        if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
            pytest.fail(reason, pytrace=False)
        else:
            pytest.skip(reason)
    yield cluster
    cluster.stop()


@pytest.fixture
def postgres_url(postgres_cluster: postgres.Cluster) -> Iterator[str]:
    """A PostgreSQL database of this test's own."""
    url = postgres_cluster.create_database()
    yield url
    postgres_cluster.drop_database(url)


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)],
)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store, once as a SQLite file and once as a PostgreSQL database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'studio.db'}"
    else:
        url: str = request.getfixturevalue("postgres_url")
        return url


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    outcomes = terminalreporter.stats
    reports = [*outcomes.get("skipped", []), *outcomes.get("error", [])]
    missing = [report for report in reports if NOT_RUN in str(report.longrepr)]
    if missing:
        terminalreporter.section(NOT_RUN, sep="!", red=True, bold=True)
        terminalreporter.line(f"{len(missing)} tests need a PostgreSQL server and were not run.")
        terminalreporter.line("Install one (Debian: apt-get install postgresql) and run again.")
    for title in (OTHERS, CONTAINERS):
        foreign = {str(report.longrepr) for report in reports if title in str(report.longrepr)}
        if foreign:
            terminalreporter.section(title, sep="!", red=True, bold=True)
        for words in sorted(foreign):
            terminalreporter.line(words[words.index(title) :].rstrip("')"))
