"""Arguments on their way into a request: each in its place, and none of them out of it."""

import json
from typing import Any

import pytest

from studio.core.tools import http
from studio.core.tools.tool import ToolError

SETTINGS = {"KEY": "s3cr3t&key"}


def request(arguments: Any, **more: Any):
    entry = {"name": "t", "method": "POST", "url": "https://x.example/a/{id}", **more}
    return http.described(entry, SETTINGS).shape.request(arguments, {"x-fixed": "1"})


def test_each_argument_goes_where_it_is_sent():
    ways = {"q": "query", "page": "query:p", "trace": "header:X-Trace", "note": "body:text"}

    made = request(
        {"id": "1", "q": ["a", "b"], "page": 2, "trace": "t-1", "note": "hi", "rest": True},
        **{"in": ways},
    )

    assert str(made.url) == "https://x.example/a/1?q=a&q=b&p=2"
    assert made.headers["x-trace"] == "t-1"
    assert json.loads(made.content) == {"rest": True, "text": "hi"}


def test_a_template_is_filled_and_leaves_out_what_is_not_given():
    body = {"title": "{title}", "text": "For {who}: {title}", "tags": ["{tag}", "fixed"], "n": 1}

    made = request({"id": 1, "title": {"a": [1]}, "who": "Alice"}, body=body)

    assert json.loads(made.content) == {
        "title": {"a": [1]}, "text": 'For Alice: {"a": [1]}', "tags": ["fixed"], "n": 1,
    }  # fmt: skip


def test_a_value_that_looks_like_a_place_is_not_filled_again():
    made = request({"id": 1, "a": "{b}", "b": "secret"}, body={"a": "<{a}>", "b": "{b}"})

    assert json.loads(made.content) == {"a": "<{b}>", "b": "secret"}


def test_a_field_can_be_the_whole_body():
    made = request({"id": 1, "items": [1, 2]}, **{"in": {"items": "body:*"}})

    assert json.loads(made.content) == [1, 2]


def test_forms_and_texts():
    form = request({"id": 1, "a": "x&b=1", "many": [1, 2]}, body_as="form")
    text = request({"id": 1, "t": "Ahoj\r\n"}, body="{t}!", body_as="text")

    assert form.content == b"a=x%26b%3D1&many=1&many=2"
    assert form.headers["content-type"] == "application/x-www-form-urlencoded"
    assert text.content == b"Ahoj\r\n!"
    assert text.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_query_can_hold_a_secret_that_no_argument_replaces():
    query = {"api_key": {"setting": "KEY"}, "v": "1"}

    made = request({"id": 1, "q": "x"}, method="GET", query=query)

    assert made.url.params.multi_items() == [("v", "1"), ("q", "x"), ("api_key", "s3cr3t&key")]
    with pytest.raises(ToolError, match="of its own"):
        request({"id": 1, "api_key": "mine"}, method="GET", query=query)


def test_a_parameter_of_the_address_cannot_be_replaced():
    with pytest.raises(ToolError, match=r"limit: .* of its own"):
        request({"limit": 9_999}, method="GET", url="https://x.example/?limit=1")


def test_what_a_template_does_not_name_is_not_dropped_unsaid():
    with pytest.raises(ToolError, match="extra: this tool sends it nowhere") as caught:
        request({"id": 1, "a": 1, "extra": 1}, body={"a": "{a}"})

    assert caught.value.settled


@pytest.mark.parametrize(
    "value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "café", "\u2028", "a\x0bb", "\ud800"]
)
def test_a_header_takes_one_plain_line(value):
    with pytest.raises(ToolError, match="one line of plain characters") as caught:
        request({"id": 1, "h": value}, **{"in": {"h": "header:X-H"}})

    assert (caught.value.code, caught.value.settled) == ("tool.bad_arguments", True)


@pytest.mark.parametrize(
    "value,path",
    [
        ("../../admin", "/a/..%2F..%2Fadmin"),
        ("a?x=1#y", "/a/a%3Fx%3D1%23y"),
        ("%2e%2e", "/a/%252e%252e"),
        ("a\r\nHost: evil", "/a/a%0D%0AHost%3A%20evil"),
        ("@evil.example/", "/a/%40evil.example%2F"),
        ("\\..\\", "/a/%5C..%5C"),
    ],
)
def test_a_part_of_the_path_stays_one_part(value, path):
    made = request({"id": value})

    assert made.url.raw_path.decode() == path
    assert made.url.host == "x.example"


@pytest.mark.parametrize("value", ["x&admin=1", "x#y", "x=y", "a b+c", "\r\n"])
def test_a_parameter_stays_one_parameter(value):
    made = request({"id": 1, "q": value}, method="GET")

    assert made.url.params.multi_items() == [("q", value)]


@pytest.mark.parametrize(
    "more,words",
    [
        ({"in": {"q": "cookie"}}, "no part of a request"),
        ({"body_as": "xml"}, "as xml"),
        ({"query": {"k": {"setting": "GONE"}}}, "STUDIO_SETTING_GONE"),
        ({"select": "a..b"}, "“select” is not a path"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(more, words):
    with pytest.raises(http.BadTool, match=words):
        request({"id": 1}, **more)
