"""Manifests are applied all together or not at all."""

import json
import re
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
        tmp_path, good=named("good"), bad=named("bad", colour="red", model={"provider": "No"}),
        broken="{", nameless={"a": 1}, twice='{"name": "x",\n "name": "y"}', a=named("same"),
        b=named("same"),
    )  # fmt: skip
    (tmp_path / "odd.yaml").write_text("name: odd\nmodel:\n  provider: scripted\n  key: 5\n")

    done = studio.run("agents", "apply", str(tmp_path), str(tmp_path / "missing.json"))

    assert done.returncode == 1
    assert done.stderr.startswith("studio: Nothing was applied: ")
    assert " in 7 of 9 files." in done.stderr
    for file in ("bad.json", "broken.json", "nameless.json", "twice.json", "b.json", "odd.yaml"):
        assert f"{tmp_path}/{file}" in done.stderr
    assert f"{tmp_path}/missing.json\n  cannot be read: No such file" in done.stderr
    assert "  line 2: name is given twice." in done.stderr
    assert "  line 4: model.key is not a known field" in done.stderr
    assert "colour is not a known field" in done.stderr
    assert "good" not in studio.run("agents", "list").stdout


def test_faults_for_programs(studio: Live, tmp_path: Path):
    (tmp_path / "odd.yml").write_text("name: odd\n\nmodel: 5\n")

    done = studio.run("agents", "apply", str(tmp_path), "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "applied": False,
        "faults": [
            {"file": f"{tmp_path}/odd.yml", "line": 3, "path": "model",
             "message": "must be an object."},
        ],
    }  # fmt: skip


def test_instructions_may_stand_in_a_file_beside(studio: Live, tmp_path: Path):
    (tmp_path / "words.md").write_text("Be kind.\nBe brief.\n")
    (tmp_path / "kind.yaml").write_text(
        "name: kind\nmodel: {provider: scripted}\ndescription: no\ninstructions: {file: words.md}\n"
    )

    done = studio.run("agents", "apply", str(tmp_path))

    assert done.returncode == 0
    assert "Line 3: description was read as the text “no”." in done.stderr
    with studio.client() as client:
        manifest = client.agents.show("kind")["manifest"]
    assert manifest["instructions"] == "Be kind.\nBe brief.\n"


def test_instructions_from_elsewhere_are_refused(studio: Live, tmp_path: Path):
    folder = tmp_path / "agents"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("x")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    for name, file in [("a", "../secret.md"), ("b", "link.md"), ("c", "gone.md")]:
        write(folder, **{name: named(name, instructions={"file": file})})
    write(folder, d=named("d", instructions={"path": "x"}))

    done = studio.run("agents", "apply", str(folder))

    assert done.returncode == 1
    assert done.stderr.count("must lie in the folder of its manifest") == 2
    assert "gone.md cannot be read" in done.stderr
    assert 'must be text, or {"file": "name.md"}' in done.stderr


def test_a_skill_folder_beside_is_packed_and_named_by_its_content(studio: Live, tmp_path: Path):
    skill = tmp_path / "skills" / "notes"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: notes\ndescription: How notes are written.\n---\nBrief.\n"
    )
    write(tmp_path, skilled=named("skilled", skills=[{"folder": "skills/notes"}]))

    done = studio.run("agents", "apply", str(tmp_path))

    assert done.returncode == 0, done.stderr
    with studio.client() as client:
        (reference,) = client.agents.show("skilled")["manifest"]["skills"]
    assert re.fullmatch("notes@[0-9a-f]{64}", reference)
    assert "unchanged" in studio.run("agents", "apply", str(tmp_path)).stdout


def test_a_skill_that_is_none_holds_back_all(studio: Live, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README.md").write_text("no skill")
    write(
        tmp_path, fine=named("fine"), bad=named("bad", skills=[{"folder": "empty"}]),
        out=named("out", skills=[{"folder": "../elsewhere"}]),
    )  # fmt: skip

    done = studio.run("agents", "apply", str(tmp_path))

    assert done.returncode == 1
    assert "skills[0].folder" in done.stderr
    assert "SKILL.md" in done.stderr
    assert "must lie in the folder of its manifest" in done.stderr
    assert "fine" not in studio.run("agents", "list").stdout


def test_an_empty_folder_is_told(studio: Live, tmp_path: Path):
    done = studio.run("agents", "apply", str(tmp_path))

    assert done.returncode == 1
    assert "has no manifests" in done.stderr
