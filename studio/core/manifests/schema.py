"""The published JSON Schema (draft 2020-12) of an agent's manifest.

It says what a schema can say; `rules.agent.parse` says the rest (names given twice, places in an
address, schemas that are none). What this refuses the parser refuses too, and both know the same
fields at every place: tests hold them to it.
"""

from collections.abc import Mapping
from typing import Any

from studio.core.rules import agent, models, patterns, plugins, secrets, selection, sources, ways

ID = "https://operator.studio/schemas/agent.json"
PLUGIN = f"{plugins.NAME.pattern}(@{plugins.VERSION.pattern})?"
SKILL = f"{plugins.NAME.pattern}(/{plugins.NAME.pattern}|@{plugins.HASH.pattern})?"
JsonSchema = dict[str, Any]


def agent_schema() -> JsonSchema:
    """The whole schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "An agent of Operator Studio",
        **_object(
            {
                "$schema": _text(500),
                "name": {
                    **_text(63),
                    **_pattern(agent.NAME.pattern),
                    "not": {"enum": sorted(agent.RESERVED)},
                },
                "description": {**_text(500, least=0), "pattern": r"^[^\n\r]*$"},
                "instructions": _text(agent.LARGEST, least=0),
                "model": {"anyOf": [{"$ref": "#/$defs/model"}, {"type": "null"}]},
                "tools": _list({"$ref": "#/$defs/tool"}, sources.MOST_TOOLS),
                "servers": _list({"$ref": "#/$defs/server"}, sources.MOST_SERVERS),
                "plugins": _list(_pattern(PLUGIN, string=True), 50, unique=True),
                "skills": _list(_pattern(SKILL, string=True), plugins.MOST_SKILLS, unique=True),
                "agents": _list(
                    _pattern(agent.NAME.pattern, string=True), agent.MOST_AGENTS, unique=True
                ),
                "limits": {"$ref": "#/$defs/limits"},
                "output_schema": {"$ref": "#/$defs/schema"},
            },
            needed=("name",),
            null=False,
            words={
                "name": "Small letters, digits and -; it begins with a letter.",
                "instructions": "What the model is told before anything else.",
                "agents": "Other agents of this studio. They run in a later release.",
                "plugins": "Plugins whose servers and skills the agent has: name or name@version.",
                "skills": "Skills it is offered; without the field, all of its plugins.",
                "output_schema": "JSON Schema that a turn's answer must fit.",
            },
        ),
        "$defs": _definitions(),
    }


def _definitions() -> JsonSchema:
    return {
        "model": _model(),
        "fallback": _model(is_fallback=True),
        "prices": _object({name: _number(0, 100_000) for name in models.PRICES}),
        "scripted": _object(
            {"when": _text(patterns.LONGEST_PATTERN, least=0),
             "steps": _list({"type": "object"}, 1_000, null=False)},
            needed=("when", "steps"),
            null=False,
        ),
        "tool": _tool(),
        "server": _server(),
        "headers": {**_null("object"), "additionalProperties": {"$ref": "#/$defs/value"}},
        "value": {"anyOf": [_text(8_000, least=0, null=False), {"$ref": "#/$defs/setting"}]},
        "setting": {
            "anyOf": [
                _object(
                    {"setting": _pattern(sources.SETTING.pattern, string=True)},
                    needed=("setting",), null=False,
                ),
                _object(
                    {"secret": _pattern(secrets.NAME.pattern, string=True)},
                    needed=("secret",), null=False,
                ),
            ],
            "description": "The name of a setting (STUDIO_SETTING_…), or of a secret that an admin "
            "set, that holds the value.",
        },
        "limits": _object({name: _limit(most) for name, most in agent.LIMITS.items()}),
        "schema": {**_null("object"), "description": "A JSON Schema."},
    }  # fmt: skip


def _model(*, is_fallback: bool = False) -> JsonSchema:
    shared = {
        "prices": {"$ref": "#/$defs/prices"},
        "reads": _list({"enum": list(models.READS)}, len(models.READS)),
        "context_window": _whole(256, 100_000_000),
        "max_output": _whole(1, 10_000_000),
        "effort": _word(*models.EFFORTS),
    }
    others = _list({"$ref": "#/$defs/fallback"}, models.MOST_FALLBACKS)
    chain: JsonSchema = {} if is_fallback else {"fallbacks": others}
    scripted = {
        "name": _text(200), "script": _list({"$ref": "#/$defs/scripted"}, 500),
        "reads": shared["reads"], "context_window": shared["context_window"],
    }  # fmt: skip
    endpoint = {
        "name": _text(200), "base_url": _text(2_000),
        "key": {"anyOf": [{"$ref": "#/$defs/setting"}, {"type": "null"}]},
        "timeout": _number(1, 3_600), **shared,
    }  # fmt: skip
    ours = [name for name in models.PROVIDERS if name not in ("scripted", "chat")]
    saved = {**_pattern(models.NAME.pattern, string=True), "not": {"enum": [*models.PROVIDERS]}}
    kinds = [
        _kind({"const": "scripted"}, {**scripted, **chain}),
        _kind({"const": "chat"}, {**endpoint, **chain}, needed=("name", "base_url")),
        _kind({"enum": ours}, {**endpoint, **chain}, needed=("name",)),
        _kind(saved, {"name": _text(200), **shared, **chain}),
    ]
    words = "A provider and its model; a provider is built in, or the name of a saved one."
    return {"description": words, "oneOf": kinds}


def _kind(
    provider: JsonSchema, properties: Mapping[str, JsonSchema], *, needed: tuple[str, ...] = ()
) -> JsonSchema:
    return _object({"provider": provider, **properties}, needed=("provider", *needed), null=False)


def _tool() -> JsonSchema:
    return {
        "description": "A tool that is one HTTP call.",
        **_object(
            {
                "name": {
                    **_text(64, null=False), **_pattern(sources.TOOL.pattern),
                    "not": {"enum": sorted(sources.RESERVED)},
                },
                "kind": {"const": "http"},
                "description": _text(8_000, least=0),
                "method": {"enum": list(sources.METHODS)},
                "url": _text(2_000, null=False),
                "input": {"type": "object", "description": "JSON Schema of its arguments."},
                "output": {"$ref": "#/$defs/schema"},
                "headers": {"$ref": "#/$defs/headers"},
                **_mapping(),
                **_claims(),
            },
            needed=("name", "kind", "method", "url", "input"), null=False,
        ),
    }  # fmt: skip


def _mapping() -> dict[str, JsonSchema]:
    """Where a tool's arguments go, and what is kept of its answer."""
    way = {**_pattern(ways.WRITTEN.pattern, string=True), "maxLength": 200}
    paths = {
        "type": "object", "minProperties": 1, "maxProperties": selection.MOST_NAMES,
        "additionalProperties": {"type": "string"},
    }  # fmt: skip
    return {
        "in": {**_null("object"), "additionalProperties": way,
               "description": "Where a field goes: path, query:NAME, header:NAME, body:NAME."},
        "query": {**_null("object"), "additionalProperties": {"$ref": "#/$defs/value"},
                  "description": "Parameters of the address: texts with places such as {name}."},
        "body": {"description": "The body as JSON, with places such as {name}."},
        "body_as": _word(*ways.BODIES),
        "select": {"description": "What is kept of the answer: a path, or names with paths.",
                   "anyOf": [{"type": ["string", "null"]}, paths]},
    }  # fmt: skip


