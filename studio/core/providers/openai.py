"""OpenAI's Responses, of OpenAI itself or of a server that speaks them."""

from typing import Any

from studio.core.providers import openai_request
from studio.core.providers.endpoint import NO_KEY, Endpoint, Place
from studio.core.providers.openai_reply import ResponseDraft
from studio.core.providers.provider import Request

ADDRESS = "https://api.openai.com/v1"


class OpenAI(Endpoint):
    """One server that speaks OpenAI's Responses."""

    name = "openai"

    def __init__(self, place: Place) -> None:
        import openai

        super().__init__(place, {"authorization": f"Bearer {place.key}"} if place.key else {})
        self._client = openai.AsyncOpenAI(
            base_url=place.base_url, api_key=place.key or NO_KEY, max_retries=0,
            http_client=self.http,
        )  # fmt: skip

    async def create(self, request: Request) -> Any:
        """Send the request; the SDK's stream."""
        body = openai_request.body(request, self.owner(request))
        return await self._client.responses.create(**body)

    def draft(self, request: Request) -> ResponseDraft:
        """An empty answer."""
        return ResponseDraft(self.owner(request), len(request.messages), key=self.place.key)
