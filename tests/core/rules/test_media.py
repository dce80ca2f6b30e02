"""Media types: names, signatures, and what does not go together."""

import pytest

from studio.core.rules import media

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 16
PDF = b"%PDF-1.7\n%"
ZIP = b"PK\x03\x04" + b"\0" * 16
WAV = b"RIFF\x24\0\0\0WAVEfmt "
WEBP = b"RIFF\x24\0\0\0WEBPVP8 "
SIGNED = {
    "image/png": PNG, "image/jpeg": JPEG, "image/gif": b"GIF89a", "image/webp": WEBP,
    "application/pdf": PDF, "audio/wav": WAV, "audio/mpeg": b"ID3\x03", "audio/ogg": b"OggS\0",
    "audio/flac": b"fLaC\0", "application/zip": ZIP, "video/mp4": b"\0\0\0\x18ftypisom",
    "application/gzip": b"\x1f\x8b\x08", "application/msword": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
}  # fmt: skip
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize("name,head", SIGNED.items())
def test_bytes_are_known_by_their_beginning(name: str, head: bytes) -> None:
    assert media.sniffed(head) == name
    assert media.mismatch(name, head, utf8=False, size=99) == ""


@pytest.mark.parametrize("told", SIGNED)
@pytest.mark.parametrize("found", SIGNED)
def test_no_type_passes_for_another(told: str, found: str) -> None:
    wrong = media.mismatch(told, SIGNED[found], utf8=False, size=99)

    assert wrong == ("" if told == found else found)


@pytest.mark.parametrize(
    "head", [b"RIFF\0\0\0\0AVI ", b"XXXX\0\0\0\0WEBP", b"", b"hello", b"\xff\xfe"]
)
def test_other_bytes_are_known_by_nothing(head: bytes) -> None:
    assert media.sniffed(head) == ""


def test_a_pdf_may_have_some_bytes_before_it() -> None:
    assert media.sniffed(b"\n" * 1_000 + PDF) == "application/pdf"
    assert media.sniffed(b"\n" * 1_100 + PDF) == ""


@pytest.mark.parametrize("told", ["text/plain", "text/csv", "application/json", "image/svg+xml"])
def test_text_must_be_text(told: str) -> None:
    assert media.mismatch(told, b"hello", utf8=True, size=5) == ""
    assert media.mismatch(told, PNG, utf8=False, size=99) == "image/png"
    assert media.mismatch(told, b"\xff\xfeh\0", utf8=False, size=4) == "no UTF-8 text"


def test_text_does_not_pass_for_a_picture() -> None:
    assert media.mismatch("image/png", b"hello", utf8=True, size=5) == "text/plain"


def test_a_document_of_an_office_is_a_zip() -> None:
    assert media.mismatch(DOCX, ZIP, utf8=False, size=99) == ""
    assert media.mismatch(DOCX, PDF, utf8=False, size=99) == "application/pdf"


def test_what_has_no_signature_is_believed() -> None:
    assert media.mismatch("application/x-thing", PNG, utf8=False, size=99) == ""


def test_nothing_is_not_a_picture() -> None:
    assert media.mismatch("image/png", b"", utf8=True, size=0) == "empty"
    assert media.mismatch("text/plain", b"", utf8=True, size=0) == ""


@pytest.mark.parametrize(
    "name,declared,head,utf8,settled",
    [
        ("a.png", "image/png", PNG, False, "image/png"),
        ("a.jpg", "IMAGE/JPG; charset=x", JPEG, False, "image/jpeg"),
        ("a.md", "", b"# A", True, "text/markdown"),
        ("a.md", "application/octet-stream", b"# A", True, "text/markdown"),
        ("a.csv", "application/vnd.ms-excel", b"a,b", True, "text/csv"),
        ("a.ts", "video/mp2t", b"let a", True, "text/x-typescript"),
        ("a.ts", "video/mp2t", b"\x47\x40", False, "video/mp2t"),
        ("a.txt", "image/png", b"hello", True, "text/plain"),
        ("a.png", "image/png", b"hello", True, "image/png"),
        ("noend", "", PNG, False, "image/png"),
        ("noend", "", b"hello", True, "text/plain"),
        ("noend", "", b"\x00\x01", False, "application/octet-stream"),
    ],
)
def test_a_type_is_settled(name, declared, head, utf8, settled) -> None:
    assert media.settled(name, declared, head, utf8=utf8) == settled


@pytest.mark.parametrize(
    "declared",
    ["text/x\r\nset-cookie: a=b", "text/日本", "text", "/", "text/", "text/a b", "a/b/c",
     "text/" + "x" * 128, "text/x,y", 'text/"x"', "text/x\0", "-/x"],
)  # fmt: skip
def test_what_is_no_type_counts_as_none(declared: str) -> None:
    assert media.plain(declared) == ""
    assert media.settled("noend", declared, b"hello", utf8=True) == "text/plain"


@pytest.mark.parametrize(
    "of,kind",
    [
        ("text/markdown", "text"), ("application/json", "text"), ("application/ld+json", "text"),
        ("image/svg+xml", "text"), ("image/png", "image"), ("application/pdf", "pdf"),
        ("audio/wav", "audio"), ("video/mp4", "video"), ("application/zip", "archive"),
        (DOCX, "other"), ("application/octet-stream", "other"),
    ],
)  # fmt: skip
def test_a_type_is_of_a_kind(of: str, kind: str) -> None:
    assert media.kind(of) == kind


def test_a_type_has_its_usual_end() -> None:
    assert media.extension("image/png") == ".png"
    assert media.extension("text/plain") == ".txt"
    assert media.extension("application/x-thing") == ""
