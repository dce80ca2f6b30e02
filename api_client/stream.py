"""Server-sent events, read without touching the network: bytes go in, events come out.

As the HTML standard says: UTF-8, lines by CR, LF or CRLF, `id` stays until another one comes.
"""

import codecs
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Message:
    """One event of the stream, with the id to come back with."""

    id: str
    event: str
    data: str


@dataclass(kw_only=True)
class Decoder:
    """Reads a stream piece by piece. `last_id` and `retry` (ms) are as the server last said."""

    last_id: str = ""
    retry: int | None = None
    _text: str = ""
    _event: str = ""
    _data: list[str] = field(default_factory=list)
    _bytes: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8-sig")("replace")
    )

    def feed(self, data: bytes) -> list[Message]:
        """The events that these bytes complete."""
        self._text += self._bytes.decode(data)
        found = []
        while (line := self._line()) is not None:
            message = self._take(line)
            if message is not None:
                found.append(message)
        return found

    def _line(self) -> str | None:
        ends = [at for at in (self._text.find("\n"), self._text.find("\r")) if at >= 0]
        if not ends:
            return None
        end = min(ends)
        if self._text[end] == "\r" and end + 1 == len(self._text):
            return None  # a line feed may follow in the next piece
        width = 2 if self._text.startswith("\r\n", end) else 1
        line, self._text = self._text[:end], self._text[end + width :]
        return line

    def _take(self, line: str) -> Message | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self.last_id = value
        elif name == "retry" and value.isascii() and value.isdecimal():
            self.retry = int(value[:9])
        return None

    def _dispatch(self) -> Message | None:
        data, event = self._data, self._event
        self._data, self._event = [], ""
        if not data:
            return None
        return Message(id=self.last_id, event=event or "message", data="\n".join(data))
