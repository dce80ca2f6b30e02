"""The published schema of plugin.json: what it refuses, the parser refuses; the demo's fits."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from studio.core import manifests
from studio.core.rules import plugins
from studio.core.rules.reading import Faults
from tests.core.packages import zips

ROOT = Path(__file__).parents[3]
SCHEMA = jsonschema.Draft202012Validator(manifests.plugin_schema())


def read(value: Any) -> dict[str, str]:
    faults = Faults()
    plugins.described(value, faults)
    return faults.fields


def test_what_is_published_is_this_one():
    published = json.loads((ROOT / "docs" / "plugin.schema.json").read_text("utf-8"))

    assert published == manifests.plugin_schema()
    jsonschema.Draft202012Validator.check_schema(published)


def test_the_demo_s_plugin_fits():
    found = ROOT / "studio" / "demo" / "plugin" / "release-kit" / "plugin.json"

    SCHEMA.validate(json.loads(found.read_text("utf-8")))


@pytest.mark.parametrize(
    "more",
    [
        {"name": "No"}, {"name": None}, {"version": "a b"}, {"version": None}, {"other": 1},
        {"description": None}, {"description": "x" * 1_025}, {"servers": {}}, {"skills": "x"},
        {"skills": ["a", "a"]}, {"servers": [{"name": "a__b"}]}, {"servers": [{"name": "s"}]},
        {"license": 3}, {"skills": [1]},
        {"servers": [{"name": "s", "transport": "smoke"}]},
        {"servers": [{"name": "s", "transport": "stdio", "command": ["x"], "url": "http://x/"}]},
    ],
)  # fmt: skip
def test_what_the_schema_refuses_the_parser_refuses(more):
    value = {**zips.DESCRIBED, **more}

    assert not SCHEMA.is_valid(value)
    assert read(value)


def test_what_the_parser_takes_the_schema_takes():
    value = {**zips.DESCRIBED, "license": "MIT", "author": "Alice", "homepage": "https://x.example"}

    assert read(value) == {}
    SCHEMA.validate(value)
