"""The published JSON Schema (draft 2020-12) of an agent's manifest.

It says what a schema can say; `rules.agent.parse` says the rest (names given twice, places in an
address, schemas that are none). What this refuses the parser refuses too, and both know the same
fields at every place: tests hold them to it.
"""

from collections.abc import Mapping

from studio.core.manifests import pieces as p
from studio.core.manifests.pieces import JsonSchema
from studio.core.rules import (
    agent,
    models,
    patterns,
    plugins,
    scripts,
    secrets,
    selection,
    sources,
    ways,
)

ID = "https://operator.studio/schemas/agent.json"
PLUGIN = f"{plugins.NAME.pattern}(@{plugins.VERSION.pattern})?"
SKILL = f"{plugins.NAME.pattern}(/{plugins.NAME.pattern}|@{plugins.HASH.pattern})?"


def agent_schema() -> JsonSchema:
    """The whole schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "An agent of Operator Studio",
        **p.object_of(
            {
                "$schema": p.text(500),
                "name": {
                    **p.text(63),
                    **p.pattern(agent.NAME.pattern),
                    "not": {"enum": sorted(agent.RESERVED)},
                },
                "description": {**p.text(500, least=0), "pattern": r"^[^\n\r]*$"},
                "instructions": p.text(agent.LARGEST, least=0),
                "model": {"anyOf": [{"$ref": "#/$defs/model"}, {"type": "null"}]},
                "tools": p.list_of({"$ref": "#/$defs/tool"}, sources.MOST_TOOLS),
                "servers": p.list_of({"$ref": "#/$defs/server"}, sources.MOST_SERVERS),
                "plugins": p.list_of(p.pattern(PLUGIN, string=True), 50, unique=True),
                "skills": p.list_of(
                    p.pattern(SKILL, string=True), plugins.MOST_SKILLS, unique=True
                ),
                "agents": p.list_of(
                    p.pattern(agent.NAME.pattern, string=True), agent.MOST_AGENTS, unique=True
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
        "prices": p.object_of({name: p.number(0, 100_000) for name in models.PRICES}),
        "scripted": p.object_of(
            {"when": p.text(patterns.LONGEST_PATTERN, least=0),
             "steps": p.list_of({"$ref": "#/$defs/step"}, scripts.MOST_STEPS, null=False)},
            needed=("when", "steps"),
            null=False,
        ),
        "step": _step(),
        "tool": _tool(),
        "server": _server(),
        "headers": {**p.maybe("object"), "additionalProperties": {"$ref": "#/$defs/value"}},
        "value": {"anyOf": [p.text(8_000, least=0, null=False), {"$ref": "#/$defs/setting"}]},
        "setting": {
            "anyOf": [
                p.object_of(
                    {"setting": p.pattern(sources.SETTING.pattern, string=True)},
                    needed=("setting",), null=False,
                ),
                p.object_of(
                    {"secret": p.pattern(secrets.NAME.pattern, string=True)},
                    needed=("secret",), null=False,
                ),
            ],
            "description": "The name of a setting (STUDIO_SETTING_…), or of a secret that an admin "
            "set, that holds the value.",
        },
        "limits": p.object_of({name: _limit(most) for name, most in agent.LIMITS.items()}),
        "schema": {**p.maybe("object"), "description": "A JSON Schema."},
    }  # fmt: skip


def _step() -> JsonSchema:
    steps = p.list_of({"$ref": "#/$defs/step"}, scripts.MOST_STEPS)
    call = p.object_of(
        {"tool": p.text(scripts.LONGEST_NAME), "arguments": {}}, needed=("tool",), null=False
    )
    return p.object_of(
        {
            "say": {},
            "slow": {**p.whole(0, scripts.SLOWEST), "description": "Milliseconds a word."},
            "calls": p.list_of(call, scripts.MOST_CALLS),
            "after": p.object_of({branch: steps for branch in scripts.BRANCHES}),
            "fail": {"anyOf": [p.pattern(scripts.FAIL, string=True), {"type": "null"}]},
        },
        null=False,
    )


def _model(*, is_fallback: bool = False) -> JsonSchema:
    shared = {
        "prices": {"$ref": "#/$defs/prices"},
        "reads": p.list_of({"enum": list(models.READS)}, len(models.READS)),
        "context_window": p.whole(256, 100_000_000),
        "max_output": p.whole(1, 10_000_000),
        "effort": p.word(*models.EFFORTS),
    }
    others = p.list_of({"$ref": "#/$defs/fallback"}, models.MOST_FALLBACKS)
    chain: JsonSchema = {} if is_fallback else {"fallbacks": others}
    scripted = {
        "name": p.text(200),
        "script": p.list_of({"$ref": "#/$defs/scripted"}, scripts.MOST_ENTRIES),
        "reads": shared["reads"], "context_window": shared["context_window"],
    }  # fmt: skip
    endpoint = {
        "name": p.text(200), "base_url": p.text(2_000),
        "key": {"anyOf": [{"$ref": "#/$defs/setting"}, {"type": "null"}]},
        "timeout": p.number(1, 3_600), **shared,
    }  # fmt: skip
    ours = [name for name in models.PROVIDERS if name not in ("scripted", "chat")]
    saved = {**p.pattern(models.NAME.pattern, string=True), "not": {"enum": [*models.PROVIDERS]}}
    kinds = [
        _kind({"const": "scripted"}, {**scripted, **chain}),
        _kind({"const": "chat"}, {**endpoint, **chain}, needed=("name", "base_url")),
        _kind({"enum": ours}, {**endpoint, **chain}, needed=("name",)),
        _kind(saved, {"name": p.text(200), **shared, **chain}),
    ]
    words = "A provider and its model; a provider is built in, or the name of a saved one."
    return {"description": words, "oneOf": kinds}


def _kind(
    provider: JsonSchema, properties: Mapping[str, JsonSchema], *, needed: tuple[str, ...] = ()
) -> JsonSchema:
    return p.object_of(
        {"provider": provider, **properties}, needed=("provider", *needed), null=False
    )


def _tool() -> JsonSchema:
    return {
        "description": "A tool that is one HTTP call.",
        **p.object_of(
            {
                "name": {
                    **p.text(64, null=False), **p.pattern(sources.TOOL.pattern),
                    "not": {"enum": sorted(sources.RESERVED)},
                },
                "kind": {"const": "http"},
                "description": p.text(8_000, least=0),
                "method": {"enum": list(sources.METHODS)},
                "url": p.text(2_000, null=False),
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
    way = {**p.pattern(ways.WRITTEN.pattern, string=True), "maxLength": 200}
    paths = {
        "type": "object", "minProperties": 1, "maxProperties": selection.MOST_NAMES,
        "additionalProperties": {"type": "string"},
    }  # fmt: skip
    return {
        "in": {**p.maybe("object"), "additionalProperties": way,
               "description": "Where a field goes: path, query:NAME, header:NAME, body:NAME."},
        "query": {**p.maybe("object"), "additionalProperties": {"$ref": "#/$defs/value"},
                  "description": "Parameters of the address: texts with places such as {name}."},
        "body": {"description": "The body as JSON, with places such as {name}."},
        "body_as": p.word(*ways.BODIES),
        "select": {"description": "What is kept of the answer: a path, or names with paths.",
                   "anyOf": [{"type": ["string", "null"]}, paths]},
    }  # fmt: skip


def _server() -> JsonSchema:
    shared = {
        "name": {**p.text(63, null=False), **p.pattern(sources.SERVER.pattern)},
        "timeout": p.number(0.1, 3_600),
        "only": p.list_of(p.text(200, null=False), 500),
        "tools": {
            **p.maybe("object"),
            "additionalProperties": p.object_of(
                {"enabled": p.maybe("boolean"), **_claims()}, null=True
            ),
            "description": "What the operator says of a tool, by its name; * stands for the rest.",
        },
    }
    command = {"type": "array", "minItems": 1, "maxItems": 200, "items": p.text(8_000, null=False)}
    stdio: dict[str, JsonSchema] = {
        "transport": {"const": "stdio"}, "command": command, "env": {"$ref": "#/$defs/headers"},
    }  # fmt: skip
    http: dict[str, JsonSchema] = {
        "transport": {"const": "http"}, "url": p.text(2_000, null=False),
        "headers": {"$ref": "#/$defs/headers"},
    }  # fmt: skip
    return {
        "description": "An MCP server.",
        "oneOf": [
            p.object_of({**shared, **stdio}, needed=("name", "transport", "command"), null=False),
            p.object_of({**shared, **http}, needed=("name", "transport", "url"), null=False),
        ],
    }


def _claims() -> dict[str, JsonSchema]:
    """What a tool, or its operator, says of it."""
    flags = {
        name: p.maybe("boolean") for name in ("repeatable", "read_only", "terminal", "parallel")
    }
    return {**flags, "on_uncertain": p.word("ask", "tell"), "timeout": p.number(0.1, 3_600)}


def _limit(most: int) -> JsonSchema:
    both = p.object_of(
        {"value": p.whole(1, most, null=False), "hard": p.maybe("boolean")}, needed=("value",),
        null=False,
    )  # fmt: skip
    return {"anyOf": [p.whole(1, most), both]}


def plugin_schema() -> JsonSchema:
    """The whole schema of a plugin's `plugin.json`; `rules.plugins.described` reads it."""
    line = plugins.LONGEST_DESCRIPTION
    kept = ("server", "headers", "value", "setting")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID.replace("agent.json", "plugin.json"),
        "title": "A plugin of Operator Studio",
        **p.object_of(
            {
                "$schema": p.text(500),
                "name": {**p.text(63), **p.pattern(plugins.NAME.pattern)},
                "version": {**p.text(64), **p.pattern(plugins.VERSION.pattern)},
                "description": p.text(line),
                "servers": p.list_of({"$ref": "#/$defs/server"}, sources.MOST_SERVERS),
                "skills": p.list_of(p.text(400), plugins.MOST_SKILLS, unique=True),
                "license": p.text(200),
                "homepage": p.text(500),
                "author": p.text(200),
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
