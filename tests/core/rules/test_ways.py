"""Which argument goes where, what a manifest may say of it, and what a person is shown."""

import pytest

from studio.core.rules import agent, ways
from studio.core.rules.errors import Invalid

FIELDS = {"type": "object", "properties": {name: {} for name in ("id", "q", "page", "note", "x")}}


def tool(**more):
    entry = {
        "name": "t", "kind": "http", "method": "POST", "url": "https://x.example/a/{id}",
        "input": FIELDS,
    }  # fmt: skip
    return {**entry, **more}


def faults(described) -> dict[str, str]:
    manifest = {
        "name": "a", "instructions": "x", "model": {"provider": "scripted"}, "tools": [described],
    }  # fmt: skip
    try:
        agent.parse(manifest, schema_problem=lambda schema: None)
    except Invalid as wrong:
        return wrong.fields
    return {}


@pytest.mark.parametrize(
    "more",
    [
        {"in": {"id": "path", "q": "query", "page": "query:p", "x": "header:X", "note": "body"}},
        {"in": {"q": "query", "page": "query", "x": "query", "note": "body:*"}},
        {"query": {"search": "{q}", "fixed": "1", "key": {"setting": "API_KEY"}}},
        {"body": {"text": "{note}, {q}", "more": ["{page}", {"x": "{x}"}]}, "body_as": "json"},
        {"body": "{note} {q} {page} {x}", "body_as": "text"},
        {"select": "data.items[0]"},
        {"select": {"id": "/data/id", "name": "data.name"}, "body_as": "form"},
        {"method": "GET", "in": {"x": "header:X-Id"}},
    ],
)  # fmt: skip
def test_what_makes_sense_passes(more):
    assert faults(tool(**more)) == {}


@pytest.mark.parametrize(
    "more,path,words",
    [
        ({"in": {"gone": "query"}}, "in.gone", "no field of the input"),
        ({"in": {"q": "cookie"}}, "in.q", "must be path, query"),
        ({"in": {"q": "header"}}, "in.q", "must be path, query"),
        ({"in": {"q": "query:a b"}}, "in.q", "must be path, query"),
        ({"in": {"q": 1}}, "in.q", "must be path, query"),
        ({"in": {"q": "path"}}, "in.q", "stands in the path"),
        ({"in": {"id": "query"}}, "in.id", "stands in the path"),
        ({"in": {"q": "header:Host"}}, "in.q", "cannot be set here"),
        ({"in": {"q": "header:X\r\nY"}}, "in.q", "must be path, query"),
        ({"method": "GET", "in": {"q": "body"}}, "in.q", "sent without one"),
        ({"in": {"q": "body"}, "body": "{note}{page}{x}"}, "in.q", "beside a template"),
        ({"in": {"q": "body:*"}}, "in", "whole body and something beside"),
        ({"query": {"a": "{gone}"}}, "query.a", "{gone}"),
        ({"query": {"a": 1}}, "query.a", "must be text"),
        ({"body": {"a": "{gone}"}}, "body", "{gone}"),
        ({"body": {"a": "{note}"}}, "body", "leaves out the field"),
        ({"method": "GET", "body": {}}, "body", "sent without a body"),
        ({"method": "DELETE", "body_as": "form"}, "body_as", "sent without a body"),
        ({"body_as": "xml"}, "body_as", "one of: json, form, text"),
        ({"body_as": "text"}, "body_as", "the body is one text"),
        ({"select": "a..b"}, "select", "is not a path"),
        ({"select": {}}, "select", "1 to 50 names"),
    ],
)
def test_what_makes_none_is_said_at_its_place(more, path, words):
    found = faults(tool(**more))

    assert words in found.get(f"tools[0].{path}", str(found))


def test_a_destination_shows_every_argument_of_the_address():
    described = tool(
        method="GET", query={"fixed": "1", "key": {"setting": "K"}},
        **{"in": {"page": "query:p", "x": "header:X-Id"}},
    )  # fmt: skip

    written = ways.destination("GET", described["url"], described)

    assert written == "GET https://x.example/a/{id}?fixed=1&key=•••&p={page}&q={q}&note={note}"


@pytest.mark.parametrize(
    "arguments,aim",
    [
        ({"id": "a/b ?", "q": "x&y=z", "page": 2}, "GET https://x.example/a%2Fb%20%3F?p=2&q=x%26y%3Dz"),
        ({"id": 3}, "GET https://x.example/3"),
        ({"id": [1], "q": ["a", "b"]}, "GET https://x.example/{id}?q=a&q=b"),
        ({"id": "x", "q": None}, "GET https://x.example/x"),
        ("no object", "GET https://x.example/{id}?p={page}&q={q}"),
    ],
)  # fmt: skip
def test_an_aim_has_the_arguments_in_their_places(arguments, aim):
    written = "GET https://x.example/{id}?p={page}&q={q}"

    assert ways.aimed("http", written, arguments) == aim


def test_a_command_has_no_places():
    assert ways.aimed("mcp", "python server.py {id}", {"id": 1}) == "python server.py {id}"
