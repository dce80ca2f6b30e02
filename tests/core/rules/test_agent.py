"""Agent manifests: read whole, every fault told by its path, two versions compared in words."""

import copy

import pytest

from studio.core.rules import agent
from studio.core.rules.errors import Invalid
from studio.core.rules.events import Limit, Limits
from studio.core.rules.sources import RESERVED

TOOL = {
    "name": "notify_team", "kind": "http", "description": "Tell the team.", "method": "POST",
    "url": "https://hooks.example.org/teams/{team}?release={release}",
    "input": {"type": "object", "properties": {"team": {"type": "string"}, "release": {}}},
    "output": {"type": "object"},
    "headers": {"Authorization": {"setting": "TEAM_TOKEN"}, "X-From": "studio"},
    "timeout": 10, "repeatable": True, "read_only": False, "terminal": False, "parallel": True,
    "on_uncertain": "ask",
}  # fmt: skip
STDIO = {
    "name": "ledger", "transport": "stdio", "command": ["python", "server.py"],
    "env": {"MODE": "test", "TOKEN": {"setting": "LEDGER"}}, "timeout": 30, "only": ["publish"],
    "tools": {"publish": {"repeatable": True, "on_uncertain": "tell"}},
}  # fmt: skip
REMOTE = {"name": "remote", "transport": "http", "url": "http://tools.example.org:8080/mcp"}
FULL = {
    "name": "release-assistant", "description": "Ships releases.", "instructions": "Be careful.",
    "model": {"provider": "scripted", "script": [{"when": "^ship (.*)", "steps": [{"say": "ok"}]}]},
    "tools": [TOOL], "servers": [STDIO, REMOTE], "plugins": ["release-kit"],
    "limits": {"steps": 10, "calls": {"value": 5, "hard": False}, "total_seconds": 60},
    "output_schema": {"type": "object"},
}  # fmt: skip
CHAT = {
    "provider": "chat", "name": "big-one", "base_url": "http://127.0.0.1:9000/v1",
    "key": {"setting": "MODEL_KEY"}, "timeout": 60, "prices": {"input": 1.5, "output": 6},
}  # fmt: skip


def no_problem(schema):
    return None


def bad_if_marked(schema):
    return "is not a JSON Schema." if "bad" in schema else None


def parse(manifest, schema_problem=no_problem):
    return agent.parse(manifest, schema_problem=schema_problem)


def faults(manifest, schema_problem=no_problem):
    with pytest.raises(Invalid) as caught:
        parse(manifest, schema_problem)
    return caught.value.fields


def changed(path, value):
    """The full manifest with one place set; a path is a list of names and indexes."""
    manifest = copy.deepcopy(FULL)
    place = manifest
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return manifest


def test_a_whole_manifest_is_read():
    parsed = parse(FULL)

    assert (parsed.name, parsed.instructions) == ("release-assistant", "Be careful.")
    assert parsed.limits == Limits(
        steps=Limit(value=10), calls=Limit(value=5, hard=False), total_seconds=Limit(value=60)
    )
    assert [tool["name"] for tool in parsed.tools] == ["notify_team"]
    assert [server["name"] for server in parsed.servers] == ["ledger", "remote"]
    assert (parsed.plugins, parsed.output_schema) == (("release-kit",), {"type": "object"})
    assert parsed.skills is None
    assert (parsed.data, parsed.warnings) == (FULL, ())


def test_the_least_manifest_has_the_usual_limits_and_a_warning():
    parsed = parse({"name": "a", "model": {"provider": "scripted"}})

    assert (parsed.limits, parsed.tools, parsed.description) == (Limits(), (), "")
    assert parsed.warnings == ("It has no instructions for the model.",)


def test_a_chat_model_is_read():
    assert parse(changed(["model"], CHAT)).model == CHAT


STEP = ["model", "script", 0, "steps", 0]


