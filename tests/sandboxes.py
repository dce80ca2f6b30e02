"""The contract of environments as cases, and every kind held to all of them.

`python -m tests.sandboxes` prints the table, kind by case: pass, or the difference that is stated.
With STUDIO_TEST_IMAGE, the name of an image that is here, docker or podman is played live as well.
"""

import asyncio
import contextlib
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

from studio.core.network.connector import Connector
from studio.core.network.resolver import Rules
from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.box.probe import probe
from studio.core.sandboxes.container import Container, Image
from studio.core.sandboxes.containers.cli import Cli, answering
from studio.core.sandboxes.contract import Command, Limits, Ran, Sandbox, SandboxError
from studio.core.sandboxes.none import NoSandbox
from studio.core.sandboxes.remote import RemoteSandbox
from studio.core.sandboxes.sandbox import Box
from studio.core.sandboxes.services.service import Service
from tests.standins import box_service, container_cli

LIMITS = Limits(
    output=20_000, disk=30 * 1024**2, file=8 * 1024**2, memory=512 * 1024**2, command_seconds=10
)
# What cases leave running: no other process of this machine sleeps for as long.
SLEEP = f"sleep 61.{os.getpid()}"
Check = Callable[[Sandbox], Awaitable[None]]
CASES: dict[str, Check] = {}


def case(check: Check) -> Check:
    """A case, by its function's name in words."""
    CASES[check.__name__.replace("_", " ")] = check
    return check


@contextlib.contextmanager
def refused(*codes: str) -> Iterator[None]:
    """The block is refused with one of the codes, and in words."""
    no = None
    try:
        yield
    except SandboxError as error:
        no = error
    assert no is not None, f"it was not refused ({codes})"
    assert no.code in codes, f"{no.code}: {no.message}"
    assert len(no.message) > 20
    assert no.message.endswith((".", "…"))


async def run(box: Sandbox, line: str, **more: object) -> Ran:
    return await box.shell(Command(line=line, **more))  # type: ignore[arg-type]


async def text(box: Sandbox, line: str, **more: object) -> str:
    """What a line that ends well writes."""
    ran = await run(box, line, **more)
    assert ran.exit == 0, ran.output
    return ran.output.decode()


# Files --------------------------------------------------------------------------------------------


@case
async def what_is_written_is_read(box: Sandbox) -> None:
    written = await box.write("a/b/c.txt", b"hello\n")
    found = await box.read("a/b/c.txt")
    assert (found.data, found.size, found.hash) == (b"hello\n", 6, written.hash)
    assert (written.made, written.size, found.mode) == (True, 6, 0o644)


@case
async def a_part_is_read_and_the_whole_is_told(box: Sandbox) -> None:
    written = await box.write("n", b"0123456789")
    found = await box.read("n", offset=3, most=4)
    assert (found.data, found.offset, found.size) == (b"3456", 3, 10)
    assert found.hash == written.hash


@case
async def a_path_below_work_is_the_same_file(box: Sandbox) -> None:
    await box.write("x/y", b"1")
    assert (await box.read("/work/x/y")).data == b"1"
    assert await text(box, "cat /work/x/y x/y") == "11"


@case
async def paths_that_leave_the_disk_are_refused(box: Sandbox) -> None:
    await box.write("a/f", b"")
    for path in ("../x", "a/../../x", "/etc/passwd", "/work/../etc/passwd", "/worker/x"):
        with refused("path.outside"):
            await box.read(path)
        with refused("path.outside"):
            await box.write(path, b"no")


@case
async def links_that_leave_the_disk_are_refused(box: Sandbox) -> None:
    await text(box, "ln -s /etc/passwd out; ln -s / root; ln -s nowhere loose")
    for path in ("out", "root/etc/passwd"):
        with refused("path.outside"):
            await box.read(path)
    with refused("path.outside"):
        await box.write("root/tmp/x", b"no")
    with refused("path.missing"):
        await box.write("loose", b"no")


@case
async def links_within_the_disk_are_followed(box: Sandbox) -> None:
    await box.write("a/real", b"1")
    await text(box, "ln -s a/real one; ln -s /work/a two")
    assert (await box.read("one")).data == (await box.read("two/real")).data == b"1"


