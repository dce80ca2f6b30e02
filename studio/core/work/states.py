"""States: what providers want back unchanged, from the blobs, kept while it is asked for."""

import json
from collections import OrderedDict

from studio.core.providers.provider import State
from studio.core.rules import contents
from studio.core.rules.events import Content
from studio.core.store.journal import Journal

KEPT_BYTES = 32 * 1024 * 1024


def content(state: State | None) -> Content | None:
    """A state as it is recorded: a content that nobody is shown."""
    if state is None:
        return None
    text = json.dumps({"owner": state.owner, "items": state.items}, ensure_ascii=False)
    return contents.of_text(text, media=contents.OPAQUE)


class States:
    """The states of the sessions that a worker moves."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._kept: OrderedDict[str, tuple[State, int]] = OrderedDict()
        self._size = 0

    async def of(self, content: Content | None) -> State | None:
        """The state behind a recorded content."""
        if content is None:
            return None
        if content.hash not in self._kept:
            raw = await self._journal.blob(content.hash)
            if raw is None:
                return None
            told = json.loads(raw.decode("utf-8", "surrogatepass"))
            state = State(owner=told["owner"], items=tuple(told["items"]))
            self._kept[content.hash] = state, content.size
            self._size += content.size
            while self._size > KEPT_BYTES and len(self._kept) > 1:
                self._size -= self._kept.popitem(last=False)[1][1]
        self._kept.move_to_end(content.hash)
        return self._kept[content.hash][0]
