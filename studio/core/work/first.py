"""When the first part of what a model says came."""

from studio.core.clock import Clock


class First:
    """When the first part of a reply came: `after` is ms since the request, None while none did."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._begun = clock, clock.monotonic()
        self.after: int | None = None

    def came(self, text: str) -> None:
        """A part came, of the answer or of the thinking; one without text is no part."""
        if text and self.after is None:
            self.after = round((self._clock.monotonic() - self._begun) * 1000)
