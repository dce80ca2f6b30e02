"""Which entries may stand beside each other, looked at one by one as they come.

No path twice, nothing below what is no folder, no two names that most machines hold for one: an
archive is made to travel. A folder may be told after what lies in it, once.
"""

from studio.core.archives import names
from studio.core.archives.entries import Bad, Entry


class Layout:
    """The paths of an archive so far."""

    def __init__(self) -> None:
        self._types: dict[str, str] = {"": "implied"}
        self._folded: dict[str, str] = {}

    def add(self, entry: Entry) -> None:
        """One more entry; Bad says why it may not be there."""
        path = entry.path
        if path and (wrong := names.fault(path)):
            raise Bad(path, wrong)
        if not path and entry.type != "folder":
            raise Bad(path, "has no name.")
        self._parents(path)
        known = self._types.get(path)
        if known and not (known == "implied" and entry.type == "folder"):
            raise Bad(path, "stands in it twice.")
        self._name(path, entry.type)
        if entry.type == "link" and (wrong := names.target_fault(path, entry.target)):
            raise Bad(path, wrong)
        if entry.type == "twin":
            self._twin(entry)

    def _parents(self, path: str) -> None:
        for at, letter in enumerate(path):
            if letter == "/":
                parent = path[:at]
                known = self._types.get(parent)
                if known is None:
                    self._name(parent, "implied")
                elif known not in ("folder", "implied"):
                    raise Bad(path, "lies in a folder that has the name of a file or a link.")

    def _name(self, path: str, type_: str) -> None:
        other = self._folded.setdefault(names.folded(path), path)
        if other != path:
            raise Bad(path, names.differs(other))
        self._types[path] = type_

    def _twin(self, entry: Entry) -> None:
        if names.fault(entry.target):
            raise Bad(entry.path, "is a hard link that leads out.")
        if self._types.get(entry.target) not in ("file", "twin") or entry.target == entry.path:
            raise Bad(entry.path, "is a hard link to what is no file before it in the archive.")
