"""The six tools, bound to one session's desk. They raise ToolError with words for the model."""

import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from studio.core.rules import media
from studio.core.rules.environments import tools as names
from studio.core.sandboxes.contract import Command, Ran, SandboxError
from studio.core.tools.disk import output, specs
from studio.core.tools.disk.desk import Desk
from studio.core.tools.tool import Kit, Result, ResultFile, Tool, ToolError, ToolSpec

MOST_FILE = 8 * 1024 * 1024
MOST_LINES = 200
PROGRESS_SECONDS = 0.25
OUTPUT_NAME = "output.txt"

Act = Callable[[Desk, Mapping[str, Any], Kit], Awaitable[Result]]


class DiskTool:
    """One of the tools. `bound` names the secrets that a command asks for."""

    def __init__(self, spec: ToolSpec, desk: Desk, act: Act) -> None:
        self.spec, self._desk, self._act = spec, desk, act

    async def call(self, arguments: Any, kit: Kit) -> Result:
        """Do it once."""
        with _in_words():
            return await self._act(self._desk, arguments, kit)


def tools(desk: Desk, *, place: str, identity: str) -> dict[str, Tool]:
    """The tools of a session on one environment, by name (see `specs.spec`)."""
    return {
        name: DiskTool(specs.spec(name, place=place, identity=identity), desk, act)
        for name, act in _ACTS.items()
    }


async def _shell(desk: Desk, arguments: Mapping[str, Any], kit: Kit) -> Result:
    opened = desk.opens(arguments.get("secrets", ()))
    variables = {**desk.variables, **opened.variables}
    if kit.traceparent:
        variables["TRACEPARENT"] = kit.traceparent
    if kit.tracestate:
        variables["TRACESTATE"] = kit.tracestate
    command = Command(
        line=arguments["command"], cwd=arguments.get("cwd", "."),
        seconds=float(arguments.get("seconds", desk.seconds)), variables=variables,
        files=opened.files, egress=kit.effect_id, begun=kit.begins,
    )  # fmt: skip
    ran = await desk.sandbox.shell(command, _teller(kit))
    text = output.plain(ran.output)
    shown = output.end_of(text)
    value = {"exit": ran.exit, "seconds": round(ran.seconds, 3), "output": _with_marker(shown, ran)}
    if ran.ended is None:
        return Result(value=value, files=_whole(text, shown))
    raise ToolError(f"command.{ran.ended}", ran.words, result=value, maybe_ran=ran.ended == "lost")


def _teller(kit: Kit) -> Callable[[bytes], None]:
    """Shows the last line of what a command wrote so far, a few times a second."""
    told, heard = 0.0, b""

    def hear(data: bytes) -> None:
        nonlocal told, heard
        heard = (heard + data)[-1_000:]
        now = time.monotonic()
        if now - told < PROGRESS_SECONDS:
            return
        told = now
        lines = [line.strip() for line in output.plain(heard).splitlines() if line.strip()]
        if lines:
            kit.progress(0, None, lines[-1][:200])

    return hear


def _with_marker(shown: output.Shown, ran: Ran) -> str:
    notes = []
    if shown.left_out:
        lines = "line" if shown.left_out == 1 else "lines"
        notes.append(f"{shown.left_out:,} {lines} before this, whole in {OUTPUT_NAME}")
    if ran.size > len(ran.output):
        notes.append(
            f"it wrote {ran.size:,} bytes, of which the first {len(ran.output):,} are kept"
        )
    return f"[{'; '.join(notes)}]\n{shown.text}" if notes else shown.text


def _whole(text: str, shown: output.Shown) -> tuple[ResultFile, ...]:
    if not shown.left_out:
        return ()
    return (ResultFile(data=text.encode("utf-8"), media="text/plain", name=OUTPUT_NAME),)


