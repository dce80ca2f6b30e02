"""Calls about disks: keep, restore, import, look into versions, compare, take away.

`path` is text, or bytes where a name is no UTF-8; `raw` of an answer is such bytes,
percent-encoded: `urllib.parse.unquote_to_bytes(entry["raw"])`.
"""

from urllib.parse import quote

from api_client.call import Call, Content, get, part
from api_client.shapes import (
    DiskDiff,
    DiskFolder,
    DiskTextDiff,
    Operation,
    OperationAsked,
    Operations,
)

OCTETS = "application/octet-stream"
Path = str | bytes


def keep(environment: str, *, note: str = "") -> Call[OperationAsked]:
    """Keep a version of a disk, once no command runs."""
    return Call(method="POST", path=f"{_path(environment)}/versions", body={"note": note})


def restore(environment: str, version: int) -> Call[OperationAsked]:
    """Put a version in the disk's place; what is there now is kept first."""
    return Call(method="POST", path=f"{_path(environment)}/restore", body={"version": version})


def reset(environment: str) -> Call[OperationAsked]:
    """Empty the disk, after keeping it."""
    return Call(method="POST", path=f"{_path(environment)}/reset")


def start(environment: str) -> Call[OperationAsked]:
    """Set an environment up and start it, before a turn needs it."""
    return Call(method="POST", path=f"{_path(environment)}/start")


def stop(environment: str) -> Call[OperationAsked]:
    """End whatever runs in an environment."""
    return Call(method="POST", path=f"{_path(environment)}/stop")


def take_in(environment: str, archive: Content, *, name: str = "") -> Call[OperationAsked]:
    """Put what an archive holds in the disk's place; bytes, or something that gives them."""
    query = {"name": name} if name else {}
    return Call(
        method="POST", path=f"{_path(environment)}/import", query=query, content=archive,
        media=OCTETS,
    )  # fmt: skip


def operation(operation_id: str) -> Call[Operation]:
    """How something that was asked of a disk stands."""
    return get(f"/v1/operations/{part(operation_id)}")


def operations(environment: str, *, limit: int | None = None) -> Call[Operations]:
    """The newest of what was asked of a disk, the last one first."""
    return get(f"{_path(environment)}/operations", limit=limit)


def files(
    environment: str, version: int, path: Path = "", *, after: str = "", limit: int = 200
) -> Call[DiskFolder]:
    """A page of a folder of a version; `after` is the `next` of the page before."""
    query = f"path={quote(path)}&after={after}&limit={limit}"
    return get(f"{_path(environment)}/versions/{version}/files?{query}")


def content(environment: str, version: int, path: Path) -> Call[bytes]:
    """The bytes of a file; see `pieces` of the clients."""
    return get(f"{_path(environment)}/versions/{version}/content?path={quote(path)}")


def archive(environment: str, version: int, form: str = "tar.zst") -> Call[bytes]:
    """A version as an archive, `tar.zst` or `zip`; see `pieces` of the clients."""
    return get(f"{_path(environment)}/versions/{version}/archive", form=form)


def diff(environment: str, before: int, after: int) -> Call[DiskDiff]:
    """How two versions differ."""
    return get(f"{_path(environment)}/diff", before=before, after=after)


def text_diff(environment: str, before: int, after: int, path: Path) -> Call[DiskTextDiff]:
    """How one file differs between two versions, line by line."""
    query = f"before={before}&after={after}&path={quote(path)}"
    return get(f"{_path(environment)}/diff/text?{query}")


def _path(environment: str) -> str:
    return f"/v1/environments/{part(environment)}"
