"""Secrets are found by value in every form, whole or in pieces, and nothing else is changed."""

import base64
import html
import json
import re
import time
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core.masking import Mask, Running

SECRET = 'pa"ss/wörd&1+x'
PLAIN = "sk-0123456789abcdefXYZ"
MARK = "[masked: S]"
CASES = [SECRET, PLAIN, "12345678", "Zm9vYmFyYmF6", "schlüssel§", "two\nlines of it"]


def mask(*secrets: str) -> Mask:
    return Mask([("S", secret) for secret in secrets])


def forms(secret: str) -> dict[str, str]:
    raw = secret.encode()
    return {
        "raw": secret,
        "json": json.dumps(secret)[1:-1],
        "json, letters kept": json.dumps(secret, ensure_ascii=False)[1:-1],
        "json, slashes escaped": json.dumps(secret)[1:-1].replace("/", "\\/"),
        "json in json": json.dumps(json.dumps(secret)[1:-1])[1:-1],
        "url": quote(secret, safe=""),
        "url with slashes": quote(secret),
        "form": quote_plus(secret),
        "url in small letters": re.sub("%..", lambda found: found[0].lower(), quote(secret)),
        "html": html.escape(secret),
        "hex": raw.hex(),
        "HEX": raw.hex().upper(),
        "base64": base64.b64encode(raw).decode(),
        "base64 for urls": base64.urlsafe_b64encode(raw).decode(),
        "base64, bare": base64.b64encode(raw).decode().rstrip("="),
    }  # fmt: skip


ALL = [(name, secret) for secret in CASES for name in forms(secret)]


@pytest.mark.parametrize("name,secret", ALL)
def test_every_form_is_masked(name, secret):
    form = forms(secret)[name]

    assert mask(secret).text(f"<{form}>") == f"<{MARK}>"


@pytest.mark.parametrize("before", range(5))
@pytest.mark.parametrize("behind", range(4))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_found_at_any_alignment(before, behind, encode):
    coded = encode(b"u" * before + SECRET.encode() + b":" * behind).decode()

    masked = mask(SECRET).text(coded)
    left, right = masked.split(MARK)

    assert 6 * len(left) <= 8 * before  # not a bit of the secret is left on either side
    assert 6 * len(right.rstrip("=")) < 8 * behind + 6


def test_a_word_before_the_token_hides_nothing():
    masked = mask(f"Bearer {PLAIN}")

    assert masked.text(f"token={PLAIN}") == f"token={MARK}"


def test_names_of_fields_and_shorter_words_stay():
    value = {"nextToken": "abc", "token": PLAIN[:-1], "n": [1, None, True, 1.5, "x"]}

    assert mask(PLAIN).value(value) == value


def test_values_under_eight_characters_are_left_alone():
    assert (
        Mask([("S", "a"), ("T", ""), ("U", "seven77")]).text("banana seven77") == "banana seven77"
    )


def test_a_value_is_masked_in_names_and_deep_inside():
    hidden = mask(PLAIN).hide({PLAIN: [{"a": f"x{PLAIN}y{PLAIN}"}]})

    assert hidden.value == {MARK: [{"a": f"x{MARK}y{MARK}"}]}
    assert hidden.count == 3


def test_a_number_that_is_the_secret_is_masked():
    assert mask("12345678").value({"pin": 12345678, "n": 7}) == {"pin": MARK, "n": 7}


@pytest.mark.parametrize(
    "value",
    [
        [PLAIN[:9], PLAIN[9:]],
        [{"type": "text", "text": f"a {PLAIN[:9]}"}, {"type": "text", "text": f"{PLAIN[9:]} b"}],
        {"one": PLAIN[:4], "two": PLAIN[4:]},
        [PLAIN[:5], PLAIN[5:10], PLAIN[10:]],
        [[PLAIN[:5]], [PLAIN[5:]]],
    ],
)
def test_a_secret_in_pieces_is_masked_in_every_piece(value):
    hidden = mask(PLAIN).hide(value)

    text = json.dumps(hidden.value)
    assert hidden.count >= 1
    assert not any(PLAIN[at : at + 4] in text for at in range(len(PLAIN) - 3))


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("name", ["raw", "base64", "json", "hex"])
def test_text_that_comes_in_pieces_never_shows_a_part_of_a_secret(size, name):
    form = forms(SECRET)[name]
    running = mask(SECRET).running()
    shown = []
    for piece in pieces(f"It is {form}, and that is all.", size):
        running.add(piece)
        shown.append(running.shown())

    assert shown[-1] == f"It is {MARK}, and that is all."
    assert not any(form[at : at + 5] in text for text in shown for at in range(len(form) - 4))


def test_long_text_in_pieces_is_what_it_is_whole():
    text = "".join(f"{n} {PLAIN if n % 97 == 0 else 'wörds'} " for n in range(20_000))
    running = mask(PLAIN).running()

    for piece in pieces(text, 1009):
        running.add(piece)

    assert running.shown() == mask(PLAIN).text(text)


def test_lines_that_go_on_with_each_other_show_no_part():
    running = Running(mask(PLAIN))

    said = [running.line(words) for words in ("at " + PLAIN[:9], PLAIN[9:15], PLAIN[15:] + " ok")]

    assert said == [f"at {MARK}", MARK, f"{MARK} ok"]
    assert running.count == 3


def test_secrets_that_are_replaced_are_masked_for_everyone_who_has_the_mask():
    shared = mask("old-value-1")

    shared.put([("S", "new-value-1")])

    assert shared.text("old-value-1 new-value-1") == f"old-value-1 {MARK}"


def test_half_a_character_is_no_hindrance():
    text = f"\ud83d {PLAIN} \udc00"

    assert mask(PLAIN).text(text) == f"\ud83d {MARK} \udc00"


LETTERS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)


@settings(max_examples=300, deadline=None)
@given(LETTERS, LETTERS, st.sampled_from(CASES), st.data())
def test_masking_changes_the_matches_and_nothing_more(before, behind, secret, data):
    name = data.draw(st.sampled_from(["raw", "url", "hex"]))
    form = forms(secret)[name]
    if form in before + behind or secret in before + behind:
        return

    hidden = mask(secret).hide(before + form + behind)

    assert hidden.value.startswith(before[: max(0, len(before) - 3)])
    assert form not in hidden.value
    assert mask(secret).text(before) == before


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | LETTERS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LETTERS, inner, max_size=4),
))  # fmt: skip
def test_what_holds_no_secret_comes_back_as_it_was(value: Any):
    assert mask("no such value at all").value(value) == value


def test_it_is_fast_enough_to_be_done_to_everything():
    many = Mask([(f"S{n}", f"sk-{n:04d}-{'abcdef' * 4}{n * 7919}") for n in range(40)])
    words = [f"{n * 2654435761 % 2**32:x}" for n in range(3_600)]
    text, rows = " ".join(words)[:32_768], [{"id": n, "name": word} for n, word in enumerate(words)]
    rows = rows[:1_000]

    def cost(value: Any) -> float:
        best = 1.0
        for _ in range(20):
            begun = time.perf_counter()
            many.hide(value)
            best = min(best, time.perf_counter() - begun)
        return best

    assert cost(text) < 0.004  # about 0.3 ms on a machine that is not busy
    assert cost(rows) < 0.008
