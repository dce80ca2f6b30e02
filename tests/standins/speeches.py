"""The protocols of model providers as a server speaks them: chat completions, Anthropic's
messages, OpenAI's Responses. A speech knows how things are said; what is said is `models`' part.
"""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from tests.standins.raw_http import Asked, Talk

# What a call took, told by each protocol in its own way: 100 read, of them 60 cached and 5 written
# to the cache; 40 written, of them 7 of thinking.
USAGE = {"read": 100, "cached": 60, "cache_write": 5, "written": 40, "reasoning": 7}


class Speech:
    """One answer as it is streamed."""

    stops: ClassVar[Mapping[str, str]] = {}

    def __init__(self, talk: Talk, asked: Asked) -> None:
        self.talk, self.asked = talk, asked
        self.body: dict[str, Any] = json.loads(asked.body or b"{}")

    async def open(self) -> None:
        """The head of the answer and whatever comes before its content."""
        await self.talk.head(content_type="text/event-stream", transfer_encoding="chunked")

    async def text(self, text: str) -> None:
        """A piece of text."""
        raise NotImplementedError

    async def call(self, index: int, arguments: str, call_id: str = "", name: str = "") -> None:
        """A piece of a call; the first one has its id and name."""
        raise NotImplementedError

    async def think(self, text: str, proof: str) -> None:
        """A thought, with what is to come back unchanged."""
        raise NotImplementedError

    async def end(self, stop: str = "end", usage: Any = USAGE) -> None:
        """Why it stopped, what it took, and the end of the stream."""
        raise NotImplementedError

    async def fail(self, message: str) -> None:
        """An error in the middle of the stream."""
        raise NotImplementedError

    async def ping(self) -> None:
        """A sign of life, an event that nobody knows, and a delta with nothing in it."""
        raise NotImplementedError

    def error(self, message: str, code: str = "", kind: str = "error") -> dict[str, Any]:
        """The body of an answer with an error's status."""
        return {"error": {"message": message, "type": kind, "code": code or None}}

    def talk_since(self) -> list[str]:
        """The roles of what was said since the last message of a person."""
        raise NotImplementedError

    async def event(self, value: Any, name: str = "", *, ascii: bool = True) -> None:
        """One event of the stream."""
        await self.talk.chunk(self.event_bytes(value, name, ascii=ascii))

    def event_bytes(self, value: Any, name: str = "", *, ascii: bool = True) -> bytes:
        """The same, not sent."""
        head = f"event: {name}\n" if name else ""
        return f"{head}data: {json.dumps(value, ensure_ascii=ascii)}\n\n".encode()

    def text_bytes(self, text: str) -> bytes:
        """A piece of text as it goes over the wire, its letters not escaped."""
        raise NotImplementedError

    async def close(self) -> None:
        """The end of the body."""
        await self.talk.chunk(b"")