def _server() -> JsonSchema:
    shared = {
        "name": {**_text(63, null=False), **_pattern(sources.SERVER.pattern)},
        "timeout": _number(0.1, 3_600),
        "only": _list(_text(200, null=False), 500),
        "tools": {
            **_null("object"),
            "additionalProperties": _object({"enabled": _null("boolean"), **_claims()}, null=True),
            "description": "What the operator says of a tool, by its name; * stands for the rest.",
        },
    }
    command = {"type": "array", "minItems": 1, "maxItems": 200, "items": _text(8_000, null=False)}
    stdio: dict[str, JsonSchema] = {
        "transport": {"const": "stdio"}, "command": command, "env": {"$ref": "#/$defs/headers"},
    }  # fmt: skip
    http: dict[str, JsonSchema] = {
        "transport": {"const": "http"}, "url": _text(2_000, null=False),
        "headers": {"$ref": "#/$defs/headers"},
    }  # fmt: skip
    return {
        "description": "An MCP server.",
        "oneOf": [
            _object({**shared, **stdio}, needed=("name", "transport", "command"), null=False),
            _object({**shared, **http}, needed=("name", "transport", "url"), null=False),
        ],
    }


def _claims() -> dict[str, JsonSchema]:
    """What a tool, or its operator, says of it."""
    flags = {name: _null("boolean") for name in ("repeatable", "read_only", "terminal", "parallel")}
    return {**flags, "on_uncertain": _word("ask", "tell"), "timeout": _number(0.1, 3_600)}


