"""The published schema and the parser agree, on good manifests and on thousands of bad ones."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from studio.core import manifests, schemas
from studio.core.rules import agent, paths
from studio.core.rules.errors import Invalid
from tests.core.rules.test_agent import CHAT, FULL

SCHEMA = manifests.agent_schema()
CHECK = Draft202012Validator(SCHEMA)
PUBLISHED = Path(__file__).parents[3] / "docs" / "agent.schema.json"
SHARED = {
    "prices": {"input": 1, "output": 2.5, "cached": 0, "cache_write": 3},
    "reads": ["text", "image"], "context_window": 8_000, "max_output": 500, "effort": "low",
}  # fmt: skip
KEY = {"setting": "MODEL_KEY"}
MODELS: dict[str, Any] = {
    "scripted": {"provider": "scripted"},
    "scripted whole": {
        "provider": "scripted", "name": "tale", "reads": ["audio"], "context_window": 1_000,
        "script": [{"when": "", "steps": [
            {"say": {"a": 1}, "slow": 5, "calls": [{"tool": "t", "arguments": [1]}, {"tool": "u"}],
             "after": {"denied": [{"fail": "rate 2"}], "edited": []}},
            {"fail": "context"},
        ]}], "fallbacks": [{"provider": "house"}],
    },
    "chat": CHAT,
    "anthropic": {"provider": "anthropic", "name": "claude", "key": KEY, "timeout": 5, **SHARED},
    "openai": {"provider": "openai", "name": "gpt", "base_url": "http://a.example/v1"},
    "saved": {"provider": "house", "name": "big", **SHARED},
    "chain": {"provider": "house", "fallbacks": [
        {"provider": "google", "name": "gemini", "key": KEY}, {**CHAT, **SHARED}]},
}  # fmt: skip
PLAIN = {"name": "plain", "model": {"provider": "scripted"}}
GOOD: dict[str, Any] = {
    "full": {
        **FULL,
        "$schema": "agent.schema.json",
        "agents": ["other"],
        "plugins": ["release-kit@1.0.0", "other"],
        "skills": ["notes", "release-kit/check", f"own@{'a' * 64}"],
    },
    "ways": {
        **PLAIN,
        "tools": [
            {
                "name": "t",
                "kind": "http",
                "method": "POST",
                "url": "http://a.example/{id}",
                "input": {"type": "object", "properties": {"id": {}, "q": {}, "h": {}, "b": {}}},
                "in": {"id": "path", "q": "query:p", "h": "header:X-H", "b": "body:*"},
                "query": {"key": KEY, "v": "1"},
                "body_as": "json",
                "select": {"id": "data.id"},
            },
            {
                "name": "u",
                "kind": "http",
                "method": "POST",
                "url": "http://a.example/",
                "input": {"type": "object", "properties": {"q": {}}},
                "body": {"q": ["{q}"]},
                "select": "/data/0",
            },
        ],
    },
    "least": PLAIN,
    "nothing": {**PLAIN, **{name: None for name in ("tools", "limits", "instructions", "agents")}},
    "limits": {**PLAIN, "limits": {"steps": None, "active_seconds": {"value": 1, "hard": None}}},
    **{f"model {name}": {**PLAIN, "model": model} for name, model in MODELS.items()},
}
# Faults that a schema has no words for: the parser alone finds them.
ONLY_PARSED = re.compile(
    r"is nested more than|null character|not a JSON Schema|has the place|brace|not an address|"
    r"http or https|spaces or control|is the name of another|must be a schema of an object|"
    r"is the name of a header|given twice|written by the studio|plain ASCII|name of a variable|"
    r"must be one line|is needed: \{|this agent itself|repeat|slow|pattern|"
    r"must be an object \(a JSON|"
    r"no field of the input|exactly when the URL|header that cannot be set|sent without|beside a|"
    r"leaves out the field|whole body|the body is one text|no name of a parameter|is not a path|"
    r"has no path|must be at most|must not have a place|keeps for itself"
)


def schema_takes(manifest: Any) -> bool:
    return CHECK.is_valid(manifest)


def parser_faults(manifest: Any) -> dict[str, str]:
    try:
        agent.parse(manifest, schema_problem=schemas.problem)
    except Invalid as error:
        return error.fields
    return {}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every part of a value."""
    yield path
    if isinstance(value, dict):
        for name, part in value.items():
            yield from places(part, (*path, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from places(part, (*path, index))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def with_part(value: Any, path: tuple[Any, ...], part: Any) -> Any:
    if not path:
        return part
    value = copy.deepcopy(value)
    at(value, path[:-1])[path[-1]] = part
    return value


def without(value: Any, path: tuple[Any, ...]) -> Any:
    value = copy.deepcopy(value)
    del at(value, path[:-1])[path[-1]]
    return value


def test_it_is_a_schema_that_the_studio_itself_can_use() -> None:
    Draft202012Validator.check_schema(SCHEMA)

    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schemas.problem(SCHEMA) is None


def test_the_published_file_is_the_schema() -> None:
    expected = json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n"

    assert PUBLISHED.read_text("utf-8") == expected, f"write the schema to {PUBLISHED} anew"


@pytest.mark.parametrize("name", GOOD)
def test_both_take_good_manifests(name: str) -> None:
    assert parser_faults(GOOD[name]) == {}
    assert [error.message for error in CHECK.iter_errors(GOOD[name])] == []


VALUES = (None, True, 0, -1, 1, 2.5, 10**9, "", "x", "a b", "X" * 9_000, [], [None], ["x", "x"],
          {}, {"x": 1}, {"value": 0}, {"setting": "no"})  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_both_say_the_same_of_bad_manifests(name: str) -> None:
    good, tried = GOOD[name], 0
    for path in places(good):
        bad = [with_part(good, path, value) for value in VALUES]
        bad += [without(good, path)] if path else []
        if isinstance(at(good, path), dict):
            bad.append(with_part(good, (*path, "zebra"), 1))
        for manifest in bad:
            tried += 1
            faults, where = parser_faults(manifest), paths.write(path)
            if not schema_takes(manifest):
                assert faults, f"{where}: the schema alone refuses {manifest}"
            elif faults:
                unsaid = [words for words in faults.values() if not ONLY_PARSED.search(words)]
                assert unsaid == [], f"{where}: the parser alone refuses {faults}"
    assert tried > 30


@pytest.mark.parametrize("name", GOOD)
def test_both_know_the_same_fields_everywhere(name: str) -> None:
    good = GOOD[name]
    for path in places(good):
        if not isinstance(at(good, path), dict):
            continue
        faults = parser_faults(with_part(good, (*path, "zebra"), 1))
        words = faults.get(paths.write((*path, "zebra")), "")
        if found := re.search(r"Known here: (.*)\.$", words):
            assert schema_fields(good, path) == set(found[1].split(", ")), paths.write(path)


def schema_fields(manifest: Any, path: tuple[Any, ...]) -> set[str]:
    """The fields that the schema knows at a place of this manifest."""
    schema, value = variant(SCHEMA, manifest), manifest
    for part in path:
        value = value[part]
        if isinstance(part, int):
            schema = schema["items"]
        else:
            schema = schema.get("properties", {}).get(part) or schema["additionalProperties"]
        schema = variant(schema, value)
    return set(schema["properties"])


def variant(schema: Any, value: Any) -> Any:
    """A schema behind its reference, and of several the one that this value is of."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    for one in schema.get("oneOf", schema.get("anyOf", ())):
        if CHECK.evolve(schema=one).is_valid(value):
            return variant(one, value)
    return schema