class ChatSpeech(Speech):
    """Chat completions."""

    stops: ClassVar[Mapping[str, str]] = {
        "end": "stop",
        "calls": "tool_calls",
        "length": "length",
        "filter": "content_filter",
    }

    async def open(self) -> None:
        await super().open()
        await self.piece(role="assistant", content="")

    async def text(self, text: str) -> None:
        await self.piece(content=text)

    async def call(self, index: int, arguments: str, call_id: str = "", name: str = "") -> None:
        function = {"arguments": arguments, **({"name": name} if name else {})}
        first = {"id": call_id, "type": "function"} if call_id else {}
        await self.piece(tool_calls=[{"index": index, "function": function, **first}])

    async def think(self, text: str, proof: str) -> None:
        await self.piece(reasoning_details=[{"type": "reasoning.encrypted", "data": proof}])
        await self.piece(reasoning_content=text)

    async def end(self, stop: str = "end", usage: Any = USAGE) -> None:
        await self.piece(finish=self.stops[stop])
        if usage:
            await self.event(self._chunk(usage=self._usage(usage)))
        await self.talk.chunk(b"data: [DONE]\n\n")
        await self.close()

    async def fail(self, message: str) -> None:
        await self.event({"error": {"message": message, "code": "server_error"}})
        await self.close()

    async def ping(self) -> None:
        await self.talk.chunk(b": ping\n\n")
        await self.event({**self._chunk(), "object": "chat.completion.weather"})
        await self.piece()

    def talk_since(self) -> list[str]:
        roles = [message["role"] for message in self.body["messages"]]
        return roles[len(roles) - roles[::-1].index("user") :]

    def text_bytes(self, text: str) -> bytes:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        return self.event_bytes(self._chunk(choices=[choice]), ascii=False)

    def _usage(self, usage: Any) -> Any:
        if not isinstance(usage.get("read"), int):
            return {"prompt_tokens": "many", "completion_tokens": -1}
        return {
            "prompt_tokens": usage["read"],
            "completion_tokens": usage["written"],
            "prompt_tokens_details": {
                "cached_tokens": usage["cached"], "cache_write_tokens": usage["cache_write"],
            },
            "completion_tokens_details": {"reasoning_tokens": usage["reasoning"]},
        }  # fmt: skip

    async def piece(self, finish: str | None = None, **delta: Any) -> None:
        """One chunk with a delta."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        await self.event(self._chunk(choices=[choice]))

    def _chunk(self, **fields: Any) -> dict[str, Any]:
        head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return {**head, "choices": [], **fields}


class MessagesSpeech(Speech):
    """Anthropic's messages."""

    stops: ClassVar[Mapping[str, str]] = {
        "end": "end_turn",
        "calls": "tool_use",
        "length": "max_tokens",
        "filter": "refusal",
    }

    def __init__(self, talk: Talk, asked: Asked) -> None:
        super().__init__(talk, asked)
        self._blocks, self._open, self._calls = 0, -1, dict[int, int]()

    async def open(self) -> None:
        await super().open()
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": None, "stop_sequence": None,
        }  # fmt: skip
        if "usage" not in str(self.body.get("model")):  # as far as it is known at the start
            message["usage"] = {**self._usage(USAGE), "output_tokens": 1}
        await self._event("message_start", message=message)

    async def text(self, text: str) -> None:
        await self._begin_text()
        await self._delta(self._open, {"type": "text_delta", "text": text})

    async def call(self, index: int, arguments: str, call_id: str = "", name: str = "") -> None:
        if name or index not in self._calls:
            await self._stop_open()
            block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            self._calls[index] = await self._begin(block)
            self._open = -1
        delta = {"type": "input_json_delta", "partial_json": arguments}
        await self._delta(self._calls[index], delta)

    async def think(self, text: str, proof: str) -> None:
        await self._stop_open()
        at = await self._begin({"type": "thinking", "thinking": "", "signature": ""})
        for piece in (text[:4], text[4:]):
            await self._delta(at, {"type": "thinking_delta", "thinking": piece})
        await self._delta(at, {"type": "signature_delta", "signature": proof})
        await self._event("content_block_stop", index=at)
        at = await self._begin({"type": "redacted_thinking", "data": proof[::-1]})
        await self._event("content_block_stop", index=at)

    async def end(self, stop: str = "end", usage: Any = USAGE) -> None:
        await self._stop_open()
        for at in self._calls.values():
            await self._event("content_block_stop", index=at)
        delta = {"stop_reason": self.stops[stop], "stop_sequence": None}
        told = {"usage": self._usage(usage)} if usage else {}
        await self._event("message_delta", delta=delta, **told)
        await self._event("message_stop")
        await self.close()

    async def fail(self, message: str) -> None:
        await self._event("error", error={"type": "api_error", "message": message})
        await self.close()

    async def ping(self) -> None:
        await self._event("ping")
        await self._event("weather", sky="blue")
        await self._begin_text()
        await self._delta(self._open, {"type": "text_delta", "text": ""})
        await self._delta(self._open, {"type": "smell_delta", "smell": "mint"})

    def error(self, message: str, code: str = "", kind: str = "error") -> dict[str, Any]:
        return {"type": "error", "error": {"type": code or kind, "message": message}}

    def talk_since(self) -> list[str]:
        roles: list[str] = []
        for message in self.body["messages"]:
            kinds = [block.get("type") for block in message["content"]]
            if message["role"] == "user" and "tool_result" not in kinds:
                roles = []
            else:
                roles.append(message["role"])
        return roles

    def text_bytes(self, text: str) -> bytes:
        self._blocks, self._open = 1, 0
        block = {"type": "text", "text": ""}
        value = {"type": "content_block_start", "index": 0, "content_block": block}
        delta = {"type": "text_delta", "text": text}
        more = {"type": "content_block_delta", "index": 0, "delta": delta}
        start = self.event_bytes(value, "content_block_start")
        return start + self.event_bytes(more, "content_block_delta", ascii=False)

    def _usage(self, usage: Any) -> Any:
        if not isinstance(usage.get("read"), int):
            return {"input_tokens": "many", "output_tokens": -1}
        return {
            "input_tokens": usage["read"] - usage["cached"] - usage["cache_write"],
            "cache_read_input_tokens": usage["cached"],
            "cache_creation_input_tokens": usage["cache_write"],
            "output_tokens": usage["written"],
            "output_tokens_details": {"thinking_tokens": usage["reasoning"]},
        }

    async def _begin_text(self) -> None:
        if self._open < 0:
            self._open = await self._begin({"type": "text", "text": ""})

    async def _begin(self, block: dict[str, Any]) -> int:
        at, self._blocks = self._blocks, self._blocks + 1
        await self._event("content_block_start", index=at, content_block=block)
        return at

    async def _stop_open(self) -> None:
        if self._open >= 0:
            await self._event("content_block_stop", index=self._open)
            self._open = -1

    async def _delta(self, at: int, delta: dict[str, Any]) -> None:
        await self._event("content_block_delta", index=at, delta=delta)

    async def _event(self, kind: str, **fields: Any) -> None:
        await self.event({"type": kind, **fields}, kind)