@pytest.mark.parametrize(
    "path,value,place",
    [
        (["more"], 1, "more"),
        (["name"], None, "name"),
        (["name"], 3, "name"),
        (["name"], "Release", "name"),
        (["name"], "a" * 64, "name"),
        (["description"], "two\nlines", "description"),
        (["instructions"], ["x"], "instructions"),
        (["model"], "scripted", "model"),
        (["model"], {"provider": "Not a name"}, "model.provider"),
        (["model"], {"provider": "scripted", "base_url": "http://x"}, "model.base_url"),
        (["model", "script", 0, "when"], "(a+)+$", "model.script[0].when"),
        (["model", "script", 0], {"when": "x"}, "model.script[0].steps"),
        (["model", "script"], ["x"], "model.script[0]"),
        (STEP, "say", "model.script[0].steps[0]"),
        (STEP, {"says": 1}, "model.script[0].steps[0].says"),
        (STEP, {"slow": "1"}, "model.script[0].steps[0].slow"),
        (STEP, {"calls": {}}, "model.script[0].steps[0].calls"),
        (STEP, {"calls": [{"arguments": {}}]}, "model.script[0].steps[0].calls[0].tool"),
        (STEP, {"after": {"lost": []}}, "model.script[0].steps[0].after.lost"),
        (STEP, {"after": {"denied": [{"fail": "rate x"}]}},
         "model.script[0].steps[0].after.denied[0].fail"),
        (["model"], {**CHAT, "base_url": "file:///etc"}, "model.base_url"),
        (["model"], {**CHAT, "base_url": "http://u:p@x/"}, "model.base_url"),
        (["model"], {**CHAT, "key": "sk-123"}, "model.key"),
        (["model"], {**CHAT, "key": {"setting": "lower"}}, "model.key"),
        (["model"], {**CHAT, "timeout": 0}, "model.timeout"),
        (["model"], {**CHAT, "prices": {"input": -1}}, "model.prices.input"),
        (["model"], {**CHAT, "prices": {"in": 1}}, "model.prices.in"),
        (["tools"], {}, "tools"),
        (["tools", 0], 7, "tools[0]"),
        (["tools", 0, "more"], 1, "tools[0].more"),
        (["tools", 0, "name"], "two words", "tools[0].name"),
        (["tools", 0, "name"], "9x", "tools[0].name"),
        (["tools", 0, "kind"], "mcp", "tools[0].kind"),
        (["tools", 0, "method"], "FETCH", "tools[0].method"),
        (["tools", 0, "timeout"], "10", "tools[0].timeout"),
        (["tools", 0, "timeout"], True, "tools[0].timeout"),
        (["tools", 0, "repeatable"], 1, "tools[0].repeatable"),
        (["tools", 0, "on_uncertain"], "never", "tools[0].on_uncertain"),
        (["tools", 0, "input"], {**TOOL["input"], "bad": 1}, "tools[0].input"),
        (["tools", 0, "input"], {**TOOL["input"], "type": "string"}, "tools[0].input"),
        (["tools", 0, "output"], {"bad": 1}, "tools[0].output"),
        (["tools", 0, "headers"], [], "tools[0].headers"),
        (["tools", 0, "headers"], {"Host": "x"}, "tools[0].headers.Host"),
        (["tools", 0, "headers"], {"idempotency-key": "x"}, "tools[0].headers.idempotency-key"),
        (["tools", 0, "headers"], {"a b": "x"}, 'tools[0].headers["a b"]'),
        (["tools", 0, "headers"], {"X": "a\r\nb"}, "tools[0].headers.X"),
        (["tools", 0, "headers"], {"X": "ä"}, "tools[0].headers.X"),
        (["tools", 0, "headers"], {"X": {"setting": "A", "b": 1}}, "tools[0].headers.X"),
        (["tools", 0, "headers"], {"X": "1", "x": "2"}, "tools[0].headers.x"),
        (["servers", 0, "transport"], "sse", "servers[0].transport"),
        (["servers", 0, "command"], [], "servers[0].command"),
        (["servers", 0, "command"], "python x", "servers[0].command"),
        (["servers", 0, "command"], [1], "servers[0].command[0]"),
        (["servers", 0, "url"], "http://x", "servers[0].url"),
        (["servers", 0, "env"], {"A=B": "x"}, 'servers[0].env["A=B"]'),
        (["servers", 0, "env"], {"A": 1}, "servers[0].env.A"),
        (["servers", 0, "only"], [""], "servers[0].only[0]"),
        (["servers", 0, "tools"], {"publish": {"risk": 1}}, "servers[0].tools.publish.risk"),
        (["servers", 1, "url"], "ftp://x", "servers[1].url"),
        (["servers", 1, "command"], ["x"], "servers[1].command"),
        (["servers", 1, "name"], "ledger", "servers[1].name"),
        (["servers", 1, "name"], "a b", "servers[1].name"),
        (["servers", 0, "tools"], {"publish": 3}, "servers[0].tools.publish"),
        (["servers", 0, "tools"], [], "servers[0].tools"),
        (["plugins"], ["a", "a"], "plugins"),
        (["plugins"], ["../x"], "plugins[0]"),
        (["plugins"], ["a", "a@1.0"], "plugins"),
        (["plugins"], ["a@"], "plugins[0]"),
        (["skills"], ["a", "a"], "skills"),
        (["skills"], ["b", "Not a name"], "skills[1]"),
        (["skills"], ["notes@abc"], "skills[0]"),
        (["servers", 0, "name"], "a__b", "servers[0].name"),
        (["servers", 0, "name"], "Studio", "servers[0].name"),
        (["limits"], {"step": 1}, "limits.step"),
        (["limits"], {"steps": 0}, "limits.steps"),
        (["limits"], {"steps": True}, "limits.steps"),
        (["limits"], {"steps": {"hard": True}}, "limits.steps.value"),
        (["limits"], {"steps": {"value": 1, "hard": "no"}}, "limits.steps.hard"),
        (["output_schema"], {"bad": 1}, "output_schema"),
        (["output_schema"], True, "output_schema"),
    ],
)  # fmt: skip
def test_a_fault_is_told_at_its_place(path, value, place):
    found = faults(changed(path, value), bad_if_marked)

    assert list(found) == [place]
    assert found[place].endswith(".")


