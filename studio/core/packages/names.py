"""What the name of a file in a package may be, and which two names are one on some machines."""

import unicodedata
from collections.abc import Iterable

LONGEST_PATH, LONGEST_PART, DEEPEST = 400, 200, 16
DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{n}{i}" for n in ("com", "lpt") for i in range(1, 10))}
)


def fault(path: str) -> str | None:
    """What is wrong with a path, as a sentence without its subject."""
    if not path or path == "/":
        return "has no name."
    if len(path) > LONGEST_PATH:
        return f"has a path of more than {LONGEST_PATH} characters."
    if path.startswith("/") or path[1:2] == ":":
        return "is an absolute path; a package holds paths inside itself only."
    if "\\" in path:
        return "has a backslash in its name; folders are parted by /."
    parts = path.split("/")
    if ".." in parts:
        return "leads out of the package by “..”."
    if "" in parts or "." in parts:
        return "has an empty part or a “.” in its path."
    if len(parts) > DEEPEST:
        return f"lies more than {DEEPEST} folders deep."
    return next((wrong for part in parts if (wrong := _part_fault(part))), None)


def clashes(paths: Iterable[str]) -> dict[str, str]:
    """Paths that are another's double, whole or but for capitals, and the words about each."""
    seen: dict[str, str] = {}
    found: dict[str, str] = {}
    paths = list(paths)
    for path in paths:
        key = _folded(path)
        if key not in seen:
            seen[key] = path
        elif seen[key] == path:
            found[path] = "stands in it twice."
        else:
            words = f"differs from {seen[key]} in capitals or accents only; most machines keep one."
            found[path] = words
    for path in paths:
        parts = _folded(path).split("/")
        for depth in range(1, len(parts)):
            if "/".join(parts[:depth]) in seen:
                found.setdefault(path, "lies in a folder that has the name of a file.")
    return found


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


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
