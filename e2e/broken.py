"""A studio with its first wall taken down, for one test: its templates escape nothing.

    python -m e2e.broken up

It shows that the other walls hold by themselves. Nothing of the studio knows of it.
"""

from typing import Any

from jinja2 import Environment

from studio.cli import main
from studio.web import render


def unescaped(**options: Any) -> Environment:
    """The environment of the templates, as careless as it can be."""
    return Environment(**{**options, "autoescape": False})


if __name__ == "__main__":
    render.Environment = unescaped  # type: ignore[attr-defined,misc,assignment]
    raise SystemExit(main())
