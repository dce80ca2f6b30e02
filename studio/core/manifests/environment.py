"""The published JSON Schema (draft 2020-12) of an environment's manifest.

It says what a schema can say; `rules.environments.manifest.parse` says the rest (names given
twice, paths that leave the disk, places of secrets that collide).
"""

from studio.core.manifests import pieces as p
from studio.core.manifests.pieces import JsonSchema
from studio.core.rules import agent, secrets, sources
from studio.core.rules.environments import files, manifest, names, network, slots

ID = "https://operator.studio/schemas/environment.json"
WORDS = {
    "name": "Small letters, digits and -; it begins with a letter.",
    "kind": "Where commands run: none, sandbox (this machine), container, remote.",
    "image": "Of a container, such as python:3.12-slim.",
    "url": "Of a remote service.",
    "token": "The setting or secret that a remote service is given.",
    "setup": "Commands that run once on a new disk, in this order.",
    "files": "What lies on a new disk before the setup.",
    "variables": "Of every command. Those that the studio sets itself cannot be given.",
    "secrets": "Places for sealed values; never the values.",
    "network": "Hosts that may be reached; everything else is closed.",
    "keep": "Keep a disk version at the end of every turn that changed something, or by hand.",
    "delete_after": "Seconds without use after which an environment is deleted.",
    "refuse_on_gaps": "Run nothing where this machine cannot enforce all of it.",
    "isolation": "The least that is accepted where this machine has no bubblewrap.",
}


def environment_schema() -> JsonSchema:
    """The whole schema. That some fields belong to some kinds only, the parser says."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "An environment manifest of Operator Studio",
        **p.object_of(
            {
                "$schema": p.text(500),
                "name": {
                    **p.text(63),
                    **p.pattern(names.MANIFEST.pattern),
                    "not": {"enum": sorted(agent.RESERVED)},
                },
                "description": {**p.text(500, least=0), "pattern": r"^[^\n\r]*$"},
                "kind": p.word(*manifest.KINDS),
                "image": p.text(400),
                "url": p.text(2_000),
                "token": {"anyOf": [{"$ref": "#/$defs/setting"}, {"type": "null"}]},
                "setup": p.list_of(_command(), manifest.MOST_SETUP),
                "files": p.list_of(_file(), files.MOST),
                "variables": {
                    **p.maybe("object"),
                    "maxProperties": manifest.MOST_VARIABLES,
                    "propertyNames": p.pattern(slots.VARIABLE.pattern),
                    "additionalProperties": p.text(manifest.LONGEST_VARIABLE, least=0, null=False),
                },
                "secrets": p.list_of(_slot(), slots.MOST),
                "network": p.object_of({"allow": p.list_of(_host(), network.MOST)}),
                "limits": p.object_of(
                    {name: p.whole(low, high) for name, (low, high, _) in manifest.LIMITS.items()}
                ),
                "keep": p.word(*manifest.KEEPS),
                "delete_after": p.whole(60, 3_650 * manifest.DAY),
                "refuse_on_gaps": p.maybe("boolean"),
                "isolation": p.word(*manifest.ISOLATIONS),
            },
            needed=("name",),
            null=False,
            words=WORDS,
        ),
        "$defs": {"setting": _setting()},
    }


def _setting() -> JsonSchema:
    kinds = {"setting": sources.SETTING.pattern, "secret": secrets.NAME.pattern}
    return {
        "anyOf": [
            p.object_of({name: p.pattern(text, string=True)}, needed=(name,), null=False)
            for name, text in kinds.items()
        ]
    }


def _command() -> JsonSchema:
    return p.object_of(
        {
            "run": p.text(manifest.LONGEST_RUN, null=False),
            "cwd": p.text(files.LONGEST_PATH),
            "timeout": p.whole(1, manifest.MOST_SETUP_SECONDS),
        },
        needed=("run",),
        null=False,
        words={"cwd": "A folder of the disk.", "timeout": "Seconds; 600 without it."},
    )


def _file() -> JsonSchema:
    path = p.text(files.LONGEST_PATH, null=False)
    text = p.text(files.TEXT_BYTES, least=0, null=False)
    hashed: JsonSchema = {
        "type": "object", "minProperties": 1, "maxProperties": files.MOST_HASHED,
        "additionalProperties": p.pattern(files.HASH.pattern, string=True),
    }  # fmt: skip
    artifact = p.pattern(files.ARTIFACT.pattern, string=True)
    version = p.whole(1, 1_000_000_000, null=False)
    nothing: JsonSchema = {"type": "null"}
    forms: tuple[dict[str, JsonSchema], ...] = (
        {"text": text, "artifact": nothing, "files": nothing, "version": nothing},
        {"artifact": artifact, "version": version, "text": nothing, "files": nothing},
        {"files": hashed, "text": nothing, "artifact": nothing, "version": nothing},
    )
    needs = (("text",), ("artifact", "version"), ("files",))
    return {
        "description": "A text, a version of an artifact, or files by the hash of their bytes.",
        "oneOf": [
            p.object_of({"path": path, **form}, needed=("path", *needed), null=False)
            for form, needed in zip(forms, needs, strict=True)
        ],
    }


def _slot() -> JsonSchema:
    return p.object_of(
        {
            "name": p.pattern(secrets.NAME.pattern, string=True),
            "type": p.word(*slots.TYPES),
            "binding": p.text(2_000, null=False),
            "required": p.maybe("boolean"),
            "description": p.text(500, least=0),
        },
        needed=("name", "type", "binding"),
        null=False,
        words={
            "binding": "An https address for bearer and headers, else the name of the variable or "
            "of the file below /run/secrets.",
            "required": "Sessions start only when it is set; true without it.",
        },
    )


def _host() -> JsonSchema:
    port = p.whole(1, 65_535, null=False)
    return p.object_of(
        {
            "host": p.text(253, null=False),
            "ports": {**p.list_of(port, network.MOST_PORTS), "minItems": 1},
        },
        needed=("host",),
        null=False,
        words={"host": "Exact, or *. and a suffix.", "ports": "443 without it."},
    )
