"""Environments from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.live import Live

TOKEN = "fake-token-0123456789"
SLOT = {"name": "CRM_TOKEN", "type": "bearer", "binding": "https://crm.example/api"}


def manifest(name: str, **more: Any) -> str:
    return json.dumps({"name": name, **more})


@pytest.fixture
def desk(studio: Live, tmp_path: Path) -> str:
    """An environment with a secret slot, of a name that no other test uses."""
    name = f"{tmp_path.name.strip('_').lower()}/desk"
    with studio.client() as client:
        client.environment_manifests.save("slotted", {"name": "slotted", "secrets": [SLOT]})
        client.environments.make(name, "slotted")
    return name


def test_manifests_are_applied_with_the_files_of_a_folder(studio: Live, tmp_path: Path):
    (tmp_path / "app" / "inner").mkdir(parents=True)
    (tmp_path / "app" / "inner" / "a.py").write_text("print(1)\n")
    (tmp_path / "filled.json").write_text(
        manifest("filled", files=[{"path": "src", "folder": "app"}])
    )

    planned = studio.run("environments", "apply", str(tmp_path), "--dry-run")
    done = studio.run("environments", "apply", str(tmp_path), "--json")
    again = studio.run("environments", "apply", str(tmp_path))

    assert "would be saved" in planned.stdout
    (plan,) = json.loads(done.stdout)
    assert (plan["version"], plan["saved"]) == (1, True)
    assert "unchanged" in again.stdout
    with studio.client() as client:
        kept = client.environment_manifests.show("filled")["manifest"]["files"]
    assert list(kept[0]["files"]) == ["inner/a.py"]


def test_every_fault_is_told_with_its_line_and_nothing_is_saved(studio: Live, tmp_path: Path):
    (tmp_path / "good.json").write_text(manifest("good"))
    (tmp_path / "bad.yaml").write_text(
        "name: bad\nkind: box\nfiles:\n  - {path: a, folder: ../up}\nlimits:\n  disk_mib: 1\n"
    )

    done = studio.run("environments", "apply", str(tmp_path))

    assert done.returncode == 1
    for words in ("bad.yaml:2: kind", "bad.yaml:6: limits.disk_mib", "bad.yaml:4: files[0].folder"):
        assert words in done.stderr
    with studio.client() as client:
        names = [one["name"] for one in client.environment_manifests.list()["items"]]
    assert "good" not in names


def test_one_is_made_found_again_listed_and_deleted(studio: Live, desk: str):
    name = desk.replace("desk", "other")

    made = studio.run("environments", "make", name, "slotted", "--label", f"of={name}")
    again = studio.run("environments", "make", name, "slotted@1")
    listed = studio.run("environments", "list", "--label", f"of={name}", "--json")
    shown = studio.run("environments", "show", name)
    gone = studio.run("environments", "delete", name)
    missing = studio.run("environments", "show", name)

    assert "is made" in made.stdout
    assert "there already" in again.stdout
    assert [one["name"] for one in json.loads(listed.stdout)] == [name]
    assert "MISSING" in shown.stdout
    assert (gone.returncode, missing.returncode) == (0, 1)
    assert f"There is no environment {name}." in missing.stderr


def test_a_secret_is_piped_in_and_never_printed(studio: Live, desk: str):
    done = studio.run("environments", "secret", "set", desk, "CRM_TOKEN", given=f"{TOKEN}\n")
    listed = studio.run("environments", "secret", "list", desk)
    nameless = studio.run("environments", "secret", "remove", desk)
    removed = studio.run("environments", "secret", "remove", desk, "CRM_TOKEN")

    assert done.stdout == "CRM_TOKEN is set, version 1.\n"
    assert "CRM_TOKEN: set by" in listed.stdout
    assert TOKEN not in done.stdout + done.stderr + listed.stdout
    assert nameless.returncode == 1
    assert removed.returncode == 0


def test_a_fork_says_first_what_comes_along(studio: Live, desk: str):
    studio.run("environments", "secret", "set", desk, "CRM_TOKEN", given=TOKEN)
    name = desk.replace("desk", "copy")

    planned = studio.run("environments", "fork", desk, name, "--dry-run")
    done = studio.run("environments", "fork", desk, name, "--secret", "CRM_TOKEN")

    assert "Left behind: CRM_TOKEN." in planned.stdout
    assert "Missing: CRM_TOKEN." in planned.stdout
    assert "Copied: CRM_TOKEN." in done.stdout
    assert "1 of 1 set" in studio.run("environments", "list").stdout


def test_a_session_starts_on_one_once_its_secrets_are_set(studio: Live, desk: str):
    refused = studio.run("sessions", "start", "helper", "--environment", desk)
    studio.run("environments", "secret", "set", desk, "CRM_TOKEN", given=TOKEN)

    started = studio.run("sessions", "start", "helper", "--environment", desk)

    assert refused.returncode == 1
    assert "1 required missing: CRM_TOKEN" in refused.stderr
    assert started.stdout.startswith("ses_")
