"""The output of a command as it comes: passed on, its first bytes kept, all of it counted."""

from collections.abc import Callable


class Output:
    """Keeps the first `most` bytes of what a command writes; `size` is all of it."""

    def __init__(self, most: int, heard: Callable[[bytes], None]) -> None:
        self.size = 0
        self._kept, self._most, self._heard = bytearray(), most, heard

    def hear(self, data: bytes) -> None:
        """Take what came next. What is not kept is not passed on either."""
        self.size += len(data)
        if room := data[: self._most - len(self._kept)]:
            self._kept += room
            self._heard(room)

    @property
    def kept(self) -> bytes:
        """Its first bytes."""
        return bytes(self._kept)
