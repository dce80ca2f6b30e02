"""`SKILL.md`: front matter in YAML between two lines `---`, then the text that a model reads."""

from collections.abc import Mapping
from typing import Any

from studio.core.rules import agent as agents_rule
from studio.core.rules import plugins as rule
from studio.core.rules.plugins import Skill
from studio.core.rules.reading import Faults
from studio.core.rules.skills import parted

FILE = "SKILL.md"
LARGEST = 256 * 1024
LARGEST_FRONT = 32 * 1024


def parse(files: Mapping[str, bytes], place: str, faults: Faults) -> Skill | None:
    """The skill in the folder `place` ("" for the whole) of a package; faults are kept.

    `files` are all files of the package, by path.
    """
    prefix = f"{place}/" if place else ""
    where = f"{prefix}{FILE}"
    raw = files.get(where)
    if raw is None:
        faults.add(where, "is missing: a skill is a folder with SKILL.md.")
        return None
    text = text_of(raw, where, faults)
    if text is None:
        return None
    own = Faults()
    front = _front(text, where, faults)
    found = rule.skill(front, own) if front is not None else None
    for path, sentence in own.fields.items():
        faults.add(f"{where}: {path}" if path else where, sentence)
    if found is None:
        return None
    inside = rule.entries(
        {path.removeprefix(prefix): data for path, data in files.items() if path.startswith(prefix)}
    )
    name, description, license, requires = found
    return Skill(
        name=name, description=description, license=license, requires=requires, place=place,
        hash=rule.tree_hash(inside), files=len(inside), size=sum(file.size for file in inside),
    )  # fmt: skip


def text_of(raw: bytes, where: str, faults: Faults) -> str | None:
    """The text of a file, or a fault."""
    if len(raw) > LARGEST:
        faults.add(where, f"has {len(raw):,} bytes; {LARGEST:,} are allowed.")
        return None
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as wrong:
        faults.add(where, f"is not UTF-8: byte {wrong.start:,} is not.")
        return None


def _front(text: str, where: str, faults: Faults) -> object | None:
    """The front matter as JSON could hold it; None, and a fault, when it cannot be read."""
    parts = parted(text)
    if parts is None:
        faults.add(where, "has no front matter: it begins with a line “---”, name and description.")
        return None
    if len(parts[0]) > LARGEST_FRONT:
        faults.add(where, f"has front matter of more than {LARGEST_FRONT:,} characters.")
        return None
    from studio.core.packages import front  # it brings a parser, which few processes need

    try:
        value = front.loads(parts[0])
    except front.NotYaml as wrong:
        faults.add(where, f"its front matter is not YAML: {wrong}.")
        return None
    if not isinstance(value, dict):
        faults.add(where, "its front matter holds no fields.")
        return None
    plain = {str(key): _plain(item) for key, item in value.items()}
    if fault := agents_rule.json_fault(plain):
        faults.add(where, f"its front matter {fault}.")
        return None
    return plain


def _plain(value: Any) -> Any:
    """YAML's own kinds (dates, sets, bytes) as text; all else as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)
