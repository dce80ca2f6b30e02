"""Artifacts from the command line: listed, shown with every version, taken away whole or not."""

import json
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.live import Live


@pytest.fixture
def kept(studio: Live) -> tuple[str, str]:
    """A session and its artifact, in two versions."""
    with studio.client() as client:
        session_id = client.sessions.start("helper")["session_id"]
        saved = client.artifacts.save(session_id, b"one", name="docs/notes.md")
        client.artifacts.save(
            session_id, b"two\n" * 100_000, name="x", artifact=saved["artifact_id"]
        )
    return session_id, saved["artifact_id"]


def test_the_artifacts_of_a_session_are_listed(studio: Live, kept):
    session_id, artifact_id = kept

    text = studio.run("artifacts", "list", session_id).stdout
    (row,) = json.loads(studio.run("artifacts", "list", session_id, "--json").stdout)

    assert "docs/notes.md" in text
    assert "400,000" in text
    assert (row["id"], row["latest"]) == (artifact_id, 2)


def test_one_is_shown_with_every_version(studio: Live, kept):
    _, artifact_id = kept
    with studio.client() as client:
        for number in range(60):
            session_id = client.artifacts.show(artifact_id)["artifact"]["session_id"]
            client.artifacts.save(session_id, str(number).encode(), name="x", artifact=artifact_id)

    found = json.loads(studio.run("artifacts", "get", artifact_id, "--json").stdout)
    text = studio.run("artifacts", "get", artifact_id).stdout

    assert [one["version"] for one in found["versions"]] == list(range(62, 0, -1))
    assert "docs/notes.md" in text


def test_bytes_are_taken_away_and_nothing_is_written_over(studio: Live, kept, tmp_path: Path):
    _, artifact_id = kept
    take = ("artifacts", "download", artifact_id)

    done = studio.run(*take, "--to", str(tmp_path))
    again = studio.run(*take, "--to", str(tmp_path))
    first = studio.run(*take, "--to", str(tmp_path / "notes.md"), "--version", "1", "--force")

    assert done.returncode == 0, done.stderr
    assert f"400,000 bytes in {tmp_path}/notes.md." in done.stdout
    assert again.returncode == 1
    assert "nothing was written" in again.stderr
    assert first.returncode == 0, first.stderr
    assert (tmp_path / "notes.md").read_bytes() == b"one"
    assert [place.name for place in tmp_path.iterdir()] == ["notes.md"]


def test_what_is_not_there_leaves_no_file(studio: Live, kept, tmp_path: Path):
    _, artifact_id = kept

    gone = studio.run("artifacts", "download", artifact_id, "--version", "9", "--to", str(tmp_path))
    none = studio.run("artifacts", "download", "art_none", "--to", str(tmp_path))

    odd = studio.run("artifacts", "download", artifact_id, "--version", "-1")

    assert (gone.returncode, none.returncode, odd.returncode) == (1, 1, 2)
    assert "a version is a whole number from 1" in odd.stderr
    assert "There is no such artifact." in gone.stderr
    assert list(tmp_path.iterdir()) == []


def archive(folder: Path, **files: str) -> Path:
    made = folder / "site.zip"
    with zipfile.ZipFile(made, "w") as packed:
        for name, text in files.items():
            packed.writestr(f"{name}.txt", text)
    return made


def test_a_folder_is_kept_listed_compared_and_taken_away(studio: Live, kept, tmp_path: Path):
    session_id, _ = kept
    save = ("artifacts", "save-folder", session_id)

    done = studio.run(*save, str(archive(tmp_path, a="1\n", b="2\n")), "--name", "site", "--json")
    again = studio.run(*save, str(archive(tmp_path, a="1\n", b="3\n")), "--name", "site")
    artifact_id = json.loads(done.stdout)["artifact_id"]
    files = studio.run("artifacts", "files", artifact_id, "--version", "1")
    diff = studio.run("artifacts", "diff", artifact_id, "1", "2")
    lines = studio.run("artifacts", "diff", artifact_id, "1", "2", "b.txt")
    zipped = studio.run("artifacts", "download", artifact_id, "--to", str(tmp_path))
    one = studio.run("artifacts", "download", artifact_id, "b.txt", "--to", str(tmp_path))

    assert "version 2: 2 files, 4 bytes" in again.stdout, again.stderr
    assert "a.txt" in files.stdout
    assert diff.stdout.strip() == "~ b.txt"
    assert "-2\n+3" in lines.stdout
    assert f"{tmp_path}/site.zip is there already" in zipped.stderr
    assert (tmp_path / "b.txt").read_text() == "3\n", one.stderr


def test_a_link_is_made_listed_and_revoked(studio: Live, kept):
    _, artifact_id = kept

    made = json.loads(
        studio.run("artifacts", "link", artifact_id, "--minutes", "1", "--json").stdout
    )
    got = httpx.get(made["url"])
    listed = studio.run("artifacts", "link", artifact_id, "--list")
    studio.run("artifacts", "link", artifact_id, "--revoke", made["id"])
    gone = httpx.get(made["url"])
    wrong = studio.run("artifacts", "link", artifact_id, "--minutes", "16")

    assert (got.status_code, len(got.content)) == (200, 400_000)
    assert made["id"] in listed.stdout
    assert gone.status_code == 410
    assert wrong.returncode == 1
