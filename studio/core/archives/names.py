"""What a path in an archive may be, and which two paths are one on some machines."""

import re
import unicodedata
from collections.abc import Iterable

LONGEST = 4_096
SYSTEM = re.compile(r"/(usr|bin|lib|lib64|sbin)/[^\\\0]+")  # no other absolute path is taken


def fault(path: str) -> str | None:
    """Why a path does not lie inside the archive, as a sentence without its subject."""
    if not path:
        return "has no name."
    if len(path) > LONGEST:
        return f"has a path of more than {LONGEST:,} characters."
    if "\0" in path:
        return "has a null character in its name."
    if path.startswith("/") or path[1:2] == ":":
        return "is an absolute path; an archive holds paths inside itself only."
    if "\\" in path:
        return "has a backslash in its name; folders are parted by /."
    parts = path.split("/")
    if ".." in parts:
        return "leads out by “..”."
    if "" in parts or "." in parts:
        return "has an empty part or a “.” in its path."
    if any(len(part.encode("utf-8", "surrogateescape")) > 255 for part in parts):
        return "has a name of more than 255 bytes."
    return None


def target_fault(path: str, target: str) -> str | None:
    """Why a link leads out. It may climb at its start only: behind that, another link may stand.

    With no `..` behind a name, each link on the way lands inside, so the last one does. A link to a
    program of the system, as that of a virtualenv to its Python, is kept as it is: nothing that the
    studio does follows it, and in a sandbox it leads to that sandbox's own.
    """
    if not target or "\0" in target:
        return "is a link to nothing."
    if SYSTEM.fullmatch(target) and not {".", ".."} & set(target.split("/")):
        return None
    if target.startswith("/") or target[1:2] == ":" or "\\" in target:
        return "is a link that leads out: to an absolute path."
    parts = [part for part in target.split("/") if part not in ("", ".")]
    climbs = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    if climbs > path.count("/") or ".." in parts[climbs:]:
        return "is a link that leads out, or may, by “..”."
    return None


def clashes(paths: Iterable[str]) -> dict[str, str]:
    """Paths that are another's double, whole or but for capitals, and the words about each."""
    seen: dict[str, str] = {}
    found: dict[str, str] = {}
    paths = list(paths)
    for path in paths:
        key = folded(path)
        if key not in seen:
            seen[key] = path
        elif seen[key] == path:
            found[path] = "stands in it twice."
        else:
            found[path] = differs(seen[key])
    for path in paths:
        parts = folded(path).split("/")
        for depth in range(1, len(parts)):
            if "/".join(parts[:depth]) in seen:
                found.setdefault(path, "lies in a folder that has the name of a file.")
    return found


def differs(other: str) -> str:
    """The words about a path that is another's double on some machines."""
    return f"differs from {other} in capitals or accents only; most machines keep one."


def folded(path: str) -> str:
    """What two paths have in common that are one on some machines."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
