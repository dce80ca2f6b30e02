"""Labels as people write them: key=value, one a line or with commas between them."""

from collections.abc import Mapping

from studio.core.rules.errors import Invalid

SHOWN = 40


def read(text: str) -> dict[str, str]:
    """The labels of a text, by name; Invalid (`labels`) when a part of it is not key=value."""
    found: dict[str, str] = {}
    for part in text.replace("\n", ",").split(","):
        if not part.strip():
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key:
            raise _wrong(f"must be written as key=value, and “{part.strip()[:SHOWN]}” is not.")
        if key in found:
            raise _wrong(f"name {key[:SHOWN]} twice.")
        found[key] = value
    return found


def written(labels: Mapping[str, str]) -> str:
    """The text that reads as these labels, one a line."""
    return "\n".join(f"{key}={value}" for key, value in labels.items())


def fault(fields: Mapping[str, str]) -> str:
    """What is wrong with the labels of a form, in one text; "" when nothing is."""
    found = []
    for path, words in fields.items():
        if path == "labels":
            found.append(words)
        elif path.startswith("labels."):
            found.append(f"{path.removeprefix('labels.')} {words}")
    return " ".join(found)


def _wrong(words: str) -> Invalid:
    return Invalid(f"The labels {words}", fields={"labels": words}, code="environment.labels")
