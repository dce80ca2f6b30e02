"""The published schema of environment manifests: what it refuses, the parser refuses too."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from studio.core import manifests, schemas
from studio.core.rules import paths
from studio.core.rules.environments import manifest as rule_of
from studio.core.rules.errors import Invalid
from tests.core.manifests.test_schema import VALUES, at, places, with_part, without
from tests.core.rules.environments.test_manifest import CONTAINER, FULL, NONE, REMOTE

SCHEMA = manifests.environment_schema()
CHECK = Draft202012Validator(SCHEMA)
PUBLISHED = Path(__file__).parents[3] / "docs" / "environment.schema.json"
GOOD: dict[str, Any] = {
    "full": FULL,
    "container": CONTAINER,
    "remote": REMOTE,
    "none": NONE,
    "least": {"name": "least"},
    "nulls": {"name": "nulls", **{name: None for name in rule_of.FIELDS if name != "name"}},
}
# Faults that a schema has no words for: the parser alone finds them.
ONLY_PARSED = re.compile(
    r"is nested more than|null character|for environments of kind|needs a disk|is needed|"
    r"must be a path on the disk|empty parts|more than 255 bytes|exactly one of|too long a path|"
    r"lies below|is blank|host|two parts|an address|http or https|https address|spaces or control|"
    r"name of a variable|is set by the studio|plain name of a file|of another slot|of a secret too|"
    r"of another entry|bound to|given twice|must be one line|name of an image|runs? none|"
    r"every host|is larger than"
)


def parser_faults(value: Any) -> dict[str, str]:
    try:
        rule_of.parse(value)
    except Invalid as error:
        return error.fields
    return {}


def test_the_published_file_is_the_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    expected = json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n"

    assert PUBLISHED.read_text("utf-8") == expected, f"write the schema to {PUBLISHED} anew"
    assert schemas.problem(SCHEMA) is None


@pytest.mark.parametrize("name", GOOD)
def test_both_take_good_manifests(name: str) -> None:
    assert parser_faults(GOOD[name]) == {}
    assert [error.message for error in CHECK.iter_errors(GOOD[name])] == []


@pytest.mark.parametrize("name", GOOD)
def test_both_say_the_same_of_bad_manifests(name: str) -> None:
    good = GOOD[name]
    for path in places(good):
        bad = [with_part(good, path, value) for value in VALUES]
        bad += [without(good, path)] if path else []
        if isinstance(at(good, path), dict):
            bad.append(with_part(good, (*path, "9zebra"), 1))
        for manifest in bad:
            faults, where = parser_faults(manifest), paths.write(path)
            if not CHECK.is_valid(manifest):
                assert faults, f"{where}: the schema alone refuses {manifest}"
            else:
                unsaid = [words for words in faults.values() if not ONLY_PARSED.search(words)]
                assert unsaid == [], f"{where}: the parser alone refuses {faults}"
