"""Calls about files and folders: send one for a message, keep one with a session, look into it.

`path` is text, or bytes where a name is no UTF-8, as in `disks`.
"""

import secrets
from urllib.parse import quote

from api_client.call import Call, Content, Listing, get, part, texts
from api_client.disks import Path
from api_client.shapes import (
    Artifact,
    ArtifactDetail,
    ArtifactLinks,
    DiskDiff,
    DiskFolder,
    DiskTextDiff,
    MadeArtifactLink,
    SavedArtifact,
    Upload,
)

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


def save_folder(
    session_id: str, archive: Content, *, name: str, artifact: str | None = None,
    key: str | None = None,
) -> Call[SavedArtifact]:  # fmt: skip
    """Keep what an archive (tar, tar.gz, tar.zst, zip) holds with a session, as a folder."""
    headers = {"Idempotency-Key": key if key is not None else secrets.token_urlsafe(24)}
    return Call(
        method="POST", path=f"/v1/sessions/{part(session_id)}/folders",
        query=texts({"name": name, "artifact": artifact}), headers=headers, content=archive,
        media=OCTETS,
    )  # fmt: skip


def keep_folder(
    environment: str, version: int, path: Path = "", *, session_id: str, name: str,
    artifact: str | None = None, key: str | None = None,
) -> Call[SavedArtifact]:  # fmt: skip
    """Keep a folder of a kept disk with a session, as an artifact."""
    where = f"/v1/environments/{part(environment)}/versions/{version}/artifact?path={quote(path)}"
    headers = {"Idempotency-Key": key if key is not None else secrets.token_urlsafe(24)}
    more = {"session": session_id, "name": name, "artifact": artifact}
    query = "".join(f"&{key}={quote(value)}" for key, value in more.items() if value is not None)
    return Call(method="POST", path=where + query, headers=headers)


def index(session_id: str, *, limit: int | None = None) -> Listing[Artifact]:
    """A session's artifacts, the one made last first."""
    return Listing(first=get(f"/v1/sessions/{part(session_id)}/artifacts", limit=limit))


def content(
    artifact_id: str, *, version: int | None = None, path: Path = "", form: str = "zip"
) -> Call[bytes]:
    """The bytes of a version (without one: the newest); of a folder an archive, or one file."""
    where = f"{_one(artifact_id)}/content?path={quote(path)}&form={form}"
    return get(where if version is None else f"{where}&version={version}")


def files(
    artifact_id: str, path: Path = "", *, version: int | None = None, after: str = "",
    limit: int = 200,
) -> Call[DiskFolder]:  # fmt: skip
    """A page of a folder; `after` is the `next` of the page before."""
    where = f"{_one(artifact_id)}/files?path={quote(path)}&after={after}&limit={limit}"
    return get(where if version is None else f"{where}&version={version}")


def diff(artifact_id: str, before: int, after: int) -> Call[DiskDiff]:
    """How two versions of a folder differ."""
    return get(f"{_one(artifact_id)}/diff", before=before, after=after)


def text_diff(artifact_id: str, before: int, after: int, path: Path = "") -> Call[DiskTextDiff]:
    """How a file, or one of a folder, differs between two versions, line by line."""
    return get(f"{_one(artifact_id)}/diff/text?before={before}&after={after}&path={quote(path)}")


def make_link(
    artifact_id: str, *, version: int | None = None, minutes: int = 15
) -> Call[MadeArtifactLink]:
    """Make a link that gives a version to whoever has it; it is shown this once."""
    body = {"minutes": minutes} if version is None else {"minutes": minutes, "version": version}
    return Call(method="POST", path=f"{_one(artifact_id)}/links", body=body)


def links(artifact_id: str) -> Call[ArtifactLinks]:
    """The newest links to an artifact."""
    return get(f"{_one(artifact_id)}/links")


def revoke_link(artifact_id: str, link_id: str) -> Call[None]:
    """Let a link work no more."""
    return Call(method="DELETE", path=f"{_one(artifact_id)}/links/{part(link_id)}")


def show(
    artifact_id: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[ArtifactDetail]:
    """One artifact with a page of its versions, the newest first; `next` leads to older ones."""
    return get(f"/v1/artifacts/{part(artifact_id)}", limit=limit, cursor=cursor)


def _one(artifact_id: str) -> str:
    return f"/v1/artifacts/{part(artifact_id)}"
