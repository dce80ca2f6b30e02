"""Files: the limits they have, the names they may bear, and which of them a model can be given."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from studio.core.rules import ids, media
from studio.core.rules.errors import Invalid
from studio.core.rules.events import ArtifactSaved, FileRef

MIB = 1024 * 1024
UPLOAD_BYTES = 100 * MIB
NAME_CHARACTERS = 200
PARTS = 100  # of one message
IMAGE_SIDE = 8_000  # pixels
PDF_PAGES = 100
GIVEN_BYTES = 24 * MIB  # of all files that one message gives to a model
TEXT_BYTES = 128 * 1024  # of all text files that one message gives to a model
PAGE_BYTES = 32 * 1024 - 512  # of what read_artifact gives at once, with words about it 32 KiB
FOLDER_BYTES = 1024 * MIB  # of the files of one folder
FOLDER_NAMES = 20_000  # of a folder, those of folders and links below it too
KIND_WORDS = {"image": "images", "pdf": "PDF files", "audio": "audio", "text": "text"}


@dataclass(frozen=True, kw_only=True)
class FileLimits:
    """What can be set: bytes of one upload, pages of a PDF that is given to a model.

    `folder_bytes` and `folder_names` bound a folder that is kept whole.
    """

    upload_bytes: int = UPLOAD_BYTES
    pdf_pages: int = PDF_PAGES
    folder_bytes: int = FOLDER_BYTES
    folder_names: int = FOLDER_NAMES


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found out about a file's bytes. `width` and `height` are pixels, 0 when unknown.

    Of a folder `hash` is the digest of its tree; `files`, `skipped`, `moving` are as in the fact.
    """

    media: str
    size: int
    hash: str
    width: int = 0
    height: int = 0
    pages: int = 0
    files: int = 0
    skipped: tuple[str, ...] = ()
    moving: tuple[str, ...] = ()

    @property
    def is_folder(self) -> bool:
        """It is a folder, whose bytes lie in the store of disk versions."""
        return self.media == media.FOLDER


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file that is to go with a message: a person's upload, or an artifact of the session."""

    upload_id: str = ""
    artifact_id: str = ""
    version: int | None = None


@dataclass(frozen=True, kw_only=True)
class Given:
    """A file as it stands in the store. `is_new`: it becomes a version of an artifact now.

    `source` and `by` are then those of the fact; without `by` it is the tool.
    """

    ref: FileRef
    found: Found
    is_new: bool = False
    source: Literal["upload", "agent", "result"] = "result"
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A part that cannot go to the model, and why."""

    ref: FileRef
    reason: str


def saved(
    given: Given, *, source: Literal["upload", "agent", "result"], by: str,
    turn_id: str | None = None, effect_id: str | None = None,
) -> ArtifactSaved:  # fmt: skip
    """The fact that a version is kept."""
    ref, found = given.ref, given.found
    return ArtifactSaved(
        artifact_id=ref.artifact_id, version=ref.version, name=ref.name, media=ref.media,
        size=ref.size, hash=ref.hash, source=source, by=by, turn_id=turn_id, effect_id=effect_id,
        width=found.width, height=found.height, pages=max(found.pages, 0), files=found.files,
        skipped=found.skipped, moving=found.moving,
    )  # fmt: skip


def new_version(artifact_id: str, version: int, name: str, found: Found) -> Given:
    """What was found, as a version that becomes one now."""
    ref = FileRef(
        artifact_id=artifact_id, version=version, name=name, media=found.media, size=found.size,
        hash=found.hash,
    )  # fmt: skip
    return Given(ref=ref, found=found, is_new=True)


def clean_name(name: str) -> str:
    """A file's name from outside: its last part, on one line, cut where it is too long."""
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(letter for letter in last if letter.isprintable()).strip(" .")
    if len(kept) > NAME_CHARACTERS:
        stem, dot, end = kept.rpartition(".")
        tail = dot + end if stem and len(end) <= 12 else ""
        kept = (stem or kept)[: NAME_CHARACTERS - len(tail)] + tail
    return kept or "file"


def checked_name(name: str) -> str:
    """A name that an agent or a program chose; it may have folders. Invalid says what is wrong."""
    parts = name.split("/")
    odd = not name.isprintable() or "\\" in name or name != name.strip()
    if not name or len(name) > NAME_CHARACTERS or odd:
        raise _bad_name(f"A name has 1 to {NAME_CHARACTERS} printable characters, on one line.")
    if any(part in ("", ".", "..") for part in parts):
        raise _bad_name("A name is relative: no empty part, no '.' and no '..' between slashes.")
    return name


