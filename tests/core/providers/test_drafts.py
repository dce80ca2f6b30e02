"""Answers put together from pieces that come in other ways than the stand-ins say them."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from studio.core.providers.anthropic_reply import MessageDraft
from studio.core.providers.chat_reply import ChatDraft
from studio.core.providers.openai_reply import ResponseDraft
from studio.core.providers.provider import ProviderError, TextDelta

USAGE = {"input_tokens": 9, "output_tokens": 3}


def text(draft: Any, chunks: Iterable[Mapping[str, Any]]) -> str:
    """The text that these pieces add."""
    deltas = [delta for chunk in chunks for delta in draft.take(chunk)]
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


# OpenAI's Responses ------------------------------------------------------------------------------


def message(words: str) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": words}]}


CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "read",
        "arguments": '{"a": 1}'}  # fmt: skip


def test_a_response_that_comes_whole_at_its_end_is_an_answer():
    draft = ResponseDraft("us")
    whole = {"output": [message("Hi."), CALL], "usage": USAGE}

    assert text(draft, [{"type": "response.completed", "response": whole}]) == "Hi."
    reply = draft.reply()
    assert (reply.text, reply.stop) == ("Hi.", "calls")
    assert [(call.id, call.arguments) for call in reply.calls] == [("call_a", {"a": 1})]
    assert reply.usage.input_tokens == 9


def test_items_that_come_whole_are_taken_once():
    draft = ResponseDraft("us")
    chunks = [
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi."},
        {"type": "response.output_item.done", "output_index": 0, "item": message("Hi.")},
        {"type": "response.output_item.done", "output_index": 1, "item": CALL},
        {"type": "response.completed", "response": {"output": [message("Hi."), CALL]}},
    ]

    assert text(draft, chunks) == "Hi."
    assert [call.name for call in draft.reply().calls] == ["read"]


def test_a_refusal_in_an_item_is_a_refusal():
    draft = ResponseDraft("us")
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]}
    done = {"type": "response.output_item.done", "output_index": 0, "item": refusal}
    text(draft, [done, {"type": "response.completed", "response": {}}])

    with pytest.raises(ProviderError, match="I will not") as caught:
        draft.reply()

    assert caught.value.code == "model.refused"


@pytest.mark.parametrize(
    "error,code,permanent",
    [
        ({"code": "server_error", "message": "It broke."}, "model.server", False),
        ({"code": "bio_policy", "message": "No."}, "model.refused", True),
        (None, "model.interrupted", False),
    ],
)
def test_a_response_that_failed_says_why(error, code, permanent):
    draft = ResponseDraft("us")

    with pytest.raises(ProviderError) as caught:
        text(draft, [{"type": "response.failed", "response": {"error": error, "usage": USAGE}}])

    assert (caught.value.code, caught.value.permanent) == (code, permanent)
    assert draft.usage().input_tokens == 9


def test_phases_go_back_with_what_they_stand_by():
    draft = ResponseDraft("us")
    said = {**message("Hm."), "phase": "commentary"}
    done = {"type": "response.output_item.done", "output_index": 0, "item": said}
    text(draft, [done, {"type": "response.completed", "response": {}}])

    state = draft.reply().state

    assert state is not None
    assert state.items == ({"text": 3, "id": "msg_1", "phase": "commentary"},)


def test_a_plain_answer_has_nothing_to_give_back():
    draft = ResponseDraft("us")
    text(draft, [{"type": "response.completed", "response": {"output": [message("Hi.")]}}])

    assert draft.reply().state is None


# Anthropic's messages ----------------------------------------------------------------------------


def block(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": {"type": kind, **more}}


def stop(reason: str, **more: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, **more}
    return [{"type": "message_delta", "delta": delta, "usage": {}}, {"type": "message_stop"}]


def test_a_call_whose_arguments_come_with_its_block_is_whole():
    draft = MessageDraft("us")
    text(draft, [block("tool_use", id="a", name="read", input={"x": "ž"}), *stop("tool_use")])

    (call,) = draft.reply().calls

    assert (call.id, call.name, call.arguments) == ("a", "read", {"x": "ž"})


def test_text_that_comes_with_its_block_is_text():
    assert text(MessageDraft("us"), [block("text", text="Hi."), *stop("end_turn")]) == "Hi."


def test_what_was_told_at_the_start_stands_until_the_end_says_more():
    draft = MessageDraft("us")
    start = {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 1}
    text(draft, [{"type": "message_start", "message": {"usage": start}}])
    text(draft, [{"type": "message_delta", "delta": {}, "usage": {"output_tokens": 7}}])

    usage = draft.usage()

    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (7, 2, 7)


def test_a_refusal_says_why():
    draft = MessageDraft("us")
    text(draft, stop("refusal", stop_details={"explanation": "It could do harm."}))

    with pytest.raises(ProviderError, match="It could do harm"):
        draft.reply()


def test_a_message_without_its_end_broke_off():
    draft = MessageDraft("us")
    text(draft, [block("text", text="Hi."), stop("end_turn")[0]])

    with pytest.raises(ProviderError, match="broke off"):
        draft.reply()


def test_thinking_is_a_summary_only_where_one_was_asked_for():
    thought = {"type": "content_block_delta", "index": 0,
               "delta": {"type": "thinking_delta", "thinking": "Hm."}}  # fmt: skip
    for is_summarized, summary in ((True, "Hm."), (False, "")):
        draft = MessageDraft("us", is_summarized=is_summarized)
        text(draft, [block("thinking", thinking="", signature=""), thought, *stop("end_turn")])

        assert draft.reply().summary == summary


# Chat completions --------------------------------------------------------------------------------


def test_signatures_beside_calls_are_kept_for_their_calls():
    draft = ChatDraft("us", place=4)
    extra = {"google": {"thought_signature": "s1"}}
    function = {"name": "read", "arguments": "{}"}
    piece = {"index": 0, "id": "", "function": function, "extra_content": extra}
    text(draft, [{"choices": [{"delta": {"tool_calls": [piece]}, "finish_reason": "stop"}]}])

    reply = draft.reply()

    assert (reply.calls[0].id, reply.stop) == ("call_4_0", "calls")
    assert reply.state is not None
    assert reply.state.items == ({"call": "call_4_0", "extra_content": extra},)


def test_thinking_under_either_name_is_thinking():
    for name in ("reasoning", "reasoning_content"):
        draft = ChatDraft("us")
        choice = {"delta": {name: "Hm.", "content": "Hi."}, "finish_reason": "stop"}

        assert text(draft, [{"choices": [choice]}]) == "Hi."
        state = draft.reply().state
        assert state is not None
        assert state.items == ({"reasoning_content": "Hm."},)
