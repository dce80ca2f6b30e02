"""Plugins from the command line: a folder is packed, an update is confirmed, a fault is told."""

import json

import pytest

from tests.core.packages import zips
from tests.live import Live


def write(folder, files):
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return str(folder)


@pytest.fixture
def kit(studio: Live, tmp_path):
    """A plugin that is installed from a folder, and removed when the test is over."""
    folder = write(tmp_path / "kit", zips.files())
    done = studio.run("plugins", "add", folder)
    assert done.returncode == 0, done.stderr
    yield folder
    studio.run("plugins", "remove", "kit")


def test_a_folder_is_installed_listed_shown_and_removed(studio: Live, kit):
    assert "kit" in studio.run("plugins", "list").stdout
    shown = studio.run("plugins", "show", "kit").stdout
    assert "skill notes: Writes notes." in shown
    found = json.loads(studio.run("plugins", "show", "kit", "--json").stdout)
    assert found["plugin"]["version"] == "1.2.0"
    assert "is removed" in studio.run("plugins", "remove", "kit").stdout


def test_an_update_is_not_made_unless_it_is_confirmed(studio: Live, kit, tmp_path):
    archive = tmp_path / "next.zip"
    archive.write_bytes(zips.packed(zips.files(version="1.3.0")))

    refused = studio.run("plugins", "update", str(archive))
    assert refused.returncode == 1
    assert "version 1.2.0 becomes 1.3.0" in refused.stdout
    assert "--yes" in refused.stderr

    planned = studio.run("plugins", "update", str(archive), "--dry-run")
    assert "version 1.2.0 becomes 1.3.0" in planned.stdout
    done = json.loads(studio.run("plugins", "update", str(archive), "--yes", "--json").stdout)
    assert (done["saved"], done["version"]) == (True, "1.3.0")


def test_a_second_add_says_to_update(studio: Live, kit):
    done = studio.run("plugins", "add", kit)

    assert done.returncode == 1
    assert "studio plugins update" in done.stderr


def test_what_is_wrong_is_told_with_its_place_before_anything_is_sent(studio: Live, tmp_path):
    folder = write(tmp_path / "bad", zips.files(name="No", skills=["gone"]))
    (tmp_path / "bad" / "link").symlink_to("/etc/passwd")

    done = studio.run("plugins", "add", folder)

    assert done.returncode == 1
    assert "link: is a link" in done.stderr
    (tmp_path / "bad" / "link").unlink()
    done = studio.run("plugins", "add", folder)
    assert "plugin.json: name" in done.stderr
    assert "gone/SKILL.md" in done.stderr