def _bad_name(words: str) -> Invalid:
    return Invalid(f"This is no name for a file. {words}", code="file.name", fields={"name": words})


def artifact_of(upload_id: str) -> str:
    """The artifact that an upload becomes: the same one whenever it is sent."""
    return f"art_{ids.core(upload_id)}"


def artifact_of_call(effect_id: str, number: int) -> str:
    """The n-th artifact of a call; 0 is its whole result."""
    return f"art_{ids.core(effect_id)}{f'p{number}' if number else 'r'}"


def of_other_type(name: str, told: str, found: str) -> Invalid:
    """The refusal of bytes that are not what they are said to be."""
    words = f"“{name}” is said to be {told}, but its bytes are {found}."
    return Invalid(
        f"{words} Nothing was kept. Send it under its own type.", code="file.type",
        fields={"file": words}, details={"name": name, "declared": told, "found": found},
    )  # fmt: skip


def unfit(found: Found, name: str, limits: FileLimits) -> str:
    """Why a file is too much for a message, whatever the model; empty when it is not."""
    kind = media.kind(found.media)
    if not found.size:
        return "It is empty."
    if kind == "image":
        if max(found.width, found.height) > IMAGE_SIDE:
            return (
                f"It has {found.width:,} × {found.height:,} pixels; {IMAGE_SIDE:,} a side are "
                "allowed."
            )
        if found.media in media.INLINE_IMAGES and not found.width:
            return "Its header is broken: it does not say how large the picture is."
    if kind == "pdf":
        if found.pages < 0:
            return "It is locked with a password. Save it without one."
        if not found.pages:
            return "It cannot be read as a PDF: it is broken."
        if found.pages > limits.pdf_pages:
            return f"It has {found.pages:,} pages; {limits.pdf_pages:,} are allowed."
    if kind in ("image", "pdf", "audio") and found.size > GIVEN_BYTES:
        return f"It has {found.size:,} bytes; a message gives a model {GIVEN_BYTES:,} at most."
    return ""


def refused(
    given: Sequence[Given], reads: frozenset[str], limits: FileLimits
) -> list[Refusal]:  # fmt: skip
    """The files that cannot go to a model that reads these kinds, each with its reason."""
    found, total = list[Refusal](), 0
    for item in given:
        reason = unreadable(item.ref.media, reads) or unfit(item.found, item.ref.name, limits)
        if not reason and media.kind(item.ref.media) != "text":
            total += item.ref.size
            if total > GIVEN_BYTES:
                reason = f"With it the message gives more than {GIVEN_BYTES:,} bytes to the model."
        if reason:
            found.append(Refusal(ref=item.ref, reason=reason))
    return found


def unreadable(of_media: str, reads: frozenset[str]) -> str:
    """Why a model that reads these kinds cannot be given a file of this type; empty when it can."""
    kind = media.kind(of_media)
    if of_media == media.FOLDER:
        return "It is a folder, and a message carries files. Name it in words: the agent reads it."
    if kind == "image" and of_media not in media.INLINE_IMAGES:
        return f"No model reads {of_media}. Send it as PNG, JPEG, GIF or WebP."
    if kind in reads or kind == "text":
        return ""
    if kind not in KIND_WORDS:
        return f"No model reads {of_media}."
    known = sorted(KIND_WORDS[word] for word in reads if word in KIND_WORDS)
    return f"This agent's model does not read {KIND_WORDS[kind]}; it reads {_listed(known)}."


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) or "text"


def left_out(model: str, found: Sequence[Refusal]) -> str:
    """What a fallback would not be given; the message goes, as the first model reads it."""
    names = _listed([f"“{item.ref.name}”" for item in found])
    kinds = _listed(sorted({item.ref.media for item in found}))
    return f"Were the fallback {model} asked, it would not be given {names}: it reads no {kinds}."


def refusal(found: Sequence[Refusal], *, able: str = "") -> Invalid:
    """One refusal for all parts that cannot be sent; `able` is a fallback that reads them all."""
    first = f"“{found[0].ref.name}”: {found[0].reason}"
    more = f" So are {len(found) - 1} more." if len(found) > 1 else ""
    other = f" Its fallback {able} does; choose that model for the session." if able else ""
    parts = [
        {"artifact": item.ref.artifact_id, "name": item.ref.name, "media": item.ref.media,
         "reason": item.reason}
        for item in found
    ]  # fmt: skip
    return Invalid(
        f"The message was not sent: a file cannot go with it. {first}{more}{other}",
        code="message.files",
        fields={"files": " ".join(f"“{item.ref.name}”: {item.reason}" for item in found)},
        details={"parts": parts},
    )
