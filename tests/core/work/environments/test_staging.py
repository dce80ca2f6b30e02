"""The files of skills on a disk: as their hashes say, whatever an agent made of them."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.core.sandboxes.box import probe
from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.contract import Command
from studio.core.sandboxes.sandbox import Box
from studio.core.work.environments.places import Opened, Place
from studio.core.work.environments.staging import stage

FILES = {"SKILL.md": b"# Notes\n", "examples/long.md": b"# An example\n"}
LABEL = "notes@0123"


class Package:
    """A skill's files."""

    label = LABEL

    def listed(self) -> list[tuple[str, str]]:
        return [(path, hashlib.sha256(data).hexdigest()) for path, data in FILES.items()]

    def read(self, path: str) -> bytes:
        return FILES[path]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    launcher = Launcher()
    machine = await asyncio.to_thread(probe.probe)
    box = Box(tmp_path / "disk", machine=machine, launcher=launcher)
    yield Place(
        id="env_a", name="lab", opened=Opened(sandbox=box, isolation="bubblewrap"), folder=tmp_path
    )
    await box.stop()
    await launcher.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "disk" / "skills" / LABEL


def staged(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in FILES}


async def test_a_skill_is_staged_and_staged_again_nothing_is_written(
    place: Place, folder: Path
) -> None:
    await stage(place, [Package()])
    before = {path: (folder / path).stat().st_mtime_ns for path in FILES}
    await stage(place, [Package()])

    assert staged(folder) == FILES
    assert {path: (folder / path).stat().st_mtime_ns for path in FILES} == before


@pytest.mark.parametrize(
    "harm",
    [
        "echo tampered > SKILL.md", "rm examples/long.md",
        "ln -sf /etc/passwd examples/long.md", "rm SKILL.md; mkdir SKILL.md",
        "rm -r examples; ln -s /tmp examples", "rm -r examples; echo file > examples",
        "rm SKILL.md; mkfifo SKILL.md", "chmod 0 SKILL.md examples",
    ],
)  # fmt: skip
async def test_what_an_agent_made_of_it_is_put_right(place: Place, folder: Path, harm: str) -> None:
    await stage(place, [Package()])
    ran = await place.sandbox.shell(Command(line=harm, cwd=f"skills/{LABEL}"))
    assert ran.exit == 0, ran.output
    await stage(place, [Package()])

    assert staged(folder) == FILES
    assert not any(path.is_symlink() for path in folder.rglob("*"))
