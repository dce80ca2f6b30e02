"""How a container is made: one table of flags, what each is for, and what it needs.

A flag that the container service cannot keep is left out, and then the row that it is for is a gap;
a test holds the two together. Flags are those that docker and podman share.
"""

import hashlib
import json
import resource
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from studio.core.sandboxes.contract import Limits

Name = Literal["docker", "podman"]
OPEN_FILES = 1024
USER_PROCESSES = 32_768
SCRATCH = 64 * 1024**2  # bytes of /tmp, and of each other place in memory
IDENTITY, SHAPE = "studio.environment", "studio.shape"  # labels
RUNTIME = "/run/studio"  # where sockets of the proxy are shown
# What the container does itself: it waits, until it is told to end.
_WAITS = 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait $!; done'


@dataclass(frozen=True)
class Flag:
    """Words of the command line for one row of `gaps`; `needs` is a feature of the service."""

    row: str
    words: tuple[str, ...]
    needs: str | None = None


FLAGS: Final = (
    Flag("network", ("--network", "none")),
    Flag("system", ("--read-only",)),
    Flag("rights", ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")),
    Flag("scratch", ("--tmpfs", f"/tmp:rw,nosuid,nodev,size={SCRATCH}")),  # noqa: S108 - its own
    Flag("processes", ("--pids-limit", "{processes}"), "pids"),
    Flag("memory", ("--memory", "{memory}", "--memory-swap", "{memory}"), "memory"),
    Flag("user", ("--user", "{owner}:{owner}"), "own_user"),
)


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A container service as a probe found it. `features` are words that `gaps` knows."""

    name: Name
    rootless: bool
    features: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What one container is made of. `image` is exact; `owner` is the user id of the disk.

    `inode` is the device and inode of the disk: a container holds that very folder, also when
    another has its path by now. `loosened` are rows whose flags an operator gave up by name.
    """

    identity: str
    image: str
    disk: str
    inode: tuple[int, int]
    runtime: str
    owner: int
    limits: Limits
    loosened: frozenset[str] = frozenset()


def argv(shape: Shape, backend: Backend) -> list[str]:
    """The words behind `docker` or `podman` that make the container and start it."""
    words = ["run", "--detach", "--init", "--pull", "never", "--name", name(shape.identity)]
    values = {
        "memory": shape.limits.memory, "processes": shape.limits.processes, "owner": shape.owner,
    }  # fmt: skip
    for flag in kept(backend.features, shape.loosened):
        words += [word.format(**values) for word in flag.words]
    words += _owner(shape, backend)
    words += ["--tmpfs", f"/run/secrets:rw,nosuid,nodev,noexec,mode=1777,size={SCRATCH}"]
    words += ["--ulimit", "core=0", "--ulimit", f"fsize={shape.limits.file}"]
    words += ["--ulimit", f"nofile={OPEN_FILES}", *_processes(backend)]
    words += ["--mount", _mount(shape.disk, "/work", backend)]
    words += ["--mount", f"{_mount(shape.runtime, RUNTIME, backend)},readonly=true"]
    words += ["--workdir", "/work", "--label", f"{IDENTITY}={shape.identity}"]
    words += ["--label", f"{SHAPE}={digest(shape, backend)}"]
    return [*words, "--entrypoint", "/bin/sh", shape.image, "-c", _WAITS]


def kept(features: Collection[str], loosened: Collection[str] = ()) -> Sequence[Flag]:
    """The flags that are passed, in order."""
    return [
        flag for flag in FLAGS
        if flag.row not in loosened and (flag.needs is None or flag.needs in features)
    ]  # fmt: skip


def digest(shape: Shape, backend: Backend) -> str:
    """What tells whether a container that is there was made of the same."""
    told = {
        "image": shape.image, "disk": shape.disk, "inode": shape.inode, "runtime": shape.runtime,
        "owner": shape.owner, "limits": vars(shape.limits), "loosened": sorted(shape.loosened),
        "flags": [flag.words for flag in kept(backend.features, shape.loosened)],
    }  # fmt: skip
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def name(identity: str) -> str:
    """A name of the container, so that two who make one at the same moment do not both succeed."""
    return f"studio-{hashlib.sha256(identity.encode()).hexdigest()[:24]}"


def _owner(shape: Shape, backend: Backend) -> list[str]:
    """Whose files the commands make, where they have no user of their own."""
    if "own_user" in backend.features and "user" not in shape.loosened:
        return []
    if not backend.rootless:
        return ["--user", f"{shape.owner}:{shape.owner}"]
    # Rootless, the container's root is the studio's own user; podman can show it as itself.
    return ["--userns", "keep-id"] if backend.name == "podman" else []


def _processes(backend: Backend) -> list[str]:
    """A number that podman may give as well; unasked it wants more than some machines let it.

    What bounds a container is the limit of its own processes, not this one of its user.
    """
    if backend.name != "podman":
        return []
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = USER_PROCESSES if hard == resource.RLIM_INFINITY else min(hard, USER_PROCESSES)
    return ["--ulimit", f"nproc={most}"]


def _mount(source: str, target: str, backend: Backend) -> str:
    relabelled = ",relabel=private" if backend.name == "podman" else ""
    return f"type=bind,source={source},target={target}{relabelled}"
