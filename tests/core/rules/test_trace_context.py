"""The two headers of W3C Trace Context: sound ones count, others are as if they were not there."""

import pytest

from studio.core.rules import trace_context
from studio.core.rules.events import Caller
from studio.core.rules.excerpts import cut, cut_bytes
from studio.core.rules.spans import Names

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_sound_header_says_who_called():
    assert trace_context.caller([PARENT], ["a=1, b@v=2", "c=3"]) == Caller(
        trace_id=TRACE, span_id=SPAN, sampled=True, state="a=1,b@v=2,c=3"
    )
    unsampled = trace_context.caller([f"00-{TRACE}-{SPAN}-00"])
    assert unsampled == Caller(trace_id=TRACE, span_id=SPAN, sampled=False)


def test_a_later_version_may_say_more():
    assert trace_context.caller([f"cc-{TRACE}-{SPAN}-01-what-comes"]) is not None
    assert trace_context.caller([f"cc-{TRACE}-{SPAN}-01.what"]) is None


@pytest.mark.parametrize(
    "parents",
    [
        [], ["nonsense"], [PARENT, PARENT], [f"ff-{TRACE}-{SPAN}-01"], [PARENT + "-more"],
        [f"00-{'0' * 32}-{SPAN}-01"], [f"00-{TRACE}-{'0' * 16}-01"], [PARENT.upper()],
        [f"00-{TRACE[:-1]}-{SPAN}-01"], [f"00-{TRACE}-{SPAN}-1"], [f"00-{TRACE}-{SPAN}-0g"],
        [PARENT + "\n"], ["00-" + "٤" * 32 + f"-{SPAN}-01"],
    ],
)  # fmt: skip
def test_an_unsound_parent_is_no_caller(parents: list[str]):
    assert trace_context.caller(parents, ["a=1"]) is None


@pytest.mark.parametrize(
    "state",
    [
        "a", "=1", "a=", "A=1", "a=1,a=2", "a=x=y", "a=b\tc", "a=ö", "a b=1",
        ",".join(f"k{n}=1" for n in range(33)), "a=" + "x" * 300,
    ],
)  # fmt: skip
def test_an_unsound_state_is_left_out_alone(state: str):
    found = trace_context.caller([PARENT], [state])

    assert found == Caller(trace_id=TRACE, span_id=SPAN)


def test_what_goes_out_is_in_the_callers_trace_and_keeps_our_spans():
    caller = Caller(trace_id=TRACE, span_id=SPAN, sampled=False, state="a=1")
    own, theirs = Names(b"key", "trn_1"), Names(b"key", "trn_1", caller)

    assert theirs.trace == TRACE != own.trace
    assert theirs.root == own.root
    assert theirs.parent("x") == f"00-{TRACE}-{own.span('x')}-00"
    assert (theirs.state, own.state) == ("a=1", None)


@pytest.mark.parametrize("char", ["a", "ö", "€", "𝄞"])
def test_an_excerpt_ends_with_a_whole_character(char: str):
    found = cut("x" + char * 9_000)

    size = len(char.encode())
    assert set(found) == {"x", char}
    assert 8192 - size < len(found.encode()) <= 8192


def test_an_excerpt_of_what_is_no_text_is_no_longer_than_any():
    assert len(cut_bytes(b"\xff" * 9_000).encode()) <= 8192
    assert cut("half \ud800") == "half ?"