@case
async def what_is_not_there_and_what_is_no_file_is_said(box: Sandbox) -> None:
    await text(box, "mkdir d; mkfifo f")
    with refused("path.missing"):
        await box.read("nothing")
    for path in ("d", "f"):
        with refused("path.kind"):
            await box.read(path)
        with refused("path.kind"):
            await box.write(path, b"x")


@case
async def nothing_unseen_is_overwritten(box: Sandbox) -> None:
    first = await box.write("f", b"1")
    with refused("path.exists"):
        await box.write("f", b"2")
    second = await box.write("f", b"2", known=first.hash)
    assert not second.made
    with refused("file.stale"):
        await box.write("f", b"3", known=first.hash)
    assert (await box.read("f")).data == b"2"


@case
async def a_mode_stays_when_a_file_is_written(box: Sandbox) -> None:
    await text(box, "echo 1 >f; chmod 750 f")
    found = await box.read("f")
    await box.write("f", b"2", known=found.hash)
    assert (await box.read("f")).mode == 0o750


@case
async def a_text_is_replaced_where_it_stands_once(box: Sandbox) -> None:
    known = (await box.write("f", b"one two two")).hash
    with refused("text.missing"):
        await box.edit("f", "three", "x", known=known)
    with refused("text.many"):
        await box.edit("f", "two", "x", known=known)
    with refused("file.stale"):
        await box.edit("f", "one", "x", known="0" * 64)
    known = (await box.edit("f", "one", "1", known=known)).hash
    await box.edit("f", "two", "2", known=known, every=True)
    assert (await box.read("f")).data == b"1 2 2"


@case
async def bytes_are_not_edited_as_text(box: Sandbox) -> None:
    known = (await box.write("f", b"\xff\xfe")).hash
    with refused("file.binary"):
        await box.edit("f", "a", "b", known=known)


@case
async def files_are_found_by_pattern_in_order(box: Sandbox) -> None:
    for path in ("b.py", "a/x.py", "a/b/y.py", "a/b/z.txt"):
        await box.write(path, b"")
    assert (await box.glob("**/*.py")).paths == ("a/b/y.py", "a/x.py", "b.py")
    assert (await box.glob("a/*")).paths == ("a/x.py",)
    bounded = await box.glob("**/*", most=2)
    assert (len(bounded.paths), bounded.more) == (2, True)
    with refused("path.outside"):
        await box.glob("../*")


@case
async def lines_are_found_by_pattern_in_order(box: Sandbox) -> None:
    await box.write("a.py", b"x = 1\ny = 2\n")
    await box.write("b/c.py", b"# x = 3\n")
    await box.write("d.bin", b"x = \0\xff")
    found = await box.grep(r"x = \d", within="**/*.py")
    assert [(m.path, m.line, m.text) for m in found.matches] == [
        ("a.py", 1, "x = 1"), ("b/c.py", 1, "# x = 3"),
    ]  # fmt: skip
    bounded = await box.grep("=", most=1)
    assert (len(bounded.matches), bounded.more) == (1, True)
    with refused("pattern.bad"):
        await box.grep("(")


@case
async def a_file_that_is_too_large_is_not_written(box: Sandbox) -> None:
    with refused("file.too_large", "disk.full"):
        await box.write("big", b"x" * (LIMITS.file + 1))
    assert (await box.glob("*")).paths == ()


# Commands -----------------------------------------------------------------------------------------


@case
async def output_and_exit_are_told(box: Sandbox) -> None:
    ran = await run(box, "echo out; echo err >&2; exit 3")
    assert (ran.exit, ran.output, ran.size, ran.ended) == (3, b"out\nerr\n", 8, None)
    assert 0 < ran.seconds < 10


@case
async def output_is_heard_as_it_comes(box: Sandbox) -> None:
    heard, first = list[bytes](), asyncio.Event()

    def hear(piece: bytes) -> None:
        heard.append(piece)
        first.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(
            box.shell(Command(line="echo 1; until [ -e go ]; do sleep 0.02; done; echo 2"), hear)
        )
        async with asyncio.timeout(8):
            await first.wait()
        assert heard == [b"1\n"]
        await _put(box, "go")
    assert b"".join(heard) == task.result().output == b"1\n2\n"