class ResponsesSpeech(Speech):
    """OpenAI's Responses."""

    def __init__(self, talk: Talk, asked: Asked) -> None:
        super().__init__(talk, asked)
        self._items: list[dict[str, Any]] = []
        self._message: dict[str, Any] | None = None
        self._calls: dict[int, dict[str, Any]] = {}
        self._number = 0

    async def open(self) -> None:
        await super().open()
        await self._event("response.created", response=self._response("in_progress"))

    async def text(self, text: str) -> None:
        await self._delta(await self._begin_text(), text)

    async def call(self, index: int, arguments: str, call_id: str = "", name: str = "") -> None:
        if name or index not in self._calls:
            item = {
                "id": f"fc_{len(self._items)}", "type": "function_call", "call_id": call_id,
                "name": name, "arguments": "", "status": "in_progress",
            }  # fmt: skip
            self._calls[index] = await self._add(item)
        item = self._calls[index]
        item["arguments"] += arguments
        await self._event(
            "response.function_call_arguments.delta", item_id=item["id"],
            output_index=self._at(item), delta=arguments,
        )  # fmt: skip

    async def think(self, text: str, proof: str) -> None:
        item = await self._add({"id": "rs_1", "type": "reasoning", "summary": []})
        at = self._at(item)
        place = {"item_id": "rs_1", "output_index": at, "summary_index": 0}
        part = {"type": "summary_text", "text": ""}
        await self._event("response.reasoning_summary_part.added", **place, part=part)
        await self._event("response.reasoning_summary_text.delta", **place, delta=text)
        item |= {
            "summary": [{"type": "summary_text", "text": text}], "encrypted_content": proof,
        }  # fmt: skip
        await self._event("response.output_item.done", output_index=at, item=item)

    async def end(self, stop: str = "end", usage: Any = USAGE) -> None:
        for item in self._items:
            if item["type"] != "reasoning":
                item["status"] = "completed"
                at = self._at(item)
                await self._event("response.output_item.done", output_index=at, item=item)
        told = {"usage": self._usage(usage)} if usage else {}
        reasons = {"length": "max_output_tokens", "filter": "content_filter"}
        status = "incomplete" if stop in reasons else "completed"
        why = {"incomplete_details": {"reason": reasons[stop]}} if stop in reasons else {}
        whole = {**self._response(status), "output": self._items, **told, **why}
        await self._event(f"response.{status}", response=whole)
        await self.close()

    async def fail(self, message: str) -> None:
        await self._event("error", code="server_error", message=message, param=None)
        await self.close()

    async def ping(self) -> None:
        await self.talk.chunk(b": ping\n\n")
        await self._event("response.weather", sky="blue")
        await self._delta(await self._begin_text(), "")

    def talk_since(self) -> list[str]:
        kinds: list[str] = []
        for item in self.body["input"]:
            kind = item.get("role") or item["type"]
            if kind == "user":
                kinds = []
            elif kind in ("assistant", "function_call") and kinds[-1:] != ["assistant"]:
                kinds.append("assistant")
            elif kind == "function_call_output":
                kinds.append("tool")
        return kinds

    def text_bytes(self, text: str) -> bytes:
        item = self._new_message()
        self._items.append(item)
        value = {"type": "response.output_item.added", "output_index": 0, "item": item}
        start = self.event_bytes(value, "response.output_item.added")
        item["content"] = [{"type": "output_text", "text": text, "annotations": []}]
        kind = "response.output_text.delta"
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        more = {"type": kind, **place, "delta": text}
        return start + self.event_bytes(more, kind, ascii=False)

    def _usage(self, usage: Any) -> Any:
        if not isinstance(usage.get("read"), int):
            return {"input_tokens": "many", "output_tokens": -1}
        return {
            "input_tokens": usage["read"],
            "input_tokens_details": {
                "cached_tokens": usage["cached"], "cache_write_tokens": usage["cache_write"],
            },
            "output_tokens": usage["written"],
            "output_tokens_details": {"reasoning_tokens": usage["reasoning"]},
            "total_tokens": usage["read"] + usage["written"],
        }  # fmt: skip

    def _response(self, status: str) -> dict[str, Any]:
        return {
            "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status,
            "output": [], "tools": [], "error": None, "incomplete_details": None,
        }  # fmt: skip

    def _new_message(self) -> dict[str, Any]:
        return {
            "id": f"msg_{len(self._items)}", "type": "message", "role": "assistant",
            "status": "in_progress", "content": [],
        }  # fmt: skip

    async def _begin_text(self) -> dict[str, Any]:
        if self._message is None:
            self._message = await self._add(self._new_message())
            part = {"type": "output_text", "text": "", "annotations": []}
            self._message["content"] = [part]
            await self._event(
                "response.content_part.added", item_id=self._message["id"],
                output_index=self._at(self._message), content_index=0, part=part,
            )  # fmt: skip
        return self._message

    async def _delta(self, item: dict[str, Any], text: str) -> None:
        item["content"][0]["text"] += text
        await self._event(
            "response.output_text.delta", item_id=item["id"], output_index=self._at(item),
            content_index=0, delta=text, logprobs=[],
        )  # fmt: skip

    async def _add(self, item: dict[str, Any]) -> dict[str, Any]:
        self._items.append(item)
        await self._event("response.output_item.added", output_index=self._at(item), item=item)
        return item

    def _at(self, item: dict[str, Any]) -> int:
        return next(at for at, known in enumerate(self._items) if known is item)

    async def _event(self, kind: str, **fields: Any) -> None:
        self._number += 1
        await self.event({"type": kind, "sequence_number": self._number, **fields}, kind)
