"""Facts and folded sessions survive the way to JSON and back."""

import inspect
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.session import Session, apply
from studio.core.store import codec
from tests.core.store import stories

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


def facts(seed: int) -> list[e.Fact]:
    """The facts of a story."""
    told = [event for append in stories.tell(Random(seed), 80) for event in append.events]
    return [
        e.Fact(session_id="ses_1", seq=n, position=n, id=f"fct_{n}", time=n, actor="runtime",
               evidence=event.EVIDENCE, event=event)
        for n, event in enumerate(told, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_every_fact_of_a_story_comes_back_as_it_was(seed: int) -> None:
    for fact in facts(seed):
        row = (fact.session_id, fact.seq, fact.position, fact.id, fact.time, fact.actor)
        payload = codec.payload(fact.event)

        assert codec.fact((*row, fact.evidence, fact.event.TYPE, payload)) == fact


def test_every_class_of_event_is_told_by_some_story() -> None:
    told = {type(fact.event) for seed in range(120) for fact in facts(seed)}

    journals = ("agent", "plugin", "skill", "policy", "key", "person", "secret", "secrets",
                "probe", "provider", "view", "outside_trace", "outside_sender")  # fmt: skip
    others = {kind for kind in e.EVENTS.values() if kind.TYPE.partition(".")[0] in journals}
    others |= {e.DefaultModelChosen, *e.OF_ENVIRONMENTS}
    assert told == set(e.EVENTS.values()) - others


@pytest.mark.parametrize("seed", range(8))
def test_a_session_comes_back_from_its_checkpoint(seed: int) -> None:
    session = Session(id="ses_1")
    for fact in facts(seed):
        session = apply(session, fact)

        assert codec.from_checkpoint(codec.checkpoint(session)) == session


def test_a_checkpoint_is_of_every_file_that_has_facts_in_it() -> None:
    kinds = [e.Fact, e.Event, Session, *e.EVENTS.values()]

    assert {Path(inspect.getfile(kind)) for kind in kinds} < set(codec.fold_sources())


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_any_json_value_comes_back_and_can_be_kept_as_text(value: Any) -> None:
    event = e.TurnCompleted(turn_id="trn_1", output=contents.of(value))
    payload = codec.payload(event)

    payload.encode()
    assert "\x00" not in payload
    assert codec.event("turn.completed", payload) == event


def test_half_a_surrogate_pair_and_zero_characters_can_be_kept() -> None:
    event = e.TurnFailed(turn_id="trn_1", code="x", message="\ud800 and \x00 and Grüße")
    payload = codec.payload(event)

    payload.encode()
    assert codec.event("turn.failed", payload) == event


def test_arguments_keep_the_order_the_model_wrote_them_in() -> None:
    event = e.TurnCompleted(turn_id="trn_1", output=contents.of({"to": 1, "body": 2, "an": 3}))

    back = codec.event("turn.completed", codec.payload(event))

    assert isinstance(back, e.TurnCompleted)
    assert back.output is not None
    assert list(back.output.value) == ["to", "body", "an"]


def test_fields_of_a_newer_program_are_left_out() -> None:
    event = codec.event("turn.started", '{"turn_id":"trn_1","mood":"good"}')

    assert event == e.TurnStarted(turn_id="trn_1")


def test_fields_an_older_program_did_not_write_get_their_defaults() -> None:
    made = codec.event("person.signed_in", '{"person":"alice","role":"admin"}')
    settled = codec.event("call.failed", '{"turn_id":"t","effect_id":"e","code":"c","message":"m"}')

    assert made == e.SignedIn(person="alice", role="admin")
    assert settled == e.CallFailed(turn_id="t", effect_id="e", code="c", message="m")


def test_contents_of_a_class_are_found_by_their_type() -> None:
    for kind in e.EVENTS.values():
        named = {f.name for f in fields(kind) if "Content" in str(f.type)}  # type: ignore[arg-type]

        assert set(codec.contents_of(kind)) == named
