"""Manifests are applied all together or not at all."""

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import HELPER
from tests.live import Live


def write(folder: Path, **manifests: Any) -> Path:
    for name, manifest in manifests.items():
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        (folder / f"{name}.json").write_text(text)
    return folder


def named(name: str, **more: Any) -> dict[str, Any]:
    return {**HELPER, "name": name, **more}


def test_a_folder_of_manifests_is_applied(studio: Live, tmp_path: Path):
    write(tmp_path, one=named("one"), two=named("two"))

    done = studio.run("agents", "apply", str(tmp_path))

    assert done.returncode == 0
    assert [line.split()[:3] for line in done.stdout.splitlines()] == [
        ["NAME", "VERSION", "OUTCOME"], ["one", "1", "saved"], ["two", "1", "saved"],
    ]  # fmt: skip
    assert "one" in studio.run("agents", "list").stdout


def test_applying_again_changes_nothing(studio: Live, tmp_path: Path):
    write(tmp_path, again=named("again"))
    studio.run("agents", "apply", str(tmp_path))

    done = studio.run("agents", "apply", str(tmp_path / "again.json"), "--json")

    (plan,) = json.loads(done.stdout)
    assert (plan["version"], plan["saved"]) == (1, False)


def test_a_dry_run_saves_nothing(studio: Live, tmp_path: Path):
    write(tmp_path, dry=named("dry"))

    done = studio.run("agents", "apply", str(tmp_path), "--dry-run")

    assert "would be saved" in done.stdout
    assert "dry" not in studio.run("agents", "list").stdout


def test_one_fault_holds_back_all_and_every_fault_is_told(studio: Live, tmp_path: Path):
    write(
        tmp_path, good=named("good"), bad=named("bad", colour="red", model={"provider": "none"}),
        broken="{", nameless={"a": 1}, twice='{"name": "x", "name": "y"}', a=named("same"),
        b=named("same"),
    )  # fmt: skip

    done = studio.run("agents", "apply", str(tmp_path), str(tmp_path / "missing.json"))

    assert done.returncode == 1
    assert done.stderr.startswith("studio: Nothing was applied.")
    for file in ("bad", "broken", "nameless", "twice", "a", "b", "missing"):
        assert f"{tmp_path}/{file}.json" in done.stderr
    assert done.stderr.count(f"{tmp_path}/bad.json") >= 2
    assert "good" not in studio.run("agents", "list").stdout


def test_an_empty_folder_is_told(studio: Live, tmp_path: Path):
    done = studio.run("agents", "apply", str(tmp_path))

    assert done.returncode == 1
    assert "has no .json files" in done.stderr
