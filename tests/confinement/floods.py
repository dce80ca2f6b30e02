"""Using things up: each is ended within its bound, and the next command works."""

import os
import time

from tests.confinement.room import LIMITS, PYTHON, Room, alive, case

BOTH = "bubblewrap landlock"
ANY = "bubblewrap landlock none"
RECOVERED = 5.0  # seconds


async def works_again(room: Room, began: float, allowed: float = RECOVERED) -> None:
    """The next command works, and all of it did not take too long."""
    assert await room.said("echo on") == "on\n"
    assert time.monotonic() - began < allowed


@case("output without end", where=ANY)
async def output(room: Room) -> None:
    began = time.monotonic()
    ran = await room.run("yes")
    assert ran.ended == "output"
    assert len(ran.output) == LIMITS.output < ran.size
    await works_again(room, began)


@case("more processes than allowed", where=ANY)
async def fork_bomb(room: Room) -> None:
    began = time.monotonic()
    said = await room.python(
        "import os, time\nmade = 0\n"
        "while made < 400:\n"
        "    try: pid = os.fork()\n"
        "    except OSError: break\n"
        "    if pid == 0: time.sleep(60); os._exit(0)\n"
        "    made += 1\n"
        "print(made)\n"
    )
    assert 0 < int(said) <= LIMITS.processes, said
    await works_again(room, began)


@case("a fork bomb", where=ANY)
async def bomb(room: Room) -> None:
    began = time.monotonic()
    ran = await room.run(":(){ :|:& };: ; sleep 60", seconds=1.0)
    assert ran.ended == "timeout" or ran.exit != 0
    await works_again(room, began)


@case("more memory than allowed", where=ANY)
async def memory(room: Room) -> None:
    began = time.monotonic()
    ran = await room.run("exec /usr/bin/python3 -I -c 'x = bytearray(2**29); print(len(x))'")
    assert str(2**29).encode() not in ran.output
    if room.machine.groups:
        assert ran.ended == "memory"
    await works_again(room, began)


@case("memory of many processes together", where=ANY)
async def shared_memory(room: Room) -> None:
    if room.machine.groups is None:
        assert "cgroups" not in room.machine.features, "it is a gap, and said to be one"
        return
    began = time.monotonic()
    one = f"/usr/bin/python3 -I -c 'x = bytearray(b\"x\" * {LIMITS.memory // 4}); print(1)'"
    ran = await room.run(f"for i in 1 2 3 4 5 6; do ({one}; sleep 60) & done; wait", seconds=2.0)
    assert ran.output.count(b"1\n") < 6
    await works_again(room, began)


@case("a file that is too large", where=ANY)
async def large_file(room: Room) -> None:
    began = time.monotonic()
    await room.run("head -c 200M /dev/zero > big")
    assert (room.disk / "big").stat().st_size == LIMITS.file
    (room.disk / "big").unlink()
    await works_again(room, began)


@case("more files than the disk may hold, in bytes", where=ANY)
async def disk(room: Room) -> None:
    began = time.monotonic()
    ran = await room.run("for i in $(seq 400); do head -c 4M /dev/zero > f$i; sleep 0.01; done")
    assert ran.ended == "disk", ran
    assert sum(file.stat().st_blocks * 512 for file in room.disk.iterdir()) < 4 * LIMITS.disk
    await room.said("rm f*")
    assert list(room.disk.iterdir()) == []
    await works_again(room, began)


@case("more than the disk may hold, deleted and held open", where=ANY)
async def unlinked(room: Room) -> None:
    began = time.monotonic()
    line = (
        f'{PYTHON} -c "import os, time\nheld = []\nfor n in range(200):\n'
        " f = open(str(n), 'wb', 0); os.unlink(str(n)); held.append(f); f.write(bytes(1 << 20))\n"
        'time.sleep(30)"'
    )
    ran = await room.run(line)
    assert ran.ended == "disk", ran
    assert len(list(room.disk.iterdir())) <= 1  # ended between making and deleting one
    await works_again(room, began)


@case("more files than the disk may hold, without a byte", where=ANY)
async def entries(room: Room) -> None:
    began = time.monotonic()
    ran = await room.run(
        "exec /usr/bin/python3 -I -c '\nimport time\n"
        "for i in range(200000):\n"
        '    open(str(i), "w").close()\n'
        "    if i % 100 == 0: time.sleep(0.01)'"
    )
    assert ran.ended == "disk", ran
    assert len(os.listdir(room.disk)) < 5 * LIMITS.entries
    await room.box.reset()
    await works_again(room, began)


@case("folders in each other without end", where=ANY)
async def deep(room: Room) -> None:
    began = time.monotonic()
    ran = await room.run(
        "exec /usr/bin/python3 -I -c '\nimport os, time\n"
        "for i in range(3000):\n"
        '    os.mkdir("d"); os.chdir("d")\n'
        "time.sleep(60)'"
    )
    assert ran.ended == "disk", ran
    await room.box.reset()
    assert list(room.disk.iterdir()) == []
    await works_again(room, began)


@case("/tmp and /dev/shm")
async def scratch(room: Room) -> None:
    began = time.monotonic()
    ran = await room.run(
        "for d in /tmp /dev/shm / /dev /run /proc; do head -c 20M /dev/zero > $d/a;"
        " for i in 1 2 3 4 5; do cat $d/a > $d/b$i; done; done; du -sm /tmp /dev/shm"
    )
    sizes = [int(line.split()[0]) for line in ran.output.decode().splitlines() if "\t/" in line]
    assert ran.ended == "memory" or all(size <= LIMITS.memory // 4 // 2**20 for size in sizes)
    await works_again(room, began)


@case("a command that never ends", where=ANY)
async def endless(room: Room) -> None:
    began = time.monotonic()
    ran = await room.run("sleep 1000", seconds=0.3)
    assert (ran.ended, ran.exit < 0) == ("timeout", True)
    assert 0.3 <= ran.seconds < 1.5
    await works_again(room, began)


@case("a command that ignores signals, with children that left its session", where=ANY)
async def stubborn(room: Room) -> None:
    tag, began = f"86401.{os.getpid()}{room.port}", time.monotonic()
    ran = await room.run(
        "trap '' TERM HUP INT; for i in 1 2 3; do setsid nohup bash -c"
        f" '(trap \"\" TERM HUP INT; sleep {tag}) & disown; sleep {tag}' & done; sleep {tag}",
        seconds=0.5,
    )
    assert ran.ended == "timeout"
    assert alive(tag) == []
    await works_again(room, began)


@case("a child that holds the output open", where=ANY)
async def held_output(room: Room) -> None:
    began = time.monotonic()
    ran = await room.run("sleep 1000 & echo done")
    assert (ran.output, ran.ended, ran.exit) == (b"done\n", None, 0)
    await works_again(room, began)
