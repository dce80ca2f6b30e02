"""How environments, their manifests and their labels are named."""

import re
from collections.abc import Mapping
from typing import Any

from studio.core.rules.errors import Invalid

ID = re.compile(r"env_[0-9a-z]{26}")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
MANIFEST = re.compile(r"[a-z][a-z0-9-]{0,62}")
REFERENCE = re.compile(rf"({MANIFEST.pattern})(?:@([1-9][0-9]{{0,8}}))?")
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")
LONGEST, LONGEST_LABEL, MOST_LABELS = 200, 200, 64


def check_name(name: str) -> None:
    """Raise Invalid unless an environment may bear this name."""
    if fault := name_fault(name):
        raise Invalid(f"The name {fault}", fields={"name": fault}, code="environment.name")


def name_fault(name: str) -> str | None:
    """What is wrong with an environment's name, as a sentence without its subject."""
    if len(name) > LONGEST or not NAME.fullmatch(name):
        return (
            f"must be letters, digits, . _ - and / (at most {LONGEST}); each part between / begins "
            "with a letter or a digit."
        )
    if name.startswith("env_"):
        return "must not begin with env_, as ids do."
    return None


def reference(text: str) -> tuple[str, int | None]:
    """The name and version of `name` or `name@3`; Invalid when it is neither."""
    found = REFERENCE.fullmatch(text)
    if found is None:
        words = "must be the name of a manifest, or name@version."
        raise Invalid(
            f"The manifest {words}", fields={"manifest": words}, code="environment.manifest"
        )
    return found[1], int(found[2]) if found[2] else None


def check_labels(labels: Mapping[str, Any]) -> dict[str, str]:
    """The labels by name, or Invalid with a sentence for each that cannot be kept."""
    faults = {}
    if len(labels) > MOST_LABELS:
        faults["labels"] = f"may have at most {MOST_LABELS} entries, and has {len(labels):,}."
    for key, value in labels.items():
        if not LABEL.fullmatch(key):
            faults[f"labels.{key[:60]}"] = (
                "is no name of a label: use up to 64 letters, digits, . _ / and -."
            )
        elif not isinstance(value, str) or len(value) > LONGEST_LABEL or not value.isprintable():
            faults[f"labels.{key}"] = f"must be one line of at most {LONGEST_LABEL} characters."
        elif "," in value:  # lists of labels are written key=value,key=value
            faults[f"labels.{key}"] = "must not have a comma in it."
    if faults:
        raise Invalid("The labels cannot be used.", fields=faults, code="environment.labels")
    return dict(sorted(labels.items()))


def label_filter(text: str) -> tuple[tuple[str, str], ...]:
    """The labels of `team=x,stage=prod`; Invalid when it is not written so."""
    found = []
    for part in text.split(",") if text else ():
        key, equals, value = part.partition("=")
        if not equals or not LABEL.fullmatch(key):
            words = "must be labels as key=value, with commas between them."
            raise Invalid(
                f"The filter {words}", fields={"labels": words}, code="environment.labels"
            )
        found.append((key, value))
    return tuple(found)
