"""What docker's command line does of what the studio asks of it, without docker.

`python -m tests.standins.container_cli STATE words…`. Containers are files in STATE; a command in
one is a bubblewrap with its mounts. Every call is a line of `STATE/calls.jsonl`. `STATE/info.json`
is what `info` answers, `STATE/images.json` the images that are here or can be fetched.
"""

import fcntl
import json
import os
import secrets
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from tests.standins import boxed

INFO = {
    "MemoryLimit": True, "PidsLimit": True, "SwapLimit": True,
    "SecurityOptions": ["name=seccomp,profile=builtin", "name=cgroupns"],
}  # fmt: skip
IMAGE = "python:3.12"
IMAGES = {IMAGE: {"Id": "sha256:" + "1" * 64, "RepoDigests": ["python@sha256:" + "a" * 64]}}
# Flags with a value behind them; the others that are known stand alone.
VALUED = frozenset(
    "--pull --name --network --cap-drop --security-opt --tmpfs --pids-limit --memory --memory-swap"
    " --user --ulimit --mount --workdir --label --entrypoint --userns --filter --format".split()
)
PLAIN = frozenset(
    "--detach --init --read-only --all --quiet --no-trunc --interactive --force".split()
)
MARK = "STANDIN_CONTAINER"
# The two forms of socat that the studio uses, for images that have it.
SOCAT = """#!/usr/bin/python3
import socket, sys, threading
def pump(a, b):
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
def carry(a, path):
    b = socket.socket(socket.AF_UNIX)
    b.connect(path)
    threading.Thread(target=pump, args=(a, b), daemon=True).start()
    pump(b, a)
if sys.argv[1] == "-u":
    _, host, port = sys.argv[3].split(":")
    socket.create_connection((host, int(port))).close()
else:
    port = int(sys.argv[1].split(":")[1].split(",")[0])
    path = sys.argv[2].split(":", 1)[1]
    server = socket.create_server(("127.0.0.1", port))
    while True:
        a, _ = server.accept()
        threading.Thread(target=carry, args=(a, path), daemon=True).start()
"""


class State:
    """The folder with everything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "containers").mkdir(parents=True, exist_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def json(self, name: str, default: Any) -> Any:
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else default

    def containers(self) -> list[dict[str, Any]]:
        paths = sorted((self.folder / "containers").glob("*.json"))
        return [json.loads(path.read_text()) for path in paths]

    def one(self, words: str) -> dict[str, Any]:
        for item in self.containers():
            if words in {item["Id"], item["Name"]}:
                return item
        fail(f"Error: No such container: {words}")

    def keep(self, item: dict[str, Any]) -> None:
        path = self.folder / "containers" / f"{item['Id']}.json"
        path.write_text(json.dumps(item))


def fail(words: str, code: int = 1) -> NoReturn:
    sys.stderr.write(f"{words}\n")
    sys.exit(code)


def parsed(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Options before the first word that is none, and what is left. Unknown ones are refused."""
    options, left = list[tuple[str, str]](), list(words)
    while left and left[0].startswith("-"):
        word = left.pop(0)
        if word in VALUED:
            options.append((word, left.pop(0)))
        elif word in PLAIN:
            options.append((word, ""))
        else:
            fail(f"unknown flag: {word}", 125)
    return options, left


def run(state: State, words: Sequence[str]) -> None:
    options, (image, *command) = parsed(words)
    given = dict(options)
    images = state.json("images.json", IMAGES)
    known = {one["Id"]: one for one in images.values()} | images
    if image not in known:
        fail(f"Unable to find image '{image}' locally", 125)
    with state.locked():
        if any(item["Name"] == given["--name"] for item in state.containers()):
            fail(f"Conflict. The container name {given['--name']} is already in use", 125)
        labels = dict(v.split("=", 1) for k, v in options if k == "--label")
        item = {
            "Id": secrets.token_hex(32), "Name": given["--name"], "Image": known[image]["Id"],
            "Config": {"Labels": labels, "Cmd": command}, "State": {"Running": True},
            "Options": options,
        }  # fmt: skip
        state.keep(item)
    sys.stdout.write(f"{item['Id']}\n")


