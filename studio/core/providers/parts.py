"""Files and texts of a message in the forms that protocols share."""

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from studio.core.providers.provider import FilePart, Message, ProposedCall

_AUDIO = {
    "audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/x-wav": "wav",
    "audio/wave": "wav", "audio/flac": "flac", "audio/x-flac": "flac", "audio/ogg": "ogg",
    "audio/aac": "aac", "audio/mp4": "m4a", "audio/x-m4a": "m4a", "audio/webm": "webm",
}  # fmt: skip


def kind(file: FilePart) -> str:
    """`image`, `pdf`, `audio`, or `text` for everything else."""
    media = media_type(file)
    if media == "application/pdf":
        return "pdf"
    start = media.split("/")[0]
    return start if start in ("image", "audio") else "text"


def readable(message: Message, reads: frozenset[str]) -> Message:
    """The message with the files that a model reads; of the others a line says that they are there.

    A person's message is refused when the agent's own model cannot read a file of it; this is for
    the fallbacks that are asked in its place.
    """
    left = [file for file in message.files if kind(file) not in reads]
    if not left:
        return message
    names = [json.dumps(file.name, ensure_ascii=False) for file in left]
    lines = [f"[File {name}: this model does not read it.]" for name in names]
    kept = tuple(file for file in message.files if kind(file) in reads)
    return replace(message, text="\n".join([message.text, *lines]).lstrip(), files=kept)


def media_type(file: FilePart) -> str:
    """The media type in small letters, without its parameters."""
    return file.media.split(";")[0].strip().lower()


def coded(file: FilePart) -> str:
    """The bytes in base64."""
    return base64.b64encode(file.data).decode("ascii")


def data_url(file: FilePart) -> str:
    """The bytes as a `data:` address."""
    return f"data:{media_type(file)};base64,{coded(file)}"


def audio_format(file: FilePart) -> str:
    """The word that the OpenAI protocols have for a kind of audio."""
    media = media_type(file)
    return _AUDIO.get(media, media.split("/")[-1])


def as_text(file: FilePart) -> str:
    """A text file in words for the model: its name, then the whole."""
    text = file.data.decode("utf-8", "replace")
    return sound(f"[File {json.dumps(file.name, ensure_ascii=False)}]\n{text}")


def written(call: ProposedCall) -> Any:
    """The arguments of an old call. A server reads them again and refuses what is not JSON."""
    return {"unreadable": call.broken} if call.broken is not None else call.arguments


def sound(text: str) -> str:
    """Text that can be sent: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def form_words(instructions: str, schema: Mapping[str, Any]) -> str:
    """Instructions that also say what the answer must be, for a model that is told no other way."""
    form = json.dumps(schema, ensure_ascii=False)
    words = (
        f"Your last message must be JSON alone, without a fence, and satisfy this schema: {form}"
    )
    return f"{instructions}\n\n{words}" if instructions else words
