"""A neutral request as each protocol writes it: the talk, tools, files, the form of the answer."""

import base64
from typing import Any

import pytest

from studio.core.providers import anthropic_request, chat_request, openai_request, order
from studio.core.providers import parts as written
from studio.core.providers.provider import (
    FilePart,
    Message,
    ProposedCall,
    Request,
    State,
    ToolOffer,
)

BODIES = {
    "chat": chat_request.body,
    "anthropic": anthropic_request.body,
    "openai": openai_request.body,
}
CACHED = {"cache_control": {"type": "ephemeral"}}
OURS = "us"

TALK = (
    Message(role="user", text="go \ud800"),
    Message(
        role="assistant",
        text="Looking.",
        calls=(
            ProposedCall(id="a", name="read", arguments={"x": "ž"}),
            ProposedCall(id="b.1", name="read", arguments=None, broken="{oops"),
        ),
    ),
    Message(role="tool", text="no such file", call_id="a", name="read", failed=True),
    Message(role="tool", text="", call_id="b.1", name="read"),
    Message(role="assistant", text="Sorry."),
    Message(role="user", text="again"),
)


def body(protocol: str, model: str = "m", **more: Any) -> dict[str, Any]:
    request = Request(model=model, **{"instructions": "", "messages": TALK, **more})
    return BODIES[protocol](request, OURS)


def chat_call(call_id: str, arguments: str) -> dict[str, Any]:
    function = {"name": "read", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def test_the_talk_as_chat_completions_have_it():
    assert body("chat", instructions="Be brief.")["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "go ?"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                chat_call("a", '{"x": "ž"}'),
                chat_call("b.1", '{"unreadable": "{oops"}'),
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "no such file"},
        {"role": "tool", "tool_call_id": "b.1", "content": ""},
        {"role": "assistant", "content": "Sorry."},
        {"role": "user", "content": "again"},
    ]


def test_the_talk_as_messages_have_it():
    found = body("anthropic", instructions="Be brief.")

    assert found["system"] == [{"type": "text", "text": "Be brief.", **CACHED}]
    assert found["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "go ?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "a", "name": "read", "input": {"x": "ž"}},
                {
                    "type": "tool_use",
                    "id": "b_1",
                    "name": "read",
                    "input": {"unreadable": "{oops"},
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "a",
                    "content": "no such file",
                    "is_error": True,
                },
                {"type": "tool_result", "tool_use_id": "b_1", "content": "(nothing)"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Sorry."}]},
        {"role": "user", "content": [{"type": "text", "text": "again", **CACHED}]},
    ]


def responses_call(call_id: str, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "read", "arguments": arguments}


def test_the_talk_as_responses_have_it():
    found = body("openai", instructions="Be brief.")

    assert (found["instructions"], found["store"]) == ("Be brief.", False)
    assert found["input"] == [
        {"role": "user", "content": "go ?"},
        {"role": "assistant", "content": "Looking."},
        responses_call("a", '{"x": "ž"}'),
        responses_call("b.1", '{"unreadable": "{oops"}'),
        {"type": "function_call_output", "call_id": "a", "output": "no such file"},
        {"type": "function_call_output", "call_id": "b.1", "output": ""},
        {"role": "assistant", "content": "Sorry."},
        {"role": "user", "content": "again"},
    ]


OFFER = ToolOffer(name="read", description="Reads.", schema={"type": "object"})


