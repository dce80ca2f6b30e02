"""The platform's tools: what they ask of a model, and what is read out of its arguments."""

import pytest

from studio.core.tools import platform
from studio.core.tools.tool import Kit, ToolError

NOW = 1_700_000_000_000
DAY = 86_400


def test_both_tools_only_read_and_belong_to_the_platform():
    specs = [platform.TOOLS[name].spec for name in ("ask_person", "wait_until")]

    assert all(spec.read_only and spec.origin.kind == "platform" for spec in specs)
    assert len({spec.hash for spec in specs}) == 2


def test_a_question_has_a_plain_answer_unless_it_says_otherwise():
    question = platform.question_of({"prompt": "Which one?"})

    assert question.prompt == "Which one?"
    assert question.schema == {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
    }
    assert question.expires_seconds is None


def test_a_question_may_have_its_own_schema_and_end():
    schema = {"type": "object", "properties": {"go": {"type": "boolean"}}}

    question = platform.question_of({"prompt": "Go?", "schema": schema, "expires_seconds": 60})

    assert (question.schema, question.expires_seconds) == (schema, 60)


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        [],
        {},
        {"prompt": ""},
        {"prompt": 3},
        {"prompt": "x", "schema": {"type": "nonsense"}},
        {"prompt": "x", "schema": "text"},
        {"prompt": "x", "expires_seconds": 0},
        {"prompt": "x", "expires_seconds": 31 * DAY},
        {"prompt": "x", "more": 1},
    ],
)
def test_a_question_that_makes_no_sense_is_refused(arguments):
    with pytest.raises(ToolError) as caught:
        platform.question_of(arguments)

    assert (caught.value.code, caught.value.settled) == ("tool.bad_arguments", True)


@pytest.mark.parametrize(
    "arguments,due",
    [
        ({"seconds": 0}, NOW),
        ({"seconds": 1.5}, NOW + 1_500),
        ({"seconds": 30 * DAY}, NOW + 30 * DAY * 1000),
        ({"at": "2023-11-14T22:13:21Z"}, NOW + 1_000),
        ({"at": "2023-11-14T23:13:21+01:00"}, NOW + 1_000),
        ({"at": "2001-01-01T00:00:00Z"}, NOW),
    ],
)
def test_a_wait_ends_when_it_says(arguments, due):
    assert platform.due_of(arguments, NOW) == due


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        {},
        {"seconds": -1},
        {"seconds": 30 * DAY + 1},
        {"seconds": float("nan")},
        {"seconds": "soon"},
        {"seconds": 1, "at": "2023-11-14T22:13:21Z"},
        {"at": "tomorrow"},
        {"at": "2023-11-14T22:13:21"},
        {"at": "2023-12-31T00:00:00Z"},
        {"at": 5},
    ],
)
def test_a_wait_that_makes_no_sense_is_refused(arguments):
    with pytest.raises(ToolError) as caught:
        platform.due_of(arguments, NOW)

    assert (caught.value.code, caught.value.settled) == ("tool.bad_arguments", True)


async def test_a_platform_tool_is_never_sent():
    kit = Kit(key="k", deadline=0, session_id="s", effect_id="e")

    with pytest.raises(ToolError, match="answered by the studio"):
        await platform.TOOLS["ask_person"].call({"prompt": "x"}, kit)
