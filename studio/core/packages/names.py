"""What the name of a file in a package may be: inside it, visible, and such as every machine keeps.

The rules that hold for every archive are those of `archives.names`.
"""

import unicodedata

from studio.core.archives import names

LONGEST_PATH, LONGEST_PART, DEEPEST = 400, 200, 16
DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(1, 10))}
)
clashes = names.clashes


def fault(path: str) -> str | None:
    """What is wrong with a path, as a sentence without its subject."""
    if not path or path == "/":
        return "has no name."
    if len(path) > LONGEST_PATH:
        return f"has a path of more than {LONGEST_PATH} characters."
    if wrong := names.fault(path):
        return wrong
    parts = path.split("/")
    if len(parts) > DEEPEST:
        return f"lies more than {DEEPEST} folders deep."
    return next((wrong for part in parts if (wrong := _part_fault(part))), None)


def _part_fault(part: str) -> str | None:
    if len(part) > LONGEST_PART or len(part.encode("utf-8", "surrogatepass")) > 255:
        return f"has a name of more than {LONGEST_PART} characters."
    if any(unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for letter in part):
        return "has a character in its name that cannot be seen."
    if any(letter in '<>:"|?*' for letter in part) or part != part.strip(" ") or part[-1] == ".":
        return "has a name that not every machine can keep."
    if part.split(".")[0].lower() in DEVICES:
        return "has the name of a device on some machines."
    return None
