"""Taking away what no version needs: mark from the manifests, then the list first, files last.

In this order nothing ever points at what is not there: manifests go, then the index forgets (or
finds elsewhere) what only they named, then the packs go. A crash in between leaves files that
nothing names, and the next collection takes them. For who holds the store alone.
"""

import os
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from studio.core import faults
from studio.core.disks import durable, packs, tree
from studio.core.disks.objects import Objects, Reader
from studio.core.disks.packs import Pack
from studio.core.disks.tables import Place
from studio.core.disks.versions import Versions

Places = dict[bytes, Place]
LIVE = 0.5  # of a pack's bytes; one below it is written anew
TINY = 4 * 1024**2  # bytes of a pack that is written anew when there are many
MANY = 64


@dataclass(frozen=True, kw_only=True)
class Collected:
    """What was taken away. `freed` is in bytes of this machine, less what was written anew.

    `missing` are digests that were to be kept and that the store does not have.
    """

    versions: int
    objects: int
    freed: int
    missing: tuple[str, ...] = ()


def collect(objects: Objects, versions: Versions, keep: Collection[str], grace: float) -> Collected:
    """Keep these versions, and those that were kept less than `grace` seconds ago."""
    objects.index.refresh()
    there = dict(versions.all())
    since = time.time() - grace
    live = {digest for digest, kept in there.items() if digest in set(keep) or kept >= since}
    with objects.reading() as reader:
        marked = _marked(reader, [versions.get(digest).tree for digest in live])
    before, places = _size(objects.folder), objects.index.all()
    faults.fault("disk.mid_collect")
    versions.remove([digest for digest in there if digest not in live])
    faults.fault("disk.mid_collect")
    needed = {sha: place for sha, place in places.items() if sha in marked}
    moved = _moved(objects, needed)
    if moved or len(needed) < len(places):
        faults.fault("disk.mid_collect")
        objects.index.replace(needed | moved)
    faults.fault("disk.mid_collect")
    objects.index.sweep()
    _sweep(objects.folder, {place.pack for place in (needed | moved).values()})
    return Collected(
        versions=len(there) - len(live), objects=len(places) - len(needed),
        freed=before - _size(objects.folder), missing=tuple(sorted(set(keep) - there.keys())),
    )  # fmt: skip


def _marked(reader: Reader, tops: list[str]) -> set[bytes]:
    """Every object that these folders need; Unavailable when one is missing, and nothing goes."""
    marked: set[bytes] = set()
    left = tops
    while left:
        sha = left.pop()
        key = bytes.fromhex(sha)
        if key in marked:
            continue
        marked.add(key)
        for row in reader.rows(sha).values():
            if row.kind == tree.FOLDER:
                left.append(row.ref)
            elif row.kind == tree.FILE:
                marked.add(bytes.fromhex(row.ref))
    return marked


def _moved(objects: Objects, needed: Mapping[bytes, Place]) -> Places:
    """Objects of packs that are mostly dead, or tiny and many, written into a pack anew."""
    inside: dict[str, Places] = defaultdict(dict)
    for sha, place in needed.items():
        inside[place.pack][sha] = place
    sizes = {name: _pack(objects.folder, name).stat().st_size for name in inside}
    tiny = [name for name, size in sizes.items() if size < TINY]
    chosen = {
        name
        for name, rows in inside.items()
        if sum(place.stored for place in rows.values()) < LIVE * sizes[name]
    } | set(tiny if len(tiny) > MANY else ())
    moved: Places = {}
    written: list[Pack] = []
    try:
        for name in sorted(chosen):
            _copy(objects.folder, name, inside[name], written, moved)
    except BaseException:
        for pack in written:
            pack.discard()
        raise
    for pack in written:
        pack.close()
    durable.sync_folder(objects.folder)
    return moved


def _copy(folder: Path, name: str, rows: Places, written: list[Pack], moved: Places) -> None:
    """Append the live objects of a pack, as they are packed, to the last pack being written."""
    source = os.open(_pack(folder, name), os.O_RDONLY | os.O_CLOEXEC)
    try:
        for sha, place in sorted(rows.items(), key=lambda row: row[1].offset):
            if not written or written[-1].size > packs.PACK_BYTES:
                written.append(Pack(folder))
            moved[sha] = written[-1].copy(source, place)
    finally:
        os.close(source)


def _sweep(folder: Path, named: set[str]) -> None:
    """Remove the packs that nothing names; nobody is writing one."""
    for path in folder.iterdir():
        if path.stem not in named:
            path.unlink()
    durable.sync_folder(folder)


def _pack(folder: Path, name: str) -> Path:
    return folder / f"{name}{packs.END}"


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
