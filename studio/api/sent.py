"""A file that comes with a request: its body as it is, or the one field of a form."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect

from studio.api import wire
from studio.api.endpoint import Ask
from studio.api.errors import Problem
from studio.core.rules.errors import Invalid

CHUNK = 256 * 1024
Sent = tuple[str, str, AsyncIterator[bytes]]


@asynccontextmanager
async def sent(ask: Ask[Any, Any], most: int) -> AsyncIterator[Sent]:
    """Its name, what kind it says it is, and its bytes, at most `most` of them.

    It is the request's body, or the field `file` of a multipart form; a form is kept on disk before
    any of it is looked at, so the whole body has its bound here.
    """
    kind = ask.request.headers.get("content-type", "")
    request = wire.bounded(ask.request, most + wire.FORM_BYTES, wire.FILE_SECONDS)
    try:
        if kind.startswith("multipart/form-data"):
            async with request.form(max_files=1, max_fields=10) as form:
                item = form.get("file")
                if not isinstance(item, UploadFile):
                    words = "Send the file as the field `file`."
                    raise Invalid(words, code="file.missing", fields={"file": words})
                name = ask.query.name or item.filename or "file"
                yield name, item.content_type or "", _chunks(item)
        else:
            yield ask.query.name or "file", kind, request.stream()
    except ClientDisconnect:
        raise Problem(400, "body.cut", "The connection ended before the body did.") from None


async def _chunks(item: UploadFile) -> AsyncIterator[bytes]:
    while chunk := await item.read(CHUNK):
        yield chunk
