"""What a manifest may say of an HTTP tool, and what is refused in words."""

import pytest

from studio.core.tools import http

SETTINGS = {"TOKEN": "s3cr3t", "EMPTY": ""}


def test_a_tool_tells_what_it_is():
    spec = http.described(
        {
            "name": "notify", "description": "Tells.", "method": "post", "url": "https://x.example/{a}",
            "input": {"type": "object", "required": ["a"]}, "repeatable": True, "terminal": True,
            "parallel": False, "on_uncertain": "tell", "timeout": 3,
        },
        {},
    ).spec  # fmt: skip

    assert spec.destination == "POST https://x.example/{a}"
    assert spec.schema == {"type": "object", "required": ["a"]}
    assert (spec.repeatable, spec.terminal, spec.parallel, spec.read_only) == (
        True, True, False, False,
    )  # fmt: skip
    assert (spec.on_uncertain, spec.timeout, spec.origin.kind) == ("tell", 3.0, "http")


def test_a_get_reads_only_unless_it_says_otherwise():
    entry = {"name": "x", "method": "GET", "url": "https://x.example/"}

    assert http.described(entry, {}).spec.read_only
    assert not http.described({**entry, "read_only": False}, {}).spec.read_only


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://y.example/"}, {"method": "PUT"}, {"description": "b"},
        {"input": {"type": "object", "title": "x"}}, {"headers": {"X-A": "1"}},
    ],
)  # fmt: skip
def test_a_changed_definition_has_another_hash(change):
    entry = {"name": "x", "method": "POST", "url": "https://x.example/", "description": "a"}

    assert http.described(entry, {}).spec.hash != http.described({**entry, **change}, {}).spec.hash


def test_a_setting_s_value_does_not_change_the_hash():
    entry = {
        "name": "x", "url": "https://x.example/", "headers": {"X-A": {"setting": "TOKEN"}},
    }  # fmt: skip

    one, two = (http.described(entry, {"TOKEN": value}) for value in ("aaaa", "bbbb"))

    assert one.spec.hash == two.spec.hash
    assert "aaaa" not in repr(one)


@pytest.mark.parametrize(
    "wrong,words",
    [
        ({"method": "TRACE"}, "method TRACE"),
        ({"url": "ftp://x.example"}, "http or https"),
        ({"url": "/relative"}, "http or https"),
        ({"url": "https://{host}/x"}, "only in path"),
        ({"url": "https://user:pass@x.example"}, "no user"),
        ({"url": "https://x.example:99999/"}, "cannot be read"),
        ({"url": "https://[::1/"}, "cannot be read"),
        ({"headers": {"Host": "evil"}}, "Host cannot be set"),
        ({"headers": {"idempotency-KEY": "x"}}, "cannot be set"),
        ({"headers": {"X-A": "a\r\nX-B: c"}}, "cannot be sent"),
        ({"headers": {"X A": "a"}}, "cannot be set"),
        ({"headers": {"X-A": {"setting": "MISSING"}}}, "STUDIO_SETTING_MISSING"),
        ({"headers": {"X-A": {"setting": "EMPTY"}}}, "STUDIO_SETTING_EMPTY"),
        ({"input": {"type": "nonsense"}}, "“input” is not a JSON Schema"),
        ({"output": {"type": "nonsense"}}, "“output” is not a JSON Schema"),
    ],
)
def test_a_tool_that_cannot_work_is_refused_in_words(wrong, words):
    entry = {"name": "x", "method": "POST", "url": "https://x.example/"}

    with pytest.raises(http.BadTool, match=words):
        http.described({**entry, **wrong}, SETTINGS)
