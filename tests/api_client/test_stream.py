"""Server-sent events are read as the standard says, however the bytes are cut."""

import pytest

from api_client.stream import Decoder, Message

STREAM = (
    ": hello\n\n"
    "retry: 1000\r\n\r\n"
    "id: 1\r\ndata: {\"a\": 1}\r\n\r\n"
    "id: 2\nevent: other\ndata: one\ndata: two\n\n"
    "data: \u00e9\N{GRINNING FACE}\r\r"
    "id: 9\n\n"
    "data:no space\nunknown: x\nnonsense\n\n"
    "data: cut off"
).encode()  # fmt: skip
MESSAGES = [
    Message(id="1", event="message", data='{"a": 1}'),
    Message(id="2", event="other", data="one\ntwo"),
    Message(id="2", event="message", data="\u00e9\N{GRINNING FACE}"),
    Message(id="9", event="message", data="no space"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, len(STREAM)])
def test_any_cut_gives_the_same_messages(size):
    decoder = Decoder()

    found = [
        message
        for at in range(0, len(STREAM), size)
        for message in decoder.feed(STREAM[at : at + size])
    ]

    assert found == MESSAGES
    assert (decoder.last_id, decoder.retry) == ("9", 1000)


def test_an_id_with_a_zero_character_is_ignored():
    assert Decoder().feed(b"id: a\0b\ndata: x\n\n") == [Message(id="", event="message", data="x")]


def test_a_message_without_data_is_none():
    assert Decoder().feed(b"event: ping\n\n") == []
