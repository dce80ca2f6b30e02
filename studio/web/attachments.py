"""Files in forms: taken in as they come, and kept when a message is refused."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from studio.core.rules import media
from studio.core.rules.errors import Invalid, StudioError
from studio.core.rules.files import Part
from studio.core.runtime import Upload
from studio.web.visit import person, runtime

CHUNK = 256 * 1024
KIND_ICONS = {
    "image": "image", "pdf": "file-text", "text": "file-text", "audio": "music", "video": "play",
    "archive": "file-archive", "other": "file",
}  # fmt: skip


@dataclass
class Attached:
    """What goes with a message: ids of uploads, and what could not be taken in."""

    ids: list[str] = field(default_factory=list)
    refused: list[StudioError] = field(default_factory=list)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the message."""
        return tuple(Part(upload_id=one) for one in self.ids)

    @property
    def refusal(self) -> StudioError | None:
        """One refusal for all files that were not taken."""
        if len(self.refused) < 2:
            return self.refused[0] if self.refused else None
        return Invalid(" ".join(one.message for one in self.refused), code="file.refused")


async def attached(request: Request, form: FormData) -> Attached:
    """The uploads a form names, and those that its files become."""
    names = [value for value in form.getlist("upload") if isinstance(value, str)]
    found = Attached(ids=list(dict.fromkeys(names)))
    for item in form.getlist("files"):
        if isinstance(item, UploadFile) and item.filename:
            try:
                found.ids.append((await take(request, item)).id)
            except StudioError as refusal:
                found.refused.append(refusal)
    return found


async def take(request: Request, item: UploadFile) -> Upload:
    """Keep one file of a form."""
    try:
        return await runtime(request).upload(
            person(request), name=item.filename or "", media=item.content_type or "",
            chunks=chunks(item),
        )  # fmt: skip
    finally:
        await item.close()


async def uploads(request: Request, ids: Sequence[str]) -> tuple[Upload, ...]:
    """Those that are still here, to be shown again with what was typed."""
    return tuple(await runtime(request).uploads(person(request), list(ids)))


async def chunks(item: UploadFile) -> AsyncIterator[bytes]:
    """The bytes of a file that came with a form, a piece at a time."""
    while chunk := await item.read(CHUNK):
        yield chunk


def kind_icon(of: str) -> str:
    """The icon of a media type."""
    return "list" if of == media.FOLDER else KIND_ICONS[media.kind(of)]


def kind_word(of: str) -> str:
    """A media type as people are shown it."""
    return "folder" if of == media.FOLDER else of


def is_picture(of: str) -> bool:
    """Whether the pages show it as a picture; what could hold a script is never shown."""
    return of in media.INLINE_IMAGES
