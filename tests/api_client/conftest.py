"""A running studio for the client to ask over a real connection."""

from collections.abc import Iterator

import pytest

from tests.cli.conftest import HELPER
from tests.live import Live, live


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One for all tests of the client."""
    with live(tmp_path_factory.mktemp("client") / "data") as running:
        with running.client() as client:
            client.agents.save("helper", HELPER)
        yield running