def test_tools_as_each_protocol_has_them():
    function = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}

    assert body("chat", tools=(OFFER,))["tools"] == [{"type": "function", "function": function}]
    assert body("openai", tools=(OFFER,))["tools"] == [
        {"type": "function", "strict": False, **function}
    ]
    assert body("anthropic", tools=(OFFER,))["tools"] == [
        {"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}
    ]


FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


def test_the_form_of_the_answer_as_each_protocol_has_it():
    chat = body("chat", output_schema=FORM)["response_format"]
    assert (chat["type"], chat["json_schema"]["schema"]) == ("json_schema", FORM)
    responses = body("openai", output_schema=FORM)["text"]["format"]
    assert (responses["type"], responses["schema"]) == ("json_schema", FORM)
    messages = body("anthropic", "claude-opus-4-6", output_schema=FORM)
    assert messages["output_config"]["format"] == {"type": "json_schema", "schema": FORM}


def test_a_model_without_forms_is_told_in_words():
    found = body("anthropic", "claude-3-haiku", instructions="Be brief.", output_schema=FORM)

    assert "output_config" not in found
    assert '"ok"' in found["system"][0]["text"]
    assert found["system"][0]["text"].startswith("Be brief.")


@pytest.mark.parametrize(
    "model,options,tokens",
    [
        ("claude-3-haiku-20240307", {}, 4_096),
        ("claude-3-5-sonnet-latest", {}, 8_192),
        ("claude-sonnet-5", {}, 32_000),
        ("claude-sonnet-5", {"max_output": 500}, 500),
    ],
)
def test_messages_say_how_long_an_answer_may_be(model, options, tokens):
    assert body("anthropic", model, options=options)["max_tokens"] == tokens


def test_the_longest_answer_as_each_protocol_has_it():
    options = {"max_output": 500}

    assert body("chat", options=options)["max_tokens"] == 500
    assert body("openai", options=options)["max_output_tokens"] == 500
    assert "max_output_tokens" not in body("openai")


@pytest.mark.parametrize(
    "protocol,model,effort,sent",
    [
        ("chat", "m", "low", {"reasoning_effort": "low"}),
        ("openai", "m", "high", {"reasoning": {"effort": "high", "summary": "auto"}}),
        ("openai", "m", "none", {"reasoning": {"effort": "none"}}),
        (
            "anthropic", "claude-opus-4-6", "medium",
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "medium"},
            },
        ),
        (
            "anthropic", "claude-sonnet-4-5", "low",
            {"thinking": {"type": "enabled", "budget_tokens": 2_048}},
        ),
        ("anthropic", "claude-sonnet-5", "none", {"thinking": {"type": "disabled"}}),
    ],
)  # fmt: skip
def test_effort_as_each_protocol_has_it(protocol, model, effort, sent):
    found = body(protocol, model, options={"effort": effort})
    plain = body(protocol, model)

    assert {name: value for name, value in found.items() if name not in plain} == sent


# Files -------------------------------------------------------------------------------------------

PNG = FilePart(name="a.png", media="image/PNG", data=b"png!")
PDF = FilePart(name="b.pdf", media="application/pdf", data=b"pdf!")
WAV = FilePart(name="c.wav", media="audio/x-wav", data=b"wav!")
CSV = FilePart(name='d".csv', media="text/csv; charset=utf-8", data="a,ž".encode() + b"\xff")
FILES = (Message(role="user", text="See.", files=(PNG, PDF, WAV, CSV)),)


def coded(file: FilePart) -> str:
    return base64.b64encode(file.data).decode()


def url(file: FilePart, media: str) -> str:
    return f"data:{media};base64,{coded(file)}"


def test_files_as_chat_completions_have_them():
    content = body("chat", messages=FILES)["messages"][0]["content"]

    assert content == [
        {"type": "image_url", "image_url": {"url": url(PNG, "image/png")}},
        {"type": "file", "file": {"filename": "b.pdf", "file_data": url(PDF, "application/pdf")}},
        {"type": "input_audio", "input_audio": {"data": coded(WAV), "format": "wav"}},
        {"type": "text", "text": '[File "d\\".csv"]\na,ž\ufffd'},
        {"type": "text", "text": "See."},
    ]


def test_files_as_responses_have_them():
    content = body("openai", messages=FILES)["input"][0]["content"]

    assert content == [
        {"type": "input_image", "image_url": url(PNG, "image/png"), "detail": "auto"},
        {"type": "input_file", "filename": "b.pdf", "file_data": url(PDF, "application/pdf")},
        {"type": "input_audio", "input_audio": {"data": coded(WAV), "format": "wav"}},
        {"type": "input_text", "text": '[File "d\\".csv"]\na,ž\ufffd'},
        {"type": "input_text", "text": "See."},
    ]


def source(media: str, data: str, kind: str = "base64") -> dict[str, Any]:
    return {"source": {"type": kind, "media_type": media, "data": data}}


