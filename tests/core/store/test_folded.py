"""Folded sessions in memory: newest wins, the oldest leave, and the weight stays bounded."""

from studio.core.rules.session import Session
from studio.core.store import folded
from studio.core.store.folded import Folded


def test_the_newest_state_wins_whatever_comes_last() -> None:
    kept = Folded()
    kept.put(Session(id="ses_1", seq=5), 0)
    kept.put(Session(id="ses_1", seq=3), 0)

    assert kept.get("ses_1") == Session(id="ses_1", seq=5)
    assert kept.get("ses_2") is None


def test_the_oldest_leave_when_there_are_too_many() -> None:
    kept = Folded()
    for number in range(folded.SESSIONS):
        kept.put(Session(id=f"ses_{number}"), 0)
    kept.get("ses_0")
    kept.put(Session(id="ses_new"), 0)

    assert kept.get("ses_0") is not None
    assert kept.get("ses_1") is None


def test_the_weight_is_bounded_however_much_a_session_grows() -> None:
    kept = Folded()
    heavy = folded.BYTES // folded.HEAVIEST
    for number in range(heavy + 10):
        kept.put(Session(id=f"ses_{number}"), 10 * folded.HEAVIEST)
    for seq in range(100):
        kept.put(Session(id=f"ses_{heavy + 9}", seq=seq), folded.HEAVIEST)

    left = [n for n in range(heavy + 10) if kept.get(f"ses_{n}") is not None]
    assert len(left) == heavy
    assert left[-1] == heavy + 9
