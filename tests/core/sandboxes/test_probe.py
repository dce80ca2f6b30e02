"""What this machine is said to give, in words; and that it says so truly."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from studio.core.sandboxes.box import landlock, probe
from studio.core.sandboxes.contract import Command, SandboxError

ROOT = Path(__file__).parents[3]


def test_bubblewrap_is_taken_where_it_works():
    found = probe.probe()

    assert found.isolation == "bubblewrap"
    assert ("own_user" in found.features) == (os.geteuid() == 0)
    assert ("filter" in found.features) == (found.filter is not None)
    assert ("cgroups" in found.features) == (found.groups is not None)


def test_without_bubblewrap_landlock_is_taken_and_its_reason_told(monkeypatch):
    monkeypatch.setattr(probe.bubblewrap, "PROGRAM", "no-such-program")

    found = probe.probe()

    assert found.isolation == "landlock"
    assert "apt install bubblewrap" in found.words
    assert f"ABI {landlock.abi()}" in found.words
    assert "reduced isolation" in found.words


def test_a_bubblewrap_that_is_refused_its_namespaces_says_so(monkeypatch, tmp_path):
    refused = tmp_path / "bwrap"
    refused.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    )
    refused.chmod(0o755)
    monkeypatch.setattr(probe.bubblewrap, "PROGRAM", str(refused))

    found = probe.probe(only="bubblewrap")

    assert found.isolation is None
    assert "No permissions to create new namespace" in found.words
    assert found.words.endswith("So no command is run.")


async def test_where_nothing_holds_no_command_runs_unless_that_is_asked_for_by_name(
    make_box, monkeypatch
):
    monkeypatch.setattr(probe.bubblewrap, "PROGRAM", "no-such-program")
    monkeypatch.setattr(probe.landlock, "abi", lambda: 0)

    nothing, asked = probe.probe(), probe.probe(only="none")
    with pytest.raises(SandboxError) as refused:
        await make_box(held=nothing).shell(Command(line="echo > a"))
    ran = await make_box(name="open", held=asked).shell(Command(line="echo on"))

    assert refused.value.code == "sandbox.unavailable"
    assert "bubblewrap is not installed" in refused.value.message
    assert (asked.isolation, ran.output) == ("none", b"on\n")


async def test_the_gap_of_secret_files_is_a_refusal(make_box):
    box = make_box(held=probe.machine("landlock", "for tests"))

    with pytest.raises(SandboxError) as refused:
        await box.shell(Command(line=":", files={"key": b"x"}))

    assert refused.value.code == "sandbox.unsupported"


async def test_a_command_of_landlock_works_on_its_disk(make_box):
    box = make_box(held=probe.machine("landlock", "for tests"))
    await box.write("a/b", b"one\n")

    ran = await box.shell(
        Command(line="cat b; echo two > c; ls; mktemp >/dev/null; exit 4", cwd="a")
    )

    assert (ran.output, ran.exit, ran.ended) == (b"one\nb\nc\n", 4, None)
    assert (await box.read("a/c")).data == b"two\n"


def test_landlock_that_is_refused_is_an_error_and_not_passed_over():
    done = subprocess.run(
        [sys.executable, "-c", "from studio.core.sandboxes.box import landlock\n"
         "landlock._CREATE = 9_999\nlandlock.restrict(write=[], read=[])"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "this kernel has no Landlock" in done.stderr
