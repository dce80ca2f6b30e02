"""The sandbox kind beyond its confinement: what commands get, how they end, who waits for whom."""

import asyncio
import os
import resource
import time

import pytest

from studio.core.sandboxes.contract import Command, Limits, SandboxError
from studio.core.sandboxes.sandbox import Box
from tests.confinement.room import alive


async def said(box, line: str, **given) -> str:
    return (await box.shell(Command(line=line, **given))).output.decode()


async def code(awaited) -> str:
    with pytest.raises(SandboxError) as refused:
        await awaited
    return refused.value.code


async def test_a_command_is_told_by_its_output_and_its_code(box):
    heard = []

    ran = await box.shell(Command(line="echo out; echo err >&2; exit 3"), heard=heard.append)

    assert (ran.output, ran.exit, ran.ended) == (b"out\nerr\n", 3, None)
    assert (ran.size, b"".join(heard)) == (8, ran.output)
    assert 0 < ran.seconds < 5


async def test_the_disk_outlives_commands_and_files_see_what_they_made(box):
    await said(box, "mkdir -p src && echo one > src/a && chmod 640 src/a")
    read = await box.read("src/a")

    written = await box.write("src/a", b"two\n", known=read.hash)
    made = await box.write("src/new/b", b"mine\n")

    assert await said(box, "cat src/a src/new/b; stat -c %a src/a") == "two\nmine\n640\n"
    assert (written.made, made.made) == (False, True)
    assert await said(box, "echo more >> src/new/b && rm -r src/new && ls src") == "a\n"


async def test_files_that_were_written_belong_to_commands(box):
    await box.write("deep/er/a", b"x")

    owners = await said(box, "stat -c '%u:%g' deep deep/er deep/er/a")

    assert owners.split() == ["1000:1000"] * 3


async def test_a_command_runs_in_a_folder_of_the_disk(box):
    await box.write("a/b/file", b"")
    await said(box, "ln -s a/b near; ln -s /usr out")

    assert await said(box, "pwd -P", cwd="a/b") == "/work/a/b\n"
    assert await said(box, "pwd -P", cwd="/work/near") == "/work/a/b\n"
    assert await code(box.shell(Command(line=":", cwd="none"))) == "path.missing"
    assert await code(box.shell(Command(line=":", cwd="a/b/file"))) == "path.kind"
    assert await code(box.shell(Command(line=":", cwd="out"))) == "path.outside"
    assert await code(box.shell(Command(line=":", cwd="../.."))) == "path.outside"


async def test_variables_are_for_one_command(box):
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    got = await said(box, "echo $A $TRACEPARENT", variables={"A": "x y", "TRACEPARENT": trace})

    assert got == f"x y {trace}\n"
    assert await said(box, "env | cut -d= -f1 | sort | tr '\\n' ' '") == (
        "HOME LANG PATH PWD SHLVL TERM _ "
    )


@pytest.mark.parametrize(
    "command",
    [
        Command(line="a\0b"), Command(line="\udcff"), Command(line="x" * 200_000),
        Command(line=":", variables={"A B": "x"}), Command(line=":", variables={"A": "\0"}),
        Command(line=":", files={"../x": b""}), Command(line=":", files={"a/b": b""}),
    ],
    ids=["null", "not UTF-8", "long", "variable", "value", "file out", "file below"],
)  # fmt: skip
async def test_what_cannot_be_given_to_a_command_is_refused(box, command):
    assert await code(box.shell(command)) == "sandbox.unsupported"


async def test_output_is_kept_from_its_beginning_and_counted_whole(make_box):
    box = make_box(limits=Limits(output=10))

    ran = await box.shell(Command(line="printf '%s' 0123456789abcdef"))

    assert (ran.output, ran.size, ran.ended) == (b"0123456789", 16, None)


async def test_commands_run_side_by_side_up_to_a_bound(make_box):
    box = make_box(limits=Limits(commands=2))
    line = "echo x >> log; while [ $(wc -l < log) -lt 2 ]; do sleep 0.01; done"

    one, two = await asyncio.gather(*(box.shell(Command(line=line, seconds=5)) for _ in range(2)))
    await asyncio.gather(*(box.shell(Command(line="echo >> n; sleep 0.1")) for _ in range(4)))

    assert (one.exit, two.exit) == (0, 0), "each waited for the other"
    assert await said(box, "wc -l < n") == "4\n"


async def test_stopping_ends_what_runs_and_the_disk_stays(box):
    tag = f"86402.{os.getpid()}"
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            box.shell(Command(line=f"echo kept > a; echo; sleep {tag}"), lambda _: begun.set())
        )
        await begun.wait()
        await box.stop()

    assert running.result().ended == "stopped"
    assert alive(tag) == []
    assert await said(box, "cat a") == "kept\n"


