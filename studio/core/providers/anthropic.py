"""Anthropic's messages, of Anthropic itself or of a server that speaks them."""

from typing import Any

from studio.core.providers import anthropic_request
from studio.core.providers.anthropic_reply import MessageDraft
from studio.core.providers.endpoint import NO_KEY, Endpoint, Place
from studio.core.providers.provider import Request

ADDRESS = "https://api.anthropic.com"


class Anthropic(Endpoint):
    """One server that speaks Anthropic's messages."""

    name = "anthropic"

    def __init__(self, place: Place) -> None:
        import anthropic

        headers = {}
        if place.key:
            headers["authorization"] = f"Bearer {place.key}"
            if place.base_url != ADDRESS:  # others know the older header
                headers["x-api-key"] = place.key
        super().__init__(place, headers)
        self._client = anthropic.AsyncAnthropic(
            base_url=place.base_url, api_key=place.key or NO_KEY, max_retries=0,
            http_client=self.http, open_telemetry=False,
        )  # fmt: skip

    async def create(self, request: Request) -> Any:
        """Send the request; the SDK's stream."""
        body = anthropic_request.body(request, self.owner(request))
        return await self._client.messages.create(**body)

    def draft(self, request: Request) -> MessageDraft:
        """An empty answer."""
        return MessageDraft(
            self.owner(request), len(request.messages),
            is_summarized=anthropic_request.is_summarized(request),
        )  # fmt: skip