def test_files_as_messages_have_them():
    content = body("anthropic", messages=FILES)["messages"][0]["content"]

    assert content == [
        {"type": "image", **source("image/png", coded(PNG))},
        {"type": "document", "title": "b.pdf", **source("application/pdf", coded(PDF))},
        {"type": "text", "text": "[Audio c.wav: this model does not hear it.]"},
        {"type": "document", "title": 'd".csv', **source("text/plain", "a,ž\ufffd", "text")},
        {"type": "text", "text": "See.", **CACHED},
    ]


@pytest.mark.parametrize("protocol", BODIES)
def test_a_message_may_be_files_alone(protocol):
    found = body(protocol, messages=(Message(role="user", files=(PNG,)),))
    talk = found["input" if protocol == "openai" else "messages"]

    assert len(talk[0]["content"]) == 1


def test_a_fallback_that_does_not_read_a_file_is_told_that_it_is_there():
    (message,) = FILES

    plain = written.readable(message, frozenset({"text"}))

    assert plain.files == (CSV,)
    assert plain.text.splitlines()[:2] == ["See.", '[File "a.png": this model does not read it.]']
    assert written.readable(message, frozenset({"text", "image", "pdf", "audio"})) is message


# What comes back unchanged -------------------------------------------------------------------

THOUGHT = {"type": "thinking", "thinking": "…", "signature": "s1"}
MORE = {"type": "redacted_thinking", "data": "r2"}
CALL = ProposedCall(id="a", name="read", arguments={})
ITEMS = (THOUGHT, {"text": 4}, MORE, {"call": "a"}, {"text": 3})


def replied(text: str, owner: str = OURS, items: tuple[Any, ...] = ITEMS) -> Message:
    return Message(
        role="assistant", text=text, calls=(CALL,), state=State(owner=owner, items=items)
    )


def parts(message: Message) -> list[Any]:
    assert message.state is not None
    return [part for part, _ in order.parts(message, message.state.items)]


def test_the_parts_of_a_reply_come_in_their_order():
    assert parts(replied("One.Two")) == [THOUGHT, "One.", MORE, CALL, "Two"]


def test_state_goes_first_where_the_text_is_not_what_came():
    assert parts(replied("One.Tw")) == [THOUGHT, MORE, "One.Tw", CALL]
    assert parts(replied("")) == [THOUGHT, MORE, CALL]


def test_messages_give_their_blocks_back_in_order():
    found = body("anthropic", messages=(TALK[0], replied("One.Two")))

    assert [block["type"] for block in found["messages"][1]["content"]] == [
        "thinking", "text", "redacted_thinking", "tool_use", "text",
    ]  # fmt: skip
    assert found["messages"][1]["content"][0] == THOUGHT


def test_responses_give_their_items_back_with_ids_and_phases():
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
    items = (
        reasoning,
        {"text": 4, "id": "msg_1", "phase": "commentary"},
        {"call": "a", "id": "fc_1"},
    )

    found = body("openai", messages=(TALK[0], replied("One.", items=items)))

    assert found["input"][1:] == [
        reasoning,
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "id": "msg_1",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "One.", "annotations": []}],
        },
        {**responses_call("a", "{}"), "id": "fc_1"},
    ]


def test_chat_gives_signatures_back_beside_their_calls():
    google = {"google": {"thought_signature": "s1"}}
    items = (
        {"call": "a", "extra_content": google},
        {"reasoning_details": [{"data": "d"}]},
        {"reasoning_content": "Hm."},
    )

    found = body("chat", messages=(TALK[0], replied("One.", items=items)))["messages"][1]
    later = body("chat", messages=(TALK[0], replied("One.", items=items), TALK[0]))["messages"][1]

    assert found["tool_calls"][0]["extra_content"] == google
    assert found["reasoning_details"] == [{"data": "d"}]
    assert found["reasoning_content"] == "Hm."
    assert "reasoning_content" not in later
    assert later["reasoning_details"] == [{"data": "d"}]


@pytest.mark.parametrize("protocol", BODIES)
def test_somebody_elses_state_is_left_out(protocol):
    sent = str(body(protocol, messages=(TALK[0], replied("One.Two", owner="them"))))

    assert "One.Two" in sent
    assert "s1" not in sent