async def _read(desk: Desk, arguments: Mapping[str, Any], kit: Kit) -> Result:
    path = arguments["path"]
    found = await desk.sandbox.read(path, most=MOST_FILE)
    if found.size > MOST_FILE:
        words = (
            f"{path} has {found.size:,} bytes, and {MOST_FILE:,} can be read at once. "
            "Look into it with grep, or with a command such as head or tail."
        )
        raise ToolError("file.too_large", words, settled=True)
    desk.see(path, found.hash)
    text = _text(found.data)
    if text is not None:
        return Result(text=_window(path, text, arguments), media="text/plain")
    kind = media.sniffed(found.data)
    if kind and media.kind(kind) in ("image", "pdf"):
        name = path.rpartition("/")[2]
        said = f"[{path} · {kind} · {found.size:,} bytes; it is shown to you if you can read it]"
        file = ResultFile(data=found.data, media=kind, name=name)
        return Result(text=said, media="text/plain", files=(file,))
    said = f"[{path} is not text: {found.size:,} bytes, SHA-256 {found.hash}]"
    return Result(text=said, media="text/plain")


def _text(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _window(path: str, text: str, arguments: Mapping[str, Any]) -> str:
    """Some lines of a text with a line in front that says which."""
    lines = text.splitlines(keepends=True)
    first = int(arguments.get("offset", 1))
    if lines and first > len(lines):
        words = f"{path} has {len(lines):,} lines; offset {first:,} is behind its end."
        raise ToolError("tool.bad_arguments", words, settled=True)
    most = min(int(arguments.get("limit", MOST_LINES)), MOST_LINES)
    kept, room = list[str](), output.MOST_CHARACTERS
    for line in lines[first - 1 : first - 1 + most]:
        room -= len(line)
        if room < 0 and kept:
            break
        kept.append(line if room >= 0 else f"{line[: output.MOST_CHARACTERS]}… [cut]\n")
    last = first - 1 + len(kept)
    more = f"; offset {last + 1} reads on" if last < len(lines) else ""
    where = f"lines {first} to {last} of {len(lines)}{more}" if lines else "empty"
    return f"[{path} · {where}]\n{''.join(kept)}"


async def _write(desk: Desk, arguments: Mapping[str, Any], kit: Kit) -> Result:
    path, data = arguments["path"], arguments["text"].encode("utf-8", "replace")
    known = desk.seen(path)
    try:
        written = await desk.sandbox.write(path, data, known=known)
    except SandboxError as wrong:
        if wrong.code == "path.missing" and known is not None:  # it was removed since it was read
            written = await desk.sandbox.write(path, data)
        elif wrong.code == "path.exists":
            words = f"{path} is there already, and you have not read it. Read it first."
            raise ToolError("file.unread", words, settled=True) from None
        else:
            raise
    desk.see(path, written.hash)
    return Result(value={"path": path, "bytes": written.size, "new": written.made})


async def _edit(desk: Desk, arguments: Mapping[str, Any], kit: Kit) -> Result:
    path, known = arguments["path"], desk.seen(arguments["path"])
    if known is None:
        words = f"You have not read {path} in this session. Read it first."
        raise ToolError("file.unread", words, settled=True)
    written = await desk.sandbox.edit(
        path, arguments["old"], arguments["new"], known=known, every=arguments.get("every", False)
    )
    desk.see(path, written.hash)
    return Result(value={"path": path, "bytes": written.size})


async def _glob(desk: Desk, arguments: Mapping[str, Any], kit: Kit) -> Result:
    found = await desk.sandbox.glob(arguments["pattern"])
    return Result(value={"paths": list(found.paths), **_more(found.more)})


async def _grep(desk: Desk, arguments: Mapping[str, Any], kit: Kit) -> Result:
    found = await desk.sandbox.grep(arguments["pattern"], within=arguments.get("within", "**/*"))
    lines = [f"{one.path}:{one.line}: {one.text}" for one in found.matches]
    shown, room = list[str](), output.MOST_CHARACTERS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    return Result(value={"matches": shown, **_more(found.more or len(shown) < len(lines))})


def _more(is_more: bool) -> dict[str, Any]:  # noqa: FBT001 - it is the only one
    return {"more": True} if is_more else {}


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    """What an environment refuses is a failed call of which nothing happened."""
    try:
        yield
    except SandboxError as wrong:
        raise ToolError(wrong.code, wrong.message, settled=True) from None


_ACTS: Mapping[str, Act] = {
    names.SHELL: _shell, names.READ: _read, names.WRITE: _write, names.EDIT: _edit,
    names.GLOB: _glob, names.GREP: _grep,
}  # fmt: skip
