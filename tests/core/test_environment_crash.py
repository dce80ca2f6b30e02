"""kill -9 while an environment is set up, worked in, kept, restored, filled: nothing is lost.

Rows 23 and 26 to 28 of the plan: the studio dies at a point, a new one takes over, and what is on
the disk, in the store of versions and in the journal must agree.
"""

import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from studio.core.disks.disks import Disks
from tests import forked
from tests.core import environments_child
from tests.forked import ROOT

FORKED = [("setup.started", 2), ("disk.mid_restore", 1), ("disk.before_rename", 1)]
FOLDERS = [
    ("disk.before_pack", 2), ("disk.before_manifest", 2), ("artifact.after_kept", 1),
    ("call.before_outcome", 2), ("artifact.before_fact", 1),
]  # fmt: skip
POINTS = [
    ("setup.started", 1, "restore"),
    ("disk.before_pack", 1, "restore"),
    ("disk.before_manifest", 1, "restore"),
    ("disk.before_fact", 1, "restore"),  # the version that setup makes
    ("sandbox.spawned", 1, "restore"),  # in the setup
    ("sandbox.spawned", 2, "restore"),  # in the turn's command
    ("call.before_outcome", 1, "restore"),
    ("turn.before_release", 1, "restore"),
    ("disk.before_fact", 2, "restore"),  # what the turn left
    ("operation.before_intent", 1, "keep"),
    ("operation.after_intent", 1, "restore"),
    ("disk.mid_restore", 1, "restore"),
    ("disk.before_rename", 1, "restore"),
    ("disk.before_restored", 1, "restore"),
    ("operation.before_outcome", 1, "restore"),
    ("disk.mid_import", 5, "import"),
    ("operation.after_intent", 1, "reset"),
    ("operation.before_outcome", 1, "reset"),
]


@pytest.mark.parametrize("point,hit,act", POINTS, ids=lambda value: str(value))
def test_an_environment_outlives_a_kill(
    point: str, hit: int, act: str, store_url: str, tmp_path: Path
) -> None:
    killed = play(tmp_path, store_url, act, f"{point}:kill:{hit}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = play(tmp_path, store_url, act, "")
    assert done.returncode == 0, done.stderr

    came = json.loads(done.stdout)
    assert came["turn"] == "completed"
    assert [state for _, state, _ in came["operations"]] == ["done"], came["operations"]
    disk = tmp_path / "environments" / came["id"] / "disk"
    held = {number: restored(tmp_path, digest) for number, digest, _ in came["kept"]}
    assert held[1] == {"setup.txt": "made\n"}
    for files in held.values():  # no command ran twice, and none of the setup
        assert files.get("ran.txt", "ran\n") == "ran\n"
        assert files.get("setup.txt", "made\n") == "made\n"
    now = contents(disk)
    if act == "restore":
        assert now == held[1]
        assert came["types"].count("disk.restored") >= 1
    elif act == "import":
        assert sorted(now) == sorted(f"brought/{n}.txt" for n in range(20))
    elif act == "reset":
        assert now == {}
    else:
        assert now in held.values()
    assert not (disk.parent / "archive").exists()


@pytest.mark.parametrize("point,hit", FORKED, ids=lambda value: str(value))
def test_a_fork_begins_with_its_version_whenever_it_is_killed(
    point: str, hit: int, store_url: str, tmp_path: Path
) -> None:
    killed = play(tmp_path, store_url, "fork", f"{point}:kill:{hit}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = play(tmp_path, store_url, "fork", "")
    assert done.returncode == 0, done.stderr

    came = json.loads(done.stdout)
    forked = tmp_path / "environments" / came["fork"] / "disk"
    assert contents(forked) == {"ran.txt": "ran\n", "setup.txt": "made\n"}
    assert came["fork_calls"] == ["succeeded"]


@pytest.mark.parametrize(
    "point",
    [
        "environment.before_destroy",
        "environment.mid_destroy",
        "environment.before_remove",
        "environment.before_unlock",
    ],
)
def test_a_deleted_environment_is_cleared_whenever_it_is_killed(
    point: str, store_url: str, tmp_path: Path
) -> None:
    killed = play(tmp_path, store_url, "delete", f"{point}:kill:1")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = play(tmp_path, store_url, "delete", "")
    assert done.returncode == 0, done.stderr

    id = json.loads(done.stdout)["id"]
    assert not (tmp_path / "environments" / id).exists()
    assert not (tmp_path / "environments" / "locks" / f"{id}.lock").exists()


@pytest.mark.parametrize(
    "point,hit", [("skill.before_write", 1), ("skill.after_write", 1), ("skill.before_write", 2)]
)
def test_a_skill_is_staged_whole_whenever_it_is_killed(
    point: str, hit: int, store_url: str, tmp_path: Path
) -> None:
    killed = play(tmp_path, store_url, "skill", f"{point}:kill:{hit}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = play(tmp_path, store_url, "skill", "")
    assert done.returncode == 0, done.stderr

    came = json.loads(done.stdout)
    assert came["turn"] == "completed"
    skills = tmp_path / "environments" / came["id"] / "disk" / "skills"
    (staged,) = skills.iterdir()
    assert came["skill"].startswith(staged.name)
    assert {path.name: path.read_bytes() for path in staged.iterdir()} == environments_child.SKILL


@pytest.mark.parametrize("point,hit", FOLDERS, ids=lambda value: str(value))
def test_a_folder_is_kept_once_and_whole_whenever_its_keeper_is_killed(
    point: str, hit: int, store_url: str, tmp_path: Path
) -> None:
    killed = play(tmp_path, store_url, "folder", f"{point}:kill:{hit}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = play(tmp_path, store_url, "folder", "")
    assert done.returncode == 0, done.stderr

    came = json.loads(done.stdout)["artifacts"]
    assert sorted((name, version) for name, version, _ in came) == [("docs", 1), ("site", 1)]
    held = {name: restored(tmp_path, hash) for name, _, hash in came}
    assert held == {"docs": {"a": "1\n"}, "site": {"b": "2\n"}}


def play(folder: Path, url: str, act: str, fault: str) -> "subprocess.CompletedProcess[str]":
    """The child, until it is done or killed."""
    return forked.run(
        environments_child.main, str(folder), url, act, fault,
        environ={"PYTHONPATH": str(ROOT), "PATH": os.defpath, "HOME": str(folder)}, timeout=120,
    )  # fmt: skip


def restored(folder: Path, digest: str) -> dict[str, str]:
    """The files of a version, by restoring it beside."""
    into = folder / f"look-{hashlib.sha256(os.urandom(8)).hexdigest()[:8]}"
    Disks(folder / "versions").restore(digest, into)
    return contents(into)


def contents(folder: Path) -> dict[str, str]:
    """The files below a folder by path."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
