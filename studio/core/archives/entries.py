"""What an archive holds, entry by entry, whatever kind it is; and how one is refused."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Type = Literal["file", "folder", "link", "twin"]


class Bad(Exception):
    """The archive is not as it should be. `place` is the entry, empty when it is the whole."""

    def __init__(self, place: str, words: str) -> None:
        super().__init__(f"{place}: {words}")
        self.place, self.words = place, words


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry. A name that is not UTF-8 has lone surrogates (PEP 383), as file names have here.

    `path` has no slash at its ends and is empty for the top folder; `target` is a link's text, or
    the path of the file that a twin (a hard link) is one with. `size` is what the archive says, and
    `pieces` gives just that many bytes or raises Bad; they are taken before the next entry is.
    """

    path: str
    type: Type
    mode: int
    mtime_ns: int
    size: int = 0
    target: str = ""
    pieces: Iterator[bytes] = field(default=iter(()), repr=False)
