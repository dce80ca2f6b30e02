"""Manifests as people write them: text in JSON or YAML, read strictly with the line of every field.

`document` reads either, `yaml_text` and `json_text` know one each, `writing` writes either,
`schema` has the published JSON Schemas of an agent and a plugin, `environment` that of an
environment's manifest; `pieces` are what both are made of.
"""

from studio.core.manifests.document import Document, Format, guess, read
from studio.core.manifests.environment import environment_schema
from studio.core.manifests.schema import agent_schema, plugin_schema
from studio.core.manifests.writing import write

__all__ = [
    "Document",
    "Format",
    "agent_schema",
    "environment_schema",
    "guess",
    "plugin_schema",
    "read",
    "write",
]