@pytest.mark.parametrize(
    "url",
    ["https://{team}.example.org/", "https://example.org:{release}/", "{team}://x/", "https://x/{",
     "https://x/{team", "https://x/team}", "https://x/{other}", "https://x/{}", "ftp://x/{team}",
     "//x/{team}", "https://a:b@x/", "https://x/#{team}", "https://x/ {team}", "https:///x",
     "https://x:99999/", "https://[::1/x"],
)  # fmt: skip
def test_a_bad_address_template_is_refused(url):
    assert list(faults(changed(["tools", 0, "url"], url))) == ["tools[0].url"]


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_tool_that_every_agent_has_cannot_be_described_again(name):
    assert "every agent has" in faults(changed(["tools", 0, "name"], name))["tools[0].name"]


def test_two_tools_cannot_have_one_name():
    assert list(faults(changed(["tools"], [TOOL, TOOL]))) == ["tools[1].name"]


def test_all_faults_are_told_at_once():
    found = faults({"name": "A", "more": 1, "limits": {"steps": 0}, "tools": [1]})

    assert set(found) == {"name", "more", "limits.steps", "tools[0]"}


@pytest.mark.parametrize("manifest", [None, 3, "x", [], [FULL]])
def test_what_is_no_object_is_no_manifest(manifest):
    assert list(faults(manifest)) == [""]


def nested(levels):
    value = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value,words",
    [
        (nested(64), "64 levels"),
        (nested(50_000), "64 levels"),
        ("x" * (1024 * 1024), "1,048,576 bytes"),
        ([1] * 600_000, "1,048,576 bytes"),
        (float("nan"), "not finite"),
        (float("inf"), "not finite"),
        (10**301, "300 digits"),
        ("a\0b", "null character"),
        ("\ud800", "half of a character"),
        ({1: 2}, "not text"),
        ({"a": b"x"}, "not JSON"),
        ((1, 2), "not JSON"),
    ],
)
def test_what_may_not_be_kept_is_refused_before_anything_reads_it(value, words):
    assert words in faults(changed(["output_schema"], {"const": value}))[""]


# Two versions -------------------------------------------------------------------------------------


def test_a_manifest_does_not_differ_from_itself():
    assert agent.diff(FULL, copy.deepcopy(FULL)) == []


@pytest.mark.parametrize(
    "path,value,lines",
    [
        (["instructions"], "Other.", ['instructions changed from "Be careful." to "Other."']),
        (["instructions"], "x" * 100, ["instructions changed"]),
        (["limits", "steps"], 11, ["limits: steps changed from 10 to 11"]),
        (["limits", "calls"], 5, ['limits: calls changed from {"value": 5, "hard": false} to 5']),
        (["model"], CHAT, ['model: provider changed from "scripted" to "chat"',
                           "model: script removed",
                           "model: name added", "model: base_url added", "model: key added",
                           "model: timeout added", "model: prices added"]),
        (["tools", 0, "timeout"], 20, ["tool notify_team: timeout changed from 10 to 20"]),
        (["tools"], [], ["tool notify_team removed"]),
        (["tools"], [{**TOOL, "name": "b"}, TOOL], ["tool b added"]),
        (["servers"], [REMOTE, STDIO], ["the order of servers changed"]),
        (["plugins"], [], ["plugins changed"]),
        (["output_schema"], None, ["output_schema removed"]),
    ],
)  # fmt: skip
def test_what_changed_is_said_by_field(path, value, lines):
    assert agent.diff(FULL, changed(path, value)) == lines


def test_a_tool_without_name_or_address_is_refused_field_by_field():
    found = faults(changed(["tools"], [{"kind": "http", "input": 3}]))

    assert set(found) == {
        "tools[0].name", "tools[0].method", "tools[0].url", "tools[0].input",
    }  # fmt: skip


def test_a_server_without_name_is_refused():
    assert set(faults(changed(["servers"], [{"transport": "http", "url": "http://x"}]))) == {
        "servers[0].name"
    }


def test_a_model_without_key_and_prices_is_enough():
    plain = {"provider": "chat", "name": "x", "base_url": "http://x/v1"}

    assert parse(changed(["model"], plain)).model == plain


def test_very_many_tools_are_refused_as_such():
    assert list(faults(changed(["tools"], [TOOL] * 201))) == ["tools"]


def test_skills_are_all_of_its_plugins_or_those_that_are_named():
    named = {**FULL, "plugins": ["kit@1.0"], "skills": ["notes", "kit/other", f"x@{'a' * 64}"]}

    parsed = parse(named)

    assert parsed.skills == ("notes", "kit/other", f"x@{'a' * 64}")
    assert parse({**FULL, "skills": []}).skills == ()


def test_a_kept_manifest_is_read_as_it_was_when_its_steps_had_no_rule():
    old = changed(STEP, {"slow": "slowly"})

    assert list(faults(old)) == ["model.script[0].steps[0].slow"]
    assert agent.parse(old, schema_problem=no_problem, is_kept=True).model == old["model"]
