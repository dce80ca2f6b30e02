"""Chat completions of any server that speaks OpenAI's protocol, and Google through it."""

from dataclasses import replace
from typing import Any

from studio.core.providers import chat_request, parts
from studio.core.providers.chat_reply import ChatDraft
from studio.core.providers.endpoint import NO_KEY, Endpoint, Place
from studio.core.providers.provider import Request

GOOGLE = "https://generativelanguage.googleapis.com/v1beta/openai/"


class Chat(Endpoint):
    """One server that speaks chat completions."""

    name = "chat"

    def __init__(self, place: Place) -> None:
        import openai

        super().__init__(place, {"authorization": f"Bearer {place.key}"} if place.key else {})
        self._client = openai.AsyncOpenAI(
            base_url=place.base_url, api_key=place.key or NO_KEY, max_retries=0,
            http_client=self.http,
        )  # fmt: skip

    async def create(self, request: Request) -> Any:
        """Send the request; the SDK's stream."""
        body = chat_request.body(request, self.owner(request))
        return await self._client.chat.completions.create(**body)

    def draft(self, request: Request) -> ChatDraft:
        """An empty answer."""
        return ChatDraft(self.owner(request), len(request.messages))


class Google(Chat):
    """Google's models through its compatible endpoint.

    Thought signatures come beside the calls (`extra_content`) and go back with them, or the next
    step is refused; the form of an answer cannot be asked for together with tools.
    """

    name = "google"

    async def create(self, request: Request) -> Any:
        """Send the request; the SDK's stream."""
        if request.tools and request.output_schema is not None:
            words = parts.form_words(request.instructions, request.output_schema)
            request = replace(request, instructions=words, output_schema=None)
        body = chat_request.body(request, self.owner(request))
        return await self._client.chat.completions.create(**body)
