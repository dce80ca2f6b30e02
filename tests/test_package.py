"""The wheel holds all that the studio needs, and works from any folder."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built and unpacked as an installer would."""
    built = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(built / "site")
    return built / "site"


def run(installed: Path, folder: Path, *code: str) -> "subprocess.CompletedProcess[str]":
    """Run Python with the wheel alone, far from the checkout."""
    environ = {"PYTHONPATH": str(installed), "HOME": str(folder), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [sys.executable, *code], cwd=folder, env=environ, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_the_command_works_from_any_folder(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "-m", "studio", "--help")

    assert done.returncode == 0, done.stderr
    assert "approvals" in done.stdout


def test_the_modules_are_those_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "-c", "import studio; print(studio.__file__)")

    assert done.stdout.startswith(str(installed))


@pytest.mark.parametrize(
    "path",
    ["studio/templates/base.html", "studio/static/css/tokens.css", "studio/static/js/studio.js",
     "studio/static/fonts/inter-latin-wght-normal.woff2", "studio/demo/agent.json",
     "studio/demo/plugin/release-kit/plugin.json",
     "studio/core/store/migrations/versions/0001_first.py", "api_client/py.typed"],
)  # fmt: skip
def test_what_is_no_python_is_inside_too(installed: Path, path: str) -> None:
    assert (installed / path).is_file()


def test_a_store_is_made_and_looked_at_from_any_folder(installed: Path, tmp_path: Path) -> None:
    made = run(installed, tmp_path, "-m", "studio", "migrate")
    looked = run(installed, tmp_path, "-m", "studio", "doctor")

    assert made.returncode == 0, made.stderr
    assert "synchronous=FULL" in looked.stdout
    assert (tmp_path / ".local/share/operator-studio/studio.db").is_file()