def _limit(most: int) -> JsonSchema:
    both = _object(
        {"value": _whole(1, most, null=False), "hard": _null("boolean")}, needed=("value",),
        null=False,
    )  # fmt: skip
    return {"anyOf": [_whole(1, most), both]}


# Pieces. Where the parser takes null for "not there", so does the schema. ------------------------


def _null(kind: str, *, null: bool = True) -> JsonSchema:
    return {"type": [kind, "null"]} if null else {"type": kind}


def _text(most: int, *, least: int = 1, null: bool = True) -> JsonSchema:
    return {**_null("string", null=null), **({"minLength": least} if least else {}),
            "maxLength": most}  # fmt: skip


def _pattern(pattern: str, *, string: bool = False) -> JsonSchema:
    return {**({"type": "string"} if string else {}), "pattern": f"^(?:{pattern})$"}


def _number(least: float, most: float) -> JsonSchema:
    return {**_null("number"), "minimum": least, "maximum": most}


def _whole(least: int, most: int, *, null: bool = True) -> JsonSchema:
    return {**_null("integer", null=null), "minimum": least, "maximum": most}


def _word(*allowed: str) -> JsonSchema:
    return {"enum": [*allowed, None]}


def _list(items: JsonSchema, most: int, *, unique: bool = False, null: bool = True) -> JsonSchema:
    return {
        **_null("array", null=null), "maxItems": most, "items": items,
        **({"uniqueItems": True} if unique else {}),
    }  # fmt: skip


def _object(
    properties: Mapping[str, JsonSchema], *, needed: tuple[str, ...] = (), null: bool = True,
    words: Mapping[str, str] | None = None,
) -> JsonSchema:  # fmt: skip
    described = {
        name: {
            **(_there(schema) if name in needed else schema),
            **({"description": words[name]} if words and name in words else {}),
        }
        for name, schema in properties.items()
    }
    return {
        **_null("object", null=null), "properties": described, "required": list(needed),
        "additionalProperties": False,
    }  # fmt: skip


def _there(schema: JsonSchema) -> JsonSchema:
    """The same without null: what is needed must be there."""
    found = dict(schema)
    if isinstance(found.get("type"), list):
        found["type"] = found["type"][0]
    if None in found.get("enum", ()):
        found["enum"] = [word for word in found["enum"] if word is not None]
    return found


def plugin_schema() -> JsonSchema:
    """The whole schema of a plugin's `plugin.json`; `rules.plugins.described` reads it."""
    line = plugins.LONGEST_DESCRIPTION
    kept = ("server", "headers", "value", "setting")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID.replace("agent.json", "plugin.json"),
        "title": "A plugin of Operator Studio",
        **_object(
            {
                "$schema": _text(500),
                "name": {**_text(63), **_pattern(plugins.NAME.pattern)},
                "version": {**_text(64), **_pattern(plugins.VERSION.pattern)},
                "description": _text(line),
                "servers": _list({"$ref": "#/$defs/server"}, sources.MOST_SERVERS),
                "skills": _list(_text(400), plugins.MOST_SKILLS, unique=True),
                "license": _text(200),
                "homepage": _text(500),
                "author": _text(200),
            },
            needed=("name", "version", "description"),
            null=False,
            words={
                "name": "Small letters, digits and -; it begins with a letter.",
                "version": "Such as 1.2.0.",
                "description": "One line for people.",
                "servers": "MCP servers, as in an agent's manifest; ${plugin} is its own folder.",
                "skills": "Folders in the plugin, each with SKILL.md.",
            },
        ),
        "$defs": {name: one for name, one in _definitions().items() if name in kept},
    }
