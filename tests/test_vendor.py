"""The front-end files that are kept here are the ones that were taken, byte for byte."""

import hashlib
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from studio.web.icons import drawing

ROOT = Path(__file__).resolve().parent.parent
MANIFESTS = [ROOT / "static/vendor.json", ROOT / "e2e/vendor/vendor.json"]
ENTRIES = [
    pytest.param(manifest.parent, entry, id=entry["file"])
    for manifest in MANIFESTS
    for entry in json.loads(manifest.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("folder,entry", ENTRIES)
def test_vendored_file_is_the_one_that_was_taken(folder, entry):
    found = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()

    assert found == entry["sha256"]


@pytest.mark.parametrize("folder,entry", ENTRIES)
def test_vendored_file_has_a_version_and_a_licence(folder, entry):
    assert entry["package"]
    assert entry["version"]
    assert entry["licence"] in {"0BSD", "ISC", "MPL-2.0", "OFL-1.1"}


def test_no_vendored_file_is_missing_from_its_manifest():
    kept = {
        path
        for folder in ("static/js/vendor", "static/fonts", "e2e/vendor")
        for path in (ROOT / folder).iterdir()
        if path.suffix in {".js", ".css", ".woff2"}
    }
    listed = {folder / entry["file"] for folder, entry in (param.values for param in ENTRIES)}

    assert kept <= listed


def test_every_icon_is_a_drawing_of_its_own():
    sprite = ElementTree.parse(ROOT / "static/img/icons.svg").getroot()
    names = [symbol.get("id") for symbol in sprite]

    assert len(names) == len(set(names))
    assert all(name is not None and name.startswith("icon-") for name in names)
    assert all(symbol.get("viewBox") == "0 0 24 24" for symbol in sprite)
    assert [drawing(str(name).removeprefix("icon-")) for name in names] == [
        path.get("d") for symbol in sprite for path in symbol
    ]