async def _put(box: Sandbox, path: str) -> None:
    """Make a file while a command runs."""
    await box.write(path, b"")


@case
async def much_output_is_counted_and_its_first_bytes_are_kept(box: Sandbox) -> None:
    ran = await run(box, "head -c 50000 /dev/zero | tr '\\0' a; echo end")
    assert (ran.exit, ran.size, ran.ended) == (0, 50_004, None)
    assert ran.output == b"a" * LIMITS.output


@case
async def a_flood_is_ended(box: Sandbox) -> None:
    ran = await run(box, "yes")
    assert ran.ended == "output"
    assert ran.words
    assert len(ran.output) == LIMITS.output
    assert await text(box, "echo next") == "next\n"


@case
async def a_command_works_on_the_disk(box: Sandbox) -> None:
    await box.write("in.txt", b"abc")
    assert await text(box, "cat in.txt; printf 123 >out.txt; pwd") == "abc/work\n"
    assert (await box.read("out.txt")).data == b"123"


@case
async def what_a_command_made_can_be_written_and_the_other_way_round(box: Sandbox) -> None:
    await text(box, "mkdir d; echo 1 >d/f")
    await box.write("d/g", b"2")
    await box.write("d/f", b"3", known=(await box.read("d/f")).hash)
    assert await text(box, "echo 4 >>d/g; rm d/f; cat d/g; rm -r d; ls") == "24\n"


@case
async def a_folder_of_the_disk_is_where_it_runs(box: Sandbox) -> None:
    await box.write("a/b", b"")
    assert await text(box, "pwd", cwd="a") == "/work/a\n"
    assert await text(box, "pwd", cwd="/work/a") == "/work/a\n"
    with refused("path.missing"):
        await run(box, "pwd", cwd="nothing")
    with refused("path.kind"):
        await run(box, "pwd", cwd="a/b")
    with refused("path.outside"):
        await run(box, "pwd", cwd="../..")


@case
async def variables_are_for_one_line_alone(box: Sandbox) -> None:
    odd = "a b'\"$x\nü"
    assert await text(box, 'printf %s "$ODD"', variables={"ODD": odd}) == odd
    assert await text(box, 'printf %s "${ODD-none}"') == "none"


@case
async def nothing_of_the_studios_own_variables_is_seen(box: Sandbox) -> None:
    names = {line.partition("=")[0] for line in (await text(box, "env")).splitlines()}
    assert not [name for name in names if name.startswith(("STUDIO", "PYTEST", "VIRTUAL"))]
    assert {"PATH", "HOME"} <= names


@case
async def secret_files_are_for_one_line_alone_and_not_on_the_disk(box: Sandbox) -> None:
    line = "cat /run/secrets/key; stat -c %a /run/secrets/key; ls -A"
    assert await text(box, line, files={"key": b"s3cret\n"}) == "s3cret\n400\n"
    ran = await run(box, "cat /run/secrets/key")
    assert ran.exit != 0
    assert b"s3cret" not in ran.output


@case
async def there_is_nothing_to_read_from_a_person(box: Sandbox) -> None:
    assert await text(box, "cat; tty -s || echo no") == "no\n"


@case
async def a_command_ends_at_its_limit_with_all_it_started(box: Sandbox) -> None:
    begun = time.monotonic()
    line = f"(setsid {SLEEP} &) ; nohup {SLEEP} >/dev/null & trap '' TERM; {SLEEP}"
    ran = await run(box, line, seconds=0.7)
    assert ran.ended == "timeout"
    assert ran.words
    assert ran.exit != 0
    assert time.monotonic() - begun < 6
    assert await _running() == ""


@case
async def what_a_command_leaves_behind_ends_with_it(box: Sandbox) -> None:
    assert await text(box, f"(setsid {SLEEP} >/dev/null 2>&1 &); echo done") == "done\n"
    assert await _running() == ""


async def _running() -> str:
    """The sleepers of a case that still run, looked at from outside, a second after it at most.

    A kernel takes its time over a namespace whose first process is gone.
    """
    end = time.monotonic() + 1
    while (found := _sleepers()) and time.monotonic() < end:
        await asyncio.sleep(0.01)
    return found


def _sleepers() -> str:
    return "".join(
        words for path in Path("/proc").glob("[0-9]*/cmdline") if (words := _words(path)) == SLEEP
    )


