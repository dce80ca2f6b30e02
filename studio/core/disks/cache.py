"""The stat cache: what each file of a folder hashed to, while its size, times and inode are these.

A file can be changed within the same tick of the clock in which it was looked at, and then its
stat says nothing. Git calls such an entry racily clean (its document "racy-git") and does not
trust it; here a file that was changed less than `SETTLED_NS` before the look began is not
remembered, so it is read once more next time. `ctime` is the kernel's own and cannot be set back.
The cache may be lost or damaged at any time: then everything is read.
"""

import hashlib
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from studio.core.disks import durable
from studio.core.disks.index import Index

SETTLED_NS = 2_000_000_000  # the coarsest clock of a file system in use (FAT)
FORMAT = 1
Stat = tuple[int, int, int, int]  # size, mtime_ns, ctime_ns, inode


def stat_of(info: os.stat_result) -> Stat:
    """What tells a file from itself changed."""
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino


@dataclass(kw_only=True)
class Cache:
    """One look at a folder: what was known of its files before it, and what is after."""

    path: Path | None
    epoch: str
    known: dict[str, tuple[Stat, str]] = field(default_factory=dict)
    found: dict[str, tuple[Stat, str]] = field(default_factory=dict)
    began_ns: int = field(default_factory=time.time_ns)

    def hash_of(self, path: str, stat: Stat) -> str | None:
        """What the file's bytes hash to, when it is as it was."""
        known = self.known.get(path)
        if known is None or known[0] != stat:
            return None
        self.found[path] = known
        return known[1]

    def remember(self, path: str, stat: Stat, sha: str) -> None:
        """Note a file that was read, unless it may still change unseen."""
        if max(stat[1], stat[2]) < self.began_ns - SETTLED_NS:
            self.found[path] = (stat, sha)

    def save(self) -> None:
        """Write it, when it is another than before. Not durably: it may be lost."""
        if self.path is None or self.found == self.known:
            return
        files = {path: [*stat, sha] for path, (stat, sha) in self.found.items()}
        text = json.dumps({"format": FORMAT, "epoch": self.epoch, "files": files}).encode()
        part = self.path.with_name(f"{self.path.name}.{durable.name()}{durable.PART}")
        try:
            part.write_bytes(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
            part.rename(self.path)
        finally:
            part.unlink(missing_ok=True)


def load(path: Path | None, index: Index) -> Cache:
    """The cache in that file, empty when it is missing, damaged or of another format.

    When objects were taken away since, what is no longer in the store is forgotten.
    """
    cache = Cache(path=path, epoch=index.epoch)
    if path is None or not path.exists():
        return cache
    digest, _, text = path.read_bytes().partition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != digest:
        return cache
    value = json.loads(text)
    if value["format"] != FORMAT:
        return cache
    same = value["epoch"] == index.epoch
    for name, (size, mtime, ctime, inode, sha) in value["files"].items():
        if same or index.find(bytes.fromhex(sha)):
            cache.known[name] = ((size, mtime, ctime, inode), sha)
    return cache
