"""Files: their names, their limits, and what a model can be given."""

import pytest

from studio.core.rules import files
from studio.core.rules.errors import Invalid
from studio.core.rules.events import FileRef
from studio.core.rules.files import FileLimits, Found, Given

LIMITS = FileLimits()
EVERYTHING = frozenset({"text", "image", "pdf", "audio"})


def given(name: str, media: str, size: int = 10, **more: int) -> Given:
    ref = FileRef(artifact_id=f"art_{name}", version=1, name=name, media=media, size=size, hash="h")
    return Given(ref=ref, found=Found(media=media, size=size, hash="h", **more))


PNG = given("a.png", "image/png", width=10, height=10)
PDF = given("a.pdf", "application/pdf", pages=3)


@pytest.mark.parametrize(
    "name,clean",
    [
        ("a.txt", "a.txt"), ("C:\\fakepath\\a.txt", "a.txt"), ("/etc/passwd", "passwd"),
        ("../..", "file"), ("", "file"), ("a\nb\0.txt", "ab.txt"), (" a ", "a"),
        ("x" * 300 + ".csv", "x" * 196 + ".csv"), ("é" * 300, "é" * 200),
        ("\u202etxt.exe", "txt.exe"),
    ],
)  # fmt: skip
def test_a_name_from_outside_is_cleaned(name: str, clean: str) -> None:
    assert files.clean_name(name) == clean


@pytest.mark.parametrize("name", ["a.txt", "a/x.csv", "b/x.csv", "é", "x" * 200])
def test_a_chosen_name_may_have_folders(name: str) -> None:
    assert files.checked_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "x" * 201, "/a", "a//b", "../x", "a/..", "./a", "a\\b", "a\nb", "a\0", " a", "a/"]
)
def test_a_chosen_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        files.checked_name(name)

    assert refused.value.fields["name"]


@pytest.mark.parametrize(
    "part,reason",
    [
        (given("a", "image/png", width=8_001, height=1), "8,001 × 1 pixels"),
        (given("a", "image/png"), "does not say how large"),
        (given("a", "application/pdf", pages=200), "has 200 pages; 100 are allowed"),
        (given("a", "application/pdf", pages=-1), "locked"),
        (given("a", "application/pdf"), "broken"),
        (given("a", "audio/wav", size=24 * files.MIB + 1), "25,165,825 bytes"),
        (given("a", "text/plain", size=0), "empty"),
        (given("a", "image/tiff", width=1, height=1), "Send it as PNG"),
        (given("a", "application/zip"), "No model reads application/zip"),
    ],
)
def test_what_is_too_much_for_a_message_says_why(part: Given, reason: str) -> None:
    (refused,) = files.refused([part], EVERYTHING, LIMITS)

    assert reason in refused.reason


def test_what_the_model_reads_passes() -> None:
    parts = [PNG, PDF, given("a.wav", "audio/wav"), given("big.txt", "text/plain", size=90_000_000)]

    assert files.refused(parts, EVERYTHING, LIMITS) == []


def test_what_the_model_does_not_read_is_named() -> None:
    parts = [PNG, given("a.txt", "text/plain"), PDF]

    found = files.refused(parts, frozenset({"text", "image"}), LIMITS)
    refusal = files.refusal(found)

    assert refusal.code == "message.files"
    assert refusal.details["parts"] == [
        {"artifact": "art_a.pdf", "name": "a.pdf", "media": "application/pdf",
         "reason": "This agent's model does not read PDF files; it reads images and text."}
    ]  # fmt: skip


def test_text_is_read_by_every_model() -> None:
    assert files.refused([given("a.md", "text/markdown")], frozenset(), LIMITS) == []


def test_all_files_together_have_a_limit() -> None:
    half = given("a.wav", "audio/wav", size=12 * files.MIB + 1)

    (refused,) = files.refused([half, half], EVERYTHING, LIMITS)

    assert "With it" in refused.reason


def test_the_limit_of_pages_can_be_set() -> None:
    assert files.refused([PDF], EVERYTHING, FileLimits(pdf_pages=2))[0].reason.startswith(
        "It has 3 pages; 2 are allowed"
    )


def test_an_upload_becomes_the_same_artifact_each_time() -> None:
    assert files.artifact_of("upl_01abc") == "art_01abc"
    assert files.artifact_of_call("eff_01abcs001c002", 0) == "art_01abcs001c002r"
    assert files.artifact_of_call("eff_01abcs001c002", 1) == "art_01abcs001c002p1"
