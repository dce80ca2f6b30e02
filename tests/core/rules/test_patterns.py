"""Regular expressions: what could run for seconds is refused, what people write is taken."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.core.rules import effort, patterns

# Each takes seconds, hours or for ever on some text of a few thousand letters.
CATASTROPHIC = [
    "(?>(a+)+)$", "(?:(?>a|aa))+$",
    "(a+)+$", "(a*)*b", "(a|a)*b", "(a|aa)+$", "(.*a){20}", "(.*)*x", "a*a*b$", "(x+x+)+y",
    ".*a.*b.*c.*d", "a.*b.*c.*d", r"(\w+\s?)*$", r"^(\d+)*$", "(a?){30}a{30}", "([a-zA-Z]+)*$",
    "(?:a{0,50}){0,50}b", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"\s*\s*$", "(a+a+)+b", ".*.*.*x",
    "(?:(?:a?)*)*", "(a|b|ab)*c", "(.+)+", "^(a?b?c?)*$", "(?:a+){2,}b", "(a+|b+)*c",
    r"^(\w+\.?)*@", r"(\d+\.?\d*)*x", "((a{1,99}){1,99})x", "(a+?)+?b", "(?:a*b*)*c",
    r"<(\w+)(\s*\w+=\w*)*\s*>x", r"(?:\s|\s)+$", "(?s:.*)(?s:.*)(?s:.*)z", "(ab?|a)*c{2}x(a|aa)*d",
    r"[a-z]+\d*[a-z]+\d*[a-z]+!", "(?i)(k|K)+x",
]  # fmt: skip
UNSUPPORTED = [
    (r"(a)(?:\1)+", "refers back"), (r"(a)(?>b\1)+", "refers back"),
    ("(?=a)b", "looks ahead"), ("(?!a)b", "looks ahead"), ("(?<=a)b", "looks ahead or behind"),
    ("(?<!a)b", "looks ahead or behind"), ("(?!)", "looks ahead"), (r"(a)\1", "refers back"),
    ("(?P<n>a)(?P=n)", "refers back"), ("(a)?(?(1)b|c)", "refers back"),
    ("a{1,5000}", "repeats more than 1,000 times"), ("a{5000}", "repeats more than 1,000 times"),
    ("(ab){1,5000}c", "repeats more than 1,000 times"), ("(", "is not a regular expression"),
    ("[", "is not a regular expression"), (r"\p{L}", "is not a regular expression"),
    ("a**", "is not a regular expression"), ("x" * 501, "is longer than 500 characters"),
    ("(?:" * 160 + ")" * 160, None), ("(?:a" * 80 + ")+" * 80, "could take too long"),
]  # fmt: skip
USUAL = [
    "(?>a+)b", "a++b", "(?:(?>ab)c)*d", "(?:a(?i:b))+c",
    "", ".*", "x*", ".*prod", "^.*prod.*$", "error.*timeout", "a.*b", "^prod-", "rm -rf",
    r"(?i)drop\s+table", r"(?i)delete\s+from\s+\w+", "^(dev|staging|prod)$", "git push.*--force",
    "git push.*(--force|-f)", "(foo|bar).*(baz|qux)", r"\bDROP\b.*\bTABLE\b",
    "release (.*) to (.*)",
    r"^[^@\s]+@[^@\s]+\.[^@\s]+$", r"^(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,63}$", r"\S+@\S+",
    r"^https://[a-z.]+/", r"https?://[^/\s]+/.*\.sh", r"^/etc/|\.\./", r"(^|/)\.env(\.|$)",
    r"\.(pem|key)$", "secret|token|password", "(ab)*c", "[A-Z]{2,5}-[0-9]+",
    r"^v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$", r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$",
    "(?:[a-z]+,)*;",
    r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", r"^\d{4}-\d\d-\d\d$",
    "[A-Za-z0-9+/]{40,}={0,2}", r"curl .*\| *sh", '"[^"]*"', "<[^>]+>", "DELETE FROM .* WHERE",
]  # fmt: skip


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_a_pattern_that_can_run_for_seconds_is_refused(pattern):
    assert "could take too long" in patterns.check(pattern)
    assert patterns.matches(pattern, "a") is None


@pytest.mark.parametrize("pattern,words", UNSUPPORTED)
def test_what_is_not_supported_is_refused_with_the_reason(pattern, words):
    if words is None:
        patterns.check(pattern)
    else:
        assert words in patterns.check(pattern)


@pytest.mark.parametrize("pattern", USUAL)
def test_what_people_write_is_taken(pattern):
    assert patterns.check(pattern) is None


@pytest.mark.parametrize(
    "pattern,text,found",
    [
        ("prod", "my-prod-db", True), ("^prod", "my-prod", False), ("^prod$", "prod\n", True),
        (".*b", "a\nab", True), (".*c", "a\nab", False), (".*?b$", "a\nb", True),
        ("(?i)DROP", "drop", True), ("(?s).*b", "a\nb", True), ("", "", True),
        ("a|.*z", "xyz", True), (r"\bx\b", "a x b", True), ("ü", "über", True),
        ("(?m)^b", "a\nb", True),
    ],
)  # fmt: skip
def test_a_pattern_is_searched_anywhere_in_the_text(pattern, text, found):
    assert patterns.matches(pattern, text) is found


def test_a_text_that_is_too_long_cannot_be_checked():
    assert patterns.matches("a", "a" * 4_096) is True
    assert patterns.matches("a", "a" * 4_097) is None


ATOMS = st.sampled_from(["a", "b", ".", r"\w", "[ab]", "[^a]", "ab", "^", "$", r"\b", "(?:a|b)"])
QUANTIFIERS = st.sampled_from(["", "", "*", "+", "?", "*?", "{2}", "{1,3}", "{2,}"])


@st.composite
def any_pattern(draw, depth=2):
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        inner = depth and draw(st.booleans())
        atom = f"({draw(any_pattern(depth=depth - 1))})" if inner else f"(?:{draw(ATOMS)})"
        parts.append(atom + draw(QUANTIFIERS))
    return ("|" if draw(st.integers(0, 4)) == 0 else "").join(parts)


@given(any_pattern(), st.text(alphabet="ab\n ", max_size=12))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_a_pattern_that_is_taken_says_what_search_says(pattern, text):
    if patterns.check(pattern) is None:
        assert patterns.matches(pattern, text) is (re.search(pattern, text) is not None)


@given(any_pattern())
@settings(deadline=None, derandomize=True, max_examples=150)
def test_a_longer_text_never_makes_a_refused_pattern_good(pattern):
    tree = patterns._parse(pattern)

    if effort.fault(tree, 1_024) is not None:
        assert effort.fault(tree, 4_096) is not None


TEXTS = ["a" * 4_096, "ab" * 2_048, "a" * 4_095 + "!", "b" * 2_000 + "a" * 2_000, "a b" * 1_365]


@pytest.mark.parametrize("pattern", USUAL)
def test_what_is_taken_answers_on_hostile_texts(pattern):
    for text in TEXTS:
        assert patterns.matches(pattern, text) is not None