def _words(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace").replace("\0", " ").strip()
    except OSError:
        return ""


@case
async def commands_run_side_by_side(box: Sandbox) -> None:
    line = "touch {0}; for i in $(seq 200); do [ -e {1} ] && exit 0; sleep 0.02; done; exit 1"
    async with asyncio.TaskGroup() as group:
        both = [group.create_task(run(box, line.format(*names))) for names in ("ab", "ba")]
    assert [task.result().exit for task in both] == [0, 0]


@case
async def a_command_that_nobody_waits_for_ends(box: Sandbox) -> None:
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(box.shell(Command(line=f"echo 1; {SLEEP}"), lambda _: begun.set()))
        async with asyncio.timeout(8):
            await begun.wait()
        task.cancel()
    assert await _running() == ""
    assert await text(box, "echo next") == "next\n"


@case
async def the_network_is_closed(box: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        place = f"/dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        assert (await run(box, f"exec 3<>{place}")).exit != 0
        assert (await run(box, "exec 3<>/dev/tcp/93.184.216.34/80", seconds=3)).exit != 0
        with contextlib.suppress(BlockingIOError):
            server.accept()
            raise AssertionError("it was reached")


@case
async def the_system_cannot_be_changed(box: Sandbox) -> None:
    ran = await run(box, "touch /usr/bin/mine || touch /etc/mine || touch /mine")
    assert ran.exit != 0


@case
async def a_disk_that_is_too_full_ends_the_command(box: Sandbox) -> None:
    line = "for i in $(seq 40); do head -c 4000000 /dev/zero >$i; sleep 0.05; done; sleep 5"
    ran = await run(box, line)
    assert ran.ended == "disk"
    assert "Delete" in ran.words
    assert await text(box, "rm -f *; echo free") == "free\n"


# Life ---------------------------------------------------------------------------------------------


@case
async def starting_twice_is_nothing(box: Sandbox) -> None:
    await box.start()
    await box.write("f", b"1")
    await box.start()
    assert (await box.read("f")).data == b"1"


@case
async def stopping_ends_commands_and_leaves_the_disk(box: Sandbox) -> None:
    await box.write("f", b"1")
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(box.shell(Command(line=f"echo 1; {SLEEP}"), lambda _: begun.set()))
        async with asyncio.timeout(8):
            await begun.wait()
        await box.stop()
    assert task.result().ended == "stopped"
    assert await _running() == ""
    assert await text(box, "cat f") == "1"


@case
async def a_reset_leaves_an_empty_disk(box: Sandbox) -> None:
    await text(box, "mkdir -p a/b; echo 1 >a/b/c; chmod 0 a/b; ln -s a l; mkfifo f")
    await box.reset()
    assert await text(box, "ls -A") == ""


@case
async def the_disk_can_be_had_as_a_folder(box: Sandbox) -> None:
    await text(box, "mkdir -p a/empty; echo 1 >a/f; chmod 750 a/f; ln -s f a/l; touch -d @1 a/f")
    async with box.folder() as folder:
        assert (folder / "a/f").read_text() == "1\n"
        assert (folder / "a/f").stat().st_mode & 0o777 == 0o750
        assert (folder / "a/f").stat().st_mtime == 1
        assert (folder / "a/empty").is_dir()
        assert (folder / "a/l").readlink() == Path("f")


@case
async def the_disk_can_be_changed_as_a_folder(box: Sandbox) -> None:
    await text(box, "mkdir gone; echo 1 >gone/f; echo 2 >left")
    async with box.folder(changing=True) as folder:
        shutil.rmtree(folder / "gone")
        (folder / "new").mkdir()
        (folder / "new/f").write_text("3")
        (folder / "new/l").symlink_to("f")
    assert await text(box, "ls; cat left new/l; echo 4 >>new/f; cat new/f") == "left\nnew\n2\n334\n"


@case
async def the_folder_is_had_while_no_command_runs(box: Sandbox) -> None:
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(
            box.shell(Command(line="echo 1; sleep 0.5; echo 2 >end"), lambda _: begun.set())
        )
        async with asyncio.timeout(8):
            await begun.wait()
        async with box.folder() as folder:
            assert (folder / "end").read_text() == "2\n"


# Kinds --------------------------------------------------------------------------------------------


Opened = contextlib.AbstractAsyncContextManager[Sandbox]
KINDS: dict[str, Callable[[Path], Opened]] = {}
REFUSED = "refused: this kind has no disk and no shell"
# Where a kind differs on purpose; a test holds that it really does.
DIFFERENCES: dict[tuple[str, str], str] = {("none", name): REFUSED for name in CASES}


def kind(open_: Callable[[Path], Opened]) -> Callable[[Path], Opened]:
    """A kind, by its function's name."""
    KINDS[open_.__name__.strip("_")] = open_
    return open_


@kind
@contextlib.asynccontextmanager
async def _none(folder: Path) -> AsyncIterator[Sandbox]:
    yield NoSandbox()


@kind
@contextlib.asynccontextmanager
async def _remote(folder: Path) -> AsyncIterator[Sandbox]:
    disks, scratch = folder / "disks", folder / "scratch"
    disks.mkdir()
    scratch.mkdir()
    with box_service.service(disks) as found:
        connector = Connector(Rules.of([found.url.removeprefix("http://")]))
        service = Service(found.url, box_service.TOKEN, "env_1", connector)
        try:
            yield RemoteSandbox(service, LIMITS, scratch)
        finally:
            await connector.aclose()


@kind
@contextlib.asynccontextmanager
async def _container(folder: Path) -> AsyncIterator[Sandbox]:
    cli = Cli(str(container_cli.program(folder)), "docker")
    image = Image(name=container_cli.IMAGE)
    yield Container(folder / "disk", identity="env_1", image=image, cli=cli, limits=LIMITS, free=0)


@contextlib.asynccontextmanager
async def _live(folder: Path) -> AsyncIterator[Sandbox]:
    cli = await answering()
    assert cli is not None, "STUDIO_TEST_IMAGE is set, so docker or podman answers here"
    folder.chmod(0o755)  # so that the container's user comes to the disk
    identity = f"env_{folder.name}"
    image = Image(name=os.environ["STUDIO_TEST_IMAGE"])
    yield Container(folder / "disk", identity=identity, image=image, cli=cli, limits=LIMITS, free=0)


if os.environ.get("STUDIO_TEST_IMAGE"):
    KINDS["live"] = _live


@kind
@contextlib.asynccontextmanager
async def _sandbox(folder: Path) -> AsyncIterator[Sandbox]:
    launcher = Launcher()
    try:
        yield Box(folder / "disk", machine=probe(), launcher=launcher, limits=LIMITS, free=0)
    finally:
        await launcher.close()


async def play(name: str, words: str, folder: Path) -> str:
    """What came of a case with a kind: nothing when it holds, else what was wrong."""
    async with KINDS[name](folder) as box:
        try:
            async with asyncio.timeout(30):
                await CASES[words](box)
        except (AssertionError, SandboxError, TimeoutError, OSError) as wrong:
            return f"{type(wrong).__name__}: {wrong}"
        except BaseExceptionGroup as several:
            return f"{type(several.exceptions[0]).__name__}: {several.exceptions[0]}"
        finally:
            await box.stop()
    return ""


async def main() -> int:
    """Play every case with every kind and print the table."""
    failed, reasons = 0, list[str]()
    sys.stdout.write(f"{'case':62}{''.join(f'{name:12}' for name in KINDS)}\n")
    for words in CASES:
        cells = list[str]()
        for name in KINDS:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                wrong = await play(name, words, Path(folder))
            differs = (name, words) in DIFFERENCES
            failed += bool(wrong) != differs
            cells.append("differs" if wrong and differs else "FAIL" if wrong else "pass")
            reasons += [f"FAIL {name}, {words}: {wrong}"] if wrong and not differs else []
        sys.stdout.write(f"{words:62}{''.join(f'{cell:12}' for cell in cells)}\n")
    sys.stdout.write(f"{len(CASES)} cases, {len(KINDS)} kinds, {failed} not as stated\n")
    for line in reasons:
        sys.stdout.write(f"{line}\n")
    for (name, words), why in DIFFERENCES.items():
        if name != "none":
            sys.stdout.write(f"differs: {name}, {words}: {why}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
