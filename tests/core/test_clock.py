"""Ids of one clock: never the same twice, whoever asks, and in the order of time."""

from concurrent.futures import ThreadPoolExecutor

from studio.core.clock import DRAWN, TAKEN, Clock
from studio.core.rules import ids


def test_threads_that_ask_at_once_never_get_the_same_id() -> None:
    clock, each = Clock(), 3 * DRAWN // TAKEN
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: [clock.new_id("fct") for _ in range(each)], range(8)))
    assert len({one for some in made for one in some}) == 8 * each


def test_an_id_holds_its_time_and_its_chance() -> None:
    chance = bytes(range(1, 11))
    letters = ids.core(ids.make("trn", 1_700_000_000_000, chance))
    number = 0
    for letter in letters:
        number = number * 32 + ids.ALPHABET.index(letter)
    assert number == (1_700_000_000_000 << 80) | int.from_bytes(chance, "big")
    assert len(letters) == 26
