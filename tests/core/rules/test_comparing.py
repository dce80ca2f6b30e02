"""Two turns side by side: aligned steps, and where they first differ."""

from studio.core.rules import comparing, traces
from studio.core.rules.comparing import Comparison
from studio.core.rules.spans import Mark, Told, Trace, Work

T0 = 1_700_000_000_000


def turn(name: str, *tools: str, took: int = 100, state: str = "succeeded") -> Trace:
    """A turn that asks a model, then calls these tools one after the other."""
    told = Told(
        id=f"trn_{name}", session_id="ses_1", number=1, agent="helper", agent_version=1,
        status="completed", opened=T0, ended=T0 + took * (len(tools) + 1),
    )  # fmt: skip
    works = [Work(id=f"{name}m", kind="model", tool="claude", step=1, state="succeeded", cost=0.5)]
    facts = [
        Mark(seq=1, type="model.requested", time=T0, effect_id=f"{name}m"),
        Mark(seq=2, type="model.replied", time=T0 + took, effect_id=f"{name}m"),
    ]
    for at, tool in enumerate(tools, 1):
        works.append(Work(id=f"{name}{at}", kind="mcp", tool=tool, step=1, state=state))
        for word, moment in (("started", at), (state, at + 1)):
            facts.append(
                Mark(seq=2 * at + len(facts), type=f"call.{word}", time=T0 + took * moment,
                     effect_id=f"{name}{at}")
            )  # fmt: skip
    return traces.trace(told, facts, works, [], key=b"k", now=T0)


def changes(found: Comparison) -> list[str]:
    return [pair.change for pair in found.pairs]


def test_equal_turns_have_no_difference() -> None:
    found = comparing.compare(turn("a", "look", "dig"), turn("b", "look", "dig", took=250), {})

    assert changes(found) == ["same", "same", "same"]
    assert found.first is None
    assert [pair.slower for pair in found.pairs] == [150, 150, 150]


def test_a_step_that_only_one_took_stands_alone_and_the_rest_stays_aligned() -> None:
    found = comparing.compare(turn("a", "look", "dig"), turn("b", "look", "ask", "dig"), {})

    assert changes(found) == ["same", "same", "right", "same"]
    assert found.first == 2
    assert found.pairs[2].left is None


def test_other_arguments_and_another_outcome_are_told_apart() -> None:
    hashes = {"a1": "x", "b1": "y", "a2": "z", "b2": "z"}

    other = comparing.compare(turn("a", "look", "dig"), turn("b", "look", "dig"), hashes)
    failed = comparing.compare(turn("a", "look"), turn("b", "look", state="failed"), {})

    assert changes(other) == ["same", "arguments", "same"]
    assert changes(failed) == ["same", "outcome"]


def test_an_unknown_cost_stays_unknown() -> None:
    one, two = turn("a"), turn("b")
    told = Told(
        id="trn_c", session_id="ses_1", number=1, agent="helper", agent_version=1,
        status="completed", opened=T0, ended=T0 + 10,
    )  # fmt: skip
    works = [Work(id="c", kind="model", tool="claude", step=1, state="failed")]
    facts = [
        Mark(seq=1, type="model.requested", time=T0, effect_id="c"),
        Mark(seq=2, type="model.failed", time=T0 + 5, effect_id="c"),
    ]
    unknown = traces.trace(told, facts, works, [], key=b"k", now=T0)

    costs = dict(comparing.totals([one, two, unknown]))["cost"]

    assert costs == [0.5, 0.5, None]


def test_a_call_that_ended_otherwise_says_that_its_arguments_differ_too() -> None:
    hashes = {"a1": "one", "b1": "two"}

    found = comparing.compare(turn("a", "look"), turn("b", "look", state="failed"), hashes)

    assert changes(found) == ["same", "outcome"]
    assert [pair.is_other for pair in found.pairs] == [False, True]
