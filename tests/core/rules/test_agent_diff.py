"""How two manifests differ, part by part."""

import copy
from typing import Any

from studio.core.rules import agent_diff
from studio.core.rules.agent_diff import FieldChange
from tests.core.rules.test_agent import FULL, TOOL


def changed(**parts: Any) -> dict[str, agent_diff.Section]:
    new = {**copy.deepcopy(FULL), **parts}
    return {section.name: section for section in agent_diff.sections(FULL, new)}


def test_the_same_manifests_differ_in_nothing() -> None:
    assert changed() == {}


def test_instructions_are_compared_by_lines() -> None:
    (section,) = changed(instructions="Be careful.\nBe kind.").values()

    assert [line.change for line in section.lines] == ["same", "added"]


def test_a_tool_that_changed_says_which_of_its_fields() -> None:
    tool = {**TOOL, "timeout": 20, "input": {"type": "object"}}

    (thing,) = changed(tools=[tool])["tools"].things

    assert (thing.name, thing.change) == ("notify_team", "changed")
    assert FieldChange(path="timeout", before="10", after="20") in thing.fields
    assert any(field.path.startswith("input.properties") for field in thing.fields)


def test_tools_come_and_go() -> None:
    things = changed(tools=[{**TOOL, "name": "other"}])["tools"].things

    assert [(thing.name, thing.change) for thing in things] == [
        ("notify_team", "removed"), ("other", "added"),
    ]  # fmt: skip


def test_another_order_is_said_to_be_one() -> None:
    section = changed(servers=FULL["servers"][::-1])["servers"]

    assert section.moved
    assert section.things == ()


def test_names_come_and_go() -> None:
    things = changed(agents=["hand"], plugins=[])

    assert [thing.change for thing in things["agents"].things] == ["added"]
    assert [thing.name for thing in things["plugins"].things] == ["release-kit"]


def test_limits_and_model_are_compared_by_field() -> None:
    found = changed(limits={"steps": 12, "calls": {"value": 5}}, model={"provider": "house"})

    assert found["limits"].fields == (
        FieldChange(path="steps", before="10", after="12"),
        FieldChange(path="calls.hard", before="false", after=None),
        FieldChange(path="total_seconds", before="60", after=None),
    )
    assert found["model"].fields[0] == FieldChange(
        path="provider", before="scripted", after="house"
    )


def test_a_single_value_has_its_own_name() -> None:
    (field,) = changed(description="Other.")["description"].fields

    assert field == FieldChange(path="description", before="Ships releases.", after="Other.")


def test_an_output_schema_that_goes_is_shown_line_by_line() -> None:
    (section,) = changed(output_schema=None).values()

    assert {line.change for line in section.lines} == {"removed"}


def test_odd_old_manifests_are_compared_all_the_same() -> None:
    sections = agent_diff.sections({"tools": 5, "x": [1]}, {"tools": [], "x": [1, {"a": 2}]})

    assert [section.name for section in sections] == ["tools", "x"]
    assert sections[1].fields == (FieldChange(path="x[1].a", before=None, after="2"),)
