"""Calls about files: send one for a message, keep one with a session, list and read them."""

import secrets

from api_client.call import Call, Listing, get, part, texts
from api_client.shapes import Artifact, ArtifactDetail, SavedArtifact, Upload

OCTETS = "application/octet-stream"


def upload(data: bytes, *, name: str, media: str = "") -> Call[Upload]:
    """Send a file for a message; its id goes into a part as `uploadId`."""
    return Call(
        method="POST", path="/v1/uploads", query=texts({"name": name}),
        content=data, media=media or OCTETS,
    )  # fmt: skip


def save(
    session_id: str, data: bytes, *, name: str, media: str = "", artifact: str | None = None,
    key: str | None = None,
) -> Call[SavedArtifact]:  # fmt: skip
    """Keep a file with a session: a new artifact, or a new version of one."""
    headers = {"Idempotency-Key": key if key is not None else secrets.token_urlsafe(24)}
    return Call(
        method="POST", path=f"/v1/sessions/{part(session_id)}/artifacts",
        query=texts({"name": name, "artifact": artifact}), headers=headers, content=data,
        media=media or OCTETS,
    )  # fmt: skip


def index(session_id: str, *, limit: int | None = None) -> Listing[Artifact]:
    """A session's artifacts, the one made last first."""
    return Listing(first=get(f"/v1/sessions/{part(session_id)}/artifacts", limit=limit))


def content(artifact_id: str, *, version: int | None = None) -> Call[bytes]:
    """The bytes of a version; without one, of the newest."""
    return get(f"/v1/artifacts/{part(artifact_id)}/content", version=version)


def show(
    artifact_id: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[ArtifactDetail]:
    """One artifact with a page of its versions, the newest first; `next` leads to older ones."""
    return get(f"/v1/artifacts/{part(artifact_id)}", limit=limit, cursor=cursor)
