"""A store of disk versions, and a folder to keep."""

from pathlib import Path

import pytest

from studio.core.disks.disks import Disks
from tests.core.disks import folders


@pytest.fixture
def disks(tmp_path: Path) -> Disks:
    return Disks(tmp_path / "store")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return folders.make(tmp_path / "work")


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache trusts what was written a moment ago: tests do not wait for clocks to move on."""
    monkeypatch.setattr("studio.core.disks.cache.SETTLED_NS", -(10**12))
