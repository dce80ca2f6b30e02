"""A JSON value as text to be edited: JSON with two spaces, or YAML with long texts as blocks."""

import json
import re
from typing import Any

import yaml

from studio.core.manifests import yaml_text
from studio.core.manifests.document import Format

WIDTH = 100
ODD = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff]")


def write(value: Any, format: Format) -> str:
    """The text; `read` gives the same value back."""
    if format == "json":
        return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False,
        width=WIDTH,
    )  # fmt: skip
    return text


class _Dumper(yaml.SafeDumper):
    """Block style for texts of several lines, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    if ODD.search(value) or yaml_text.is_special(value):
        style: str | None = '"'
    else:
        style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
