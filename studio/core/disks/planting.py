"""A version's tree from its leaves up: folders become objects, the top one becomes a manifest."""

from dataclasses import dataclass, field

from studio.core.disks import tree
from studio.core.disks.objects import Batch
from studio.core.disks.tree import Row, Version


@dataclass(kw_only=True)
class Folder:
    """A folder on its way to be a tree: its rows, but for the folders below it, which stand apart.

    `path` has its slash behind, and is empty at the top.
    """

    path: str
    mode: int
    mtime_ns: int
    rows: dict[str, Row] = field(default_factory=dict)
    folders: dict[str, "Folder"] = field(default_factory=dict)


@dataclass(kw_only=True)
class _Sum:
    files: int = 0
    folders: int = 0
    links: int = 0


def plant(top: Folder, batch: Batch, skipped: list[tuple[str, str]]) -> Version:
    """Add every folder to the batch; what they name must be in it or in the store already."""
    total = _Sum()
    row = _plant(top, batch, total)
    return Version(
        mode=top.mode, tree=row.ref, size=row.size, files=total.files, folders=total.folders,
        links=total.links, skipped=tuple(sorted(skipped)),
    )  # fmt: skip


def _plant(folder: Folder, batch: Batch, total: _Sum) -> Row:
    rows = dict(folder.rows)
    for name, inner in folder.folders.items():
        rows[name] = _plant(inner, batch, total)
    links = sum(row.kind == tree.LINK for row in folder.rows.values())
    total.links += links
    total.files += len(folder.rows) - links
    total.folders += len(folder.folders)
    size = sum(row.size for row in rows.values() if row.kind != tree.LINK)
    sha = batch.add_bytes(tree.encoded(rows))
    return Row(tree.FOLDER, folder.mode, folder.mtime_ns, size, sha)
