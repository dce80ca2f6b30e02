"""Disks from a terminal: kept, listed, compared, put back, taken away, filled."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.live import Live

FIRST, SECOND = "printf 'one\\n' > a.txt", "printf 'two\\n' > a.txt; mkdir b; touch b/c"


@pytest.fixture
def desk(studio: Live, tmp_path: Path) -> str:
    """An environment with two versions, of a name that no other test uses."""
    name = tmp_path.name.strip("_").lower()
    with studio.client() as client:
        client.policy.save(
            [{"effect": "allow", "tool": "shell"}], version=client.policy.show()["version"]
        )
        id = client.environments.make(name, definition={"setup": [{"run": FIRST}]})["id"]
        message = f"call shell {json.dumps({'command': SECOND})}"
        session_id = client.sessions.start("helper", message=message, environment=id)["session_id"]
        for event in client.sessions.follow(session_id):
            if event["type"] == "turn.completed":
                break
        client.disks.keep(id)
    return name


def test_versions_and_files_are_listed_and_compared(studio: Live, desk: str) -> None:
    versions = json.loads(studio.run("disks", "list", desk, "--json").stdout)
    files = studio.run("disks", "list", desk, "2")
    paths = studio.run("disks", "diff", desk, "1", "2")
    lines = studio.run("disks", "diff", desk, "1", "2", "a.txt")

    assert [one["version"] for one in versions] == [2, 1]
    assert [line.split()[0] for line in files.stdout.splitlines()] == ["NAME", "a.txt", "b"]
    assert paths.stdout.splitlines() == ["~ a.txt", "+ b", "+ b/c"]
    assert lines.stdout.splitlines()[1:] == ["-one", "+two"]


def test_a_disk_is_put_back_and_kept(studio: Live, desk: str) -> None:
    back = studio.run("disks", "restore", desk, "1")
    same = studio.run("disks", "keep", desk, "--note", "the same")
    wrong = studio.run("disks", "restore", desk, "99")

    assert "that is version 3 now" in back.stdout
    assert "so none was made" in same.stdout
    assert (wrong.returncode, wrong.stdout) == (1, "")


def test_an_environment_is_started(studio: Live, desk: str) -> None:
    started = studio.run("environments", "start", desk)
    again = studio.run("environments", "start", desk, "--json")

    assert started.stdout == f"{desk} is set up and running.\n"
    assert (json.loads(again.stdout)["act"], json.loads(again.stdout)["state"]) == ("start", "done")


def test_a_version_and_a_file_are_taken_away(studio: Live, desk: str, tmp_path: Path) -> None:
    place = tmp_path / "out.zip"

    whole = studio.run("disks", "download", desk, "2", "--form", "zip", "--to", str(place))
    again = studio.run("disks", "download", desk, "2", "--to", str(place))
    file = studio.run("disks", "download", desk, "2", "a.txt", "--to", "-")

    assert f"{place.stat().st_size:,} bytes" in whole.stdout
    assert "is there already" in again.stderr
    assert file.stdout == "two\n"


def test_an_archive_is_taken_in_or_refused_in_words(
    studio: Live, desk: str, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.tar.gz", tmp_path / "bad.tar"
    for path, name in ((good, "new.txt"), (bad, "../out")):
        with tarfile.open(path, "w:gz" if path is good else "w") as tar:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())

    refused = studio.run("disks", "import", desk, str(bad))
    done = studio.run("disks", "import", desk, str(good))

    assert refused.returncode == 1
    assert "The archive cannot be used" in refused.stderr
    assert "The disk holds what good.tar.gz held, as version 3" in done.stdout
