"""Control groups: where they can be made in either version, and what is written into them."""

import os
import subprocess
import time

import pytest

from studio.core.sandboxes.box import cgroups
from studio.core.sandboxes.contract import Limits


def proc(tmp_path, mounts: str, own: str):
    """A folder that says what /proc/self would."""
    folder = tmp_path / "proc"
    folder.mkdir()
    (folder / "mounts").write_text(mounts)
    (folder / "cgroup").write_text(own)
    return folder


def delegated(tmp_path, controllers: str = "cpu memory pids"):
    """A tree of version 2 as a service manager delegates it, with us in a group of our own."""
    tree = tmp_path / "tree"
    (tree / "service" / "studio").mkdir(parents=True)
    (tree / "service" / "cgroup.controllers").write_text(controllers)
    (tree / "service" / "cgroup.subtree_control").write_text("")
    (tree / "service" / "cgroup.procs").write_text("")
    return proc(tmp_path, f"cgroup2 {tree} cgroup2 rw 0 0\n", "0::/service/studio\n"), tree


def test_version_two_is_used_beside_our_own_group(tmp_path):
    here, tree = delegated(tmp_path)

    found = cgroups.home(here)

    assert found == cgroups.Home(memory=tree / "service", pids=tree / "service", version=2)


@pytest.mark.parametrize("controllers", ["", "memory", "hugetlb pids"])
def test_version_two_without_its_controllers_is_not_used(tmp_path, controllers):
    here, _ = delegated(tmp_path, controllers)

    assert cgroups.home(here) is None


def test_version_two_bounds_memory_swap_and_processes(tmp_path):
    here, tree = delegated(tmp_path)
    home = cgroups.home(here)
    assert home is not None

    group = cgroups.make(home, Limits(memory=1_000, processes=7))

    (folder,) = group.folders
    assert (tree / "service" / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert (folder / "memory.max").read_text() == "1000"
    assert (folder / "pids.max").read_text() == "7"
    (folder / "memory.events").write_text("low 0\noom 4\noom_kill 3\n")
    assert group.killed_for_memory() == 3
    assert group.joins == (str(folder / "cgroup.procs"),)


def test_version_one_is_found_by_its_controllers(tmp_path):
    for name in ("memory", "pids"):
        (tmp_path / name / "us").mkdir(parents=True)
    mounts = "".join(
        f"cgroup {tmp_path}/{name} cgroup rw,{name} 0 0\n" for name in ("memory", "pids")
    )

    found = cgroups.home(proc(tmp_path, mounts, "5:memory:/us\n4:pids:/us\n0::/\n"))

    assert found == cgroups.Home(
        memory=tmp_path / "memory" / "us", pids=tmp_path / "pids" / "us", version=1
    )


def test_without_control_groups_there_is_no_place(tmp_path):
    assert cgroups.home(proc(tmp_path, "proc /proc proc rw 0 0\n", "0::/\n")) is None


@pytest.fixture
def real():
    found = cgroups.home()
    if found is None:
        pytest.skip("NOT RUN: no control groups can be made here")
    return found


def test_a_real_group_bounds_and_is_removed(real):
    group = cgroups.make(real, Limits(memory=64 * 2**20, processes=3))
    line = "for i in 1 2 3 4 5 6; do sleep 0.2 & done; wait"
    joined = " ".join(f"; echo $$ > {path}" for path in group.joins)

    done = subprocess.run(["bash", "-c", f": {joined}; {line}"], capture_output=True, timeout=20)
    until = time.monotonic() + 5
    while any(folder.exists() for folder in group.folders) and time.monotonic() < until:
        group.remove()  # the kernel holds them until the last one's parent has taken notice

    assert b"Resource temporarily unavailable" in done.stderr
    assert not any(folder.exists() for folder in group.folders)


def test_groups_of_processes_that_are_no_more_are_swept_and_others_stay(real):
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = real.memory / f"studio-{gone.pid}-1"
    ours = real.memory / f"studio-{os.getpid()}-x1"
    left.mkdir()
    ours.mkdir()
    try:
        cgroups.sweep(real)

        assert not left.exists()
        assert ours.exists()
    finally:
        ours.rmdir()