def exec_(state: State, words: Sequence[str]) -> NoReturn:
    _, (name, *command) = parsed(words)
    item = state.one(name)
    if not item["State"]["Running"]:
        fail(f"container {name} is not running")
    binds, closed = dict[str, Path](), list[str]()
    secrets_ = state.folder / item["Id"]
    for place in ("run/secrets",):
        folder = secrets_ / place
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o1777)
        binds[f"/{place}"] = folder
    for flag, value in item["Options"]:
        if flag == "--mount":
            mount = dict(part.split("=", 1) for part in value.split(","))
            binds[mount["target"]] = Path(mount["source"])
            if mount.get("readonly") == "true":
                closed += ["--remount-ro", mount["target"]]
    variables = {MARK: item["Id"]}
    line = boxed.argv(binds, command, cwd=dict(item["Options"])["--workdir"],
                      variables=variables, own_pids=False)  # fmt: skip
    first = line.index("--remount-ro")
    line[first:first] = closed
    tools = state.folder / "bin"
    if tools.is_dir():
        line[1:1] = ["--ro-bind", str(tools), "/tools"]
        line[line.index("PATH") + 1] = "/tools:/usr/bin:/bin"
    os.execvp(line[0], line)


def kill(item: dict[str, Any]) -> None:
    """End everything in a container."""
    wanted = f"{MARK}={item['Id']}".encode()
    while found := [path for path in Path("/proc").glob("[0-9]*") if wanted in _environ(path)]:
        for path in found:
            try:
                os.kill(int(path.name), signal.SIGKILL)
            except ProcessLookupError:
                continue


def _environ(path: Path) -> bytes:
    try:
        return (path / "environ").read_bytes()
    except OSError:
        return b""


def ps(state: State, words: Sequence[str]) -> None:
    """Containers by their filters. `name` matches a part, as docker's does; `label` the whole."""
    options, _ = parsed(words)
    filters = [value.split("=", 1) for flag, value in options if flag == "--filter"]
    for item in state.containers():
        labels = [f"{key}={value}" for key, value in item["Config"]["Labels"].items()]
        kept = all(
            value in labels if kind == "label" else value in item["Name"] for kind, value in filters
        )
        if kept:
            sys.stdout.write(f"{item['Id']}\n")


def image(state: State, words: Sequence[str]) -> None:
    """`image inspect NAME`."""
    images = state.json("images.json", IMAGES)
    for name, item in images.items():
        if words[1] in {name, item["Id"], *item["RepoDigests"]} and not item.get("Away"):
            sys.stdout.write(json.dumps([item]))
            return
    fail(f"Error: No such image: {words[1]}")


def pull(state: State, name: str) -> None:
    images = state.json("images.json", IMAGES)
    for key, item in images.items():
        if name in {key, *item["RepoDigests"]}:
            item["Away"] = False
            (state.folder / "images.json").write_text(json.dumps(images))
            return
    fail(f"manifest for {name} not found")


def main(folder: str, verb: str, *words: str) -> None:
    """One call."""
    state = State(Path(folder))
    with state.locked(), (state.folder / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps([verb, *words]) + "\n")
    if verb == "run":
        run(state, words)
    elif verb == "exec":
        exec_(state, words)
    elif verb == "ps":
        ps(state, words)
    elif verb == "info":
        sys.stdout.write(json.dumps(state.json("info.json", INFO)))
    elif verb == "image":
        image(state, words)
    elif verb == "pull":
        pull(state, words[0])
    else:
        item = state.one(words[-1])
        if verb == "container":
            sys.stdout.write(json.dumps([item]))
        elif verb == "start":
            item["State"]["Running"] = True
            state.keep(item)
        elif verb == "rm":
            kill(item)
            (state.folder / "containers" / f"{item['Id']}.json").unlink()
        else:
            fail(f"unknown command: {verb}")


def program(folder: Path) -> Path:
    """A program that speaks so, with its state in a folder."""
    root = Path(__file__).parents[2]
    state = folder / "state"
    state.mkdir(exist_ok=True)
    path = folder / "docker"
    path.write_text(
        f"#!/bin/sh\ncd '{root}' && exec '{sys.executable}' -S -m tests.standins.container_cli"
        f" '{state}' \"$@\"\n"
    )
    path.chmod(0o755)
    return path


def with_socat(state: Path) -> None:
    """Give every image a socat."""
    tools = state / "bin"
    tools.mkdir()
    (tools / "socat").write_text(SOCAT)
    (tools / "socat").chmod(0o755)


if __name__ == "__main__":
    main(*sys.argv[1:])
