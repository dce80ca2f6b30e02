"""YAML of front matter, read with the safe loader and stricter: no aliases, no key twice."""

from typing import Any

import yaml


class NotYaml(ValueError):
    """The text is not YAML that is read here; the message says where and why."""


class _Loader(yaml.SafeLoader):
    """The safe loader without anchors: what stands once is read once, so nothing grows."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse an alias, and a key that is given twice."""
        if self.check_event(yaml.events.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(
                None, None, "aliases (*) are not read here", event.start_mark
            )
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(keys)) < len(keys):
                raise yaml.composer.ComposerError(None, None, "a key stands twice", node.start_mark)
        return node


def loads(text: str) -> Any:
    """The value of the front matter; lines are counted from the top of its file."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - it is the safe one, and stricter
    except (yaml.YAMLError, RecursionError, ValueError) as wrong:
        raise NotYaml(_words(wrong)) from None


def _words(wrong: Exception) -> str:
    mark = getattr(wrong, "problem_mark", None)
    if mark is None:
        return "it is nested too deeply" if isinstance(wrong, RecursionError) else str(wrong)[:200]
    return f"line {mark.line + 2}, column {mark.column + 1}: {getattr(wrong, 'problem', '')}"