async def test_a_command_that_waits_for_its_turn_does_not_begin_after_a_stop(make_box):
    box = make_box(limits=Limits(commands=1))
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(box.shell(Command(line="echo; sleep 60"), lambda _: begun.set()))
        await begun.wait()
        second = group.create_task(code(box.shell(Command(line="echo > ran"))))
        await asyncio.sleep(0)
        await box.stop()

    assert (first.result().ended, second.result()) == ("stopped", "sandbox.unavailable")
    assert (await box.glob("**")).paths == ()


async def test_who_gives_up_waiting_leaves_nothing_running(box):
    tag = f"86403.{os.getpid()}"
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            box.shell(Command(line=f"echo; sleep {tag}"), lambda _: begun.set())
        )
        await begun.wait()
        running.cancel()

    assert running.cancelled()
    assert alive(tag) == []
    assert await said(box, "echo on") == "on\n"


async def test_the_folder_is_given_when_no_command_runs_and_commands_wait(box):
    order = []

    async def held():
        async with box.folder(changing=True) as folder:
            order.append(((folder / "a").read_text(), alive("0.3007")))
            (folder / "b").write_text("restored")
            (folder / "a").unlink()

    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(
            box.shell(Command(line="echo; sleep 0.3007; echo late > a"), lambda _: begun.set())
        )
        await begun.wait()
        group.create_task(held())
        await asyncio.sleep(0)
        after = group.create_task(said(box, "ls; echo mine >> b; cat b"))

    assert order == [("late\n", [])]
    assert after.result() == "b\nrestoredmine\n"


async def test_a_reset_leaves_an_empty_disk_also_of_what_was_closed(box):
    await said(box, "mkdir -p closed/in .hidden && echo > closed/in/a && chmod 000 closed")

    await box.reset()

    assert await said(box, "ls -A") == ""


async def test_writes_stay_within_the_disk_s_bounds(make_box):
    box = make_box(limits=Limits(disk=1_000_000, file=600_000, entries=3))

    assert await code(box.write("a", b"x" * 700_000)) == "file.too_large"
    await box.write("a", b"x" * 500_000)
    await box.write("b", b"x" * 400_000)
    assert await code(box.write("c", b"x" * 300_000)) == "disk.full"
    await box.write("c", b"x")
    assert await code(box.write("d", b"x")) == "disk.full"


async def test_nothing_starts_when_the_machine_is_almost_full(tmp_path, launcher, boxed):
    box = Box(tmp_path / "disk", machine=boxed, launcher=launcher, free=2**60)

    assert await code(box.shell(Command(line="echo > a"))) == "disk.full"
    assert await code(box.write("a", b"x")) == "disk.full"
    await box.stop()
    assert os.listdir(tmp_path / "disk") == []


async def test_a_disk_that_is_too_full_can_be_cleared(make_box):
    box = make_box(limits=Limits(disk=4 * 2**20))

    full = await box.shell(Command(line="head -c 64M /dev/zero > a; sleep 20"))
    cleared = await box.shell(Command(line="sleep 0.3; rm a; sleep 0.3; ls"))

    assert full.ended == "disk"
    assert (cleared.ended, cleared.output) == (None, b"")


async def test_memory_that_was_used_up_is_told(make_box, boxed):
    if boxed.groups is None:
        pytest.skip("NOT RUN: no control groups can be made here")
    box = make_box(limits=Limits(memory=64 * 2**20))

    ran = await box.shell(
        Command(line="exec /usr/bin/python3 -c 'x = b\"x\" * 2**28; print(len(x))'")
    )

    assert (ran.ended, ran.exit) == ("memory", 137)
    assert "64 MiB" in ran.words


async def test_fifty_commands_one_after_another_leave_nothing_open(box):
    await said(box, ":")
    before = len(os.listdir("/proc/self/fd"))
    began = time.monotonic()

    for _ in range(50):
        await said(box, ":")

    assert len(os.listdir("/proc/self/fd")) == before
    assert time.monotonic() - began < 10


async def test_a_bound_that_the_studio_cannot_raise_stays_as_it_is(make_box, box, launcher):
    await said(make_box(name="first"), ":")
    resource.prlimit(launcher.pid, resource.RLIMIT_FSIZE, (2**20, 2**20))

    assert await said(box, "ulimit -f; ulimit -n; ulimit -u") == "1024\n1024\n128\n"


async def test_a_line_that_the_shell_cannot_read_does_nothing(box):
    ran = await box.shell(Command(line="(echo ran > a\necho ran > b; ulimit -u > c"))

    assert ran.exit == 2
    assert b"syntax error" in ran.output
    assert (await box.glob("**")).paths == ()


async def test_a_command_that_is_ended_while_others_run_leaves_them_alone(box):
    line = "echo; until [ -e go ]; do sleep 0.01; done; echo whole"
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        long = group.create_task(box.shell(Command(line=line), lambda _: begun.set()))
        await begun.wait()
        short = await box.shell(Command(line="sleep 60", seconds=0.1))
        await box.write("go", b"")

    assert short.ended == "timeout"
    assert long.result().output == b"\nwhole\n"
