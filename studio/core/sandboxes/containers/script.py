"""What a shell in the container is given to read, so that nothing of a command is in an argument.

Everything goes in by its standard input: the line, variables, secret files. All that a command
starts carries its mark in its environment, and is ended by that mark when the command is over, or
when the input ends, which it does when the studio dies.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from studio.core.sandboxes.containers.flags import RUNTIME

MARK = "SANDBOX_COMMAND"
_BEGUN, _OVER, _LEFT = "studio-begun", "studio-over", "studio-left"  # told on standard error
# `grep -l` names the environments that hold the mark. A process that was killed has none left.
_SWEEP = """
sweep() {
  tries=0
  while [ "$tries" -lt 100 ]; do
    found=$(grep -ls "$mark" /proc/[0-9]*/environ 2>/dev/null)
    [ -z "$found" ] && return 0
    for entry in $found; do
      number=${entry#/proc/}
      kill -9 "${number%/environ}" 2>/dev/null
    done
    tries=$((tries + 1))
  done
  return 1
}
"""
_WATCH = """
exec 3<&0
( env "$mark" cat <&3; sweep ) >/dev/null 2>&1 &
exec 3<&-
"""
_RELAY = """
env "$mark" socat TCP4-LISTEN:"$port",bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:"$socket" \
  </dev/null >/dev/null 2>&1 &
tries=0
until socat -u /dev/null TCP4:127.0.0.1:"$port" 2>/dev/null || [ "$tries" -ge 100 ]; do
  tries=$((tries + 1))
  sleep 0.02
done
"""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A command for a container. `port` is where it finds the proxy, None without one."""

    mark: str
    line: str
    cwd: str
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    port: int | None = None


def reading(script: bytes) -> list[str]:
    """The shell that reads a script of this length, and no byte more."""
    return ["/bin/sh", "-c", 'eval "$(head -c "$1")"', "sh", str(len(script))]


def script(task: Task) -> bytes:
    """The shell's part: run the line, end what it left, and tell its exit on standard error."""
    parts = [
        f"echo {_BEGUN} >&2",
        _marked(task.mark),
        _SWEEP,
        _WATCH,
        *(_file(*item) for item in task.files.items()),
    ]
    if task.port is not None:
        parts += [f"port={task.port} socket={RUNTIME}/{task.mark}.sock", _RELAY]
    shell = "$(command -v bash || echo /bin/sh)"
    exports = "".join(
        f"  export {name}={shlex.quote(value)}\n" for name, value in _variables(task).items()
    )
    parts.append(
        f"( cd {shlex.quote(task.cwd)} || exit 125\n{exports}"
        f'  exec $(command -v setsid) "{shell}" -c {shlex.quote(task.line)} ) </dev/null 2>&1\n'
        "code=$?"
    )
    parts += [f"rm -f {shlex.quote(_secret(name))}" for name in task.files]
    parts.append(f'sweep || echo {_LEFT} >&2\necho "{_OVER} $code" >&2')
    return "\n".join(parts).encode("utf-8", "surrogateescape")


def ending(mark: str) -> bytes:
    """End all that carries a mark; the shell's code says whether nothing is left."""
    return "\n".join([_marked(mark), _SWEEP, "sweep"]).encode()


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a shell told of its task: that it began, its exit, and that something is left of it."""

    begun: bool
    exit: int | None
    is_left: bool


def told(error: bytes) -> Told:
    """What stands on the standard error of a script's shell."""
    lines = error.decode("utf-8", "replace").splitlines()
    ends = [line.removeprefix(f"{_OVER} ") for line in lines if line.startswith(f"{_OVER} ")]
    return Told(
        begun=_BEGUN in lines, is_left=_LEFT in lines,
        exit=int(ends[-1]) if ends and ends[-1].isdigit() else None,
    )  # fmt: skip


def _marked(mark: str) -> str:
    return f"mark={MARK}={mark}"


def _variables(task: Task) -> dict[str, str]:
    proxy = f"http://127.0.0.1:{task.port}"
    names = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    proxies = dict.fromkeys(names, proxy) if task.port is not None else {}
    plain = {"HOME": "/work", "LANG": "C.UTF-8", **proxies}
    return {**plain, **task.variables, MARK: task.mark}


def _file(name: str, data: bytes) -> str:
    """A secret file: written byte by byte by the shell itself, which no argument list shows."""
    octal = "".join(f"\\{byte:03o}" for byte in data)
    place = shlex.quote(_secret(name))
    return f"( umask 377; rm -f {place}; printf '{octal}' >{place} ) || exit 125"


def _secret(name: str) -> str:
    return f"/run/secrets/{name}"
