"""Ways out: files, mounts, rights, system calls, processes, network."""

import os
import shutil
import socket
import stat
from pathlib import Path

from tests.confinement.room import SECRET, Room, alive, case

BOTH = "bubblewrap landlock"
ANY = "bubblewrap landlock none"


async def hidden(room: Room, line: str) -> None:
    """A line does not show the secret, and something was tried at all."""
    said = await room.said(line)

    assert said, "nothing was said"
    assert SECRET not in said, said


@case("a link to a file outside is not followed out", where=BOTH)
async def link(room: Room) -> None:
    (room.disk / "link").symlink_to(room.secret)
    await hidden(room, "cat link 2>&1; echo tried")


@case("`..` does not lead out", where=BOTH)
async def dots(room: Room) -> None:
    await hidden(room, "cat ../secret ../../secret ../../../../../secret 2>&1; echo tried")


@case("an absolute path does not lead out", where=BOTH)
async def absolute(room: Room) -> None:
    await hidden(room, f"cat {room.secret} 2>&1; echo tried")


@case("/proc/self/root and /proc/self/cwd do not lead out", where=BOTH)
async def proc_self(room: Room) -> None:
    line = f"cat /proc/self/root{room.secret} /proc/self/cwd/../secret 2>&1; echo tried"
    await hidden(room, line)


@case("/proc/1/root does not lead out", where=BOTH)
async def proc_first(room: Room) -> None:
    await hidden(room, f"cat /proc/1/root{room.secret} /proc/1/cwd/../secret 2>&1; echo tried")


@case("a hard link to a file outside cannot be made", where=BOTH)
async def hard_link(room: Room) -> None:
    await room.said(f"ln {room.secret} a; ln /usr/bin/id b; ln -L /proc/self/exe c")
    assert os.listdir(room.disk) == []


@case("another environment's disk cannot be seen", where=BOTH)
async def other_disk(room: Room) -> None:
    other = room.base / "other"
    other.mkdir(mode=0o755)
    (other / "notes").write_text(SECRET)
    await hidden(room, f"cat {other}/notes ../other/notes 2>&1; ls {room.base} 2>&1; echo tried")


@case("nothing of the machine is there but /usr")
async def system(room: Room) -> None:
    line = "for d in /sys /root /home /var /run /mnt /opt /srv /boot; do ls -d $d; done 2>/dev/null"
    assert await room.said(line) == ""


@case("names and passwords of the machine are not there", where=BOTH)
async def passwords(room: Room) -> None:
    said = await room.said("cat /etc/passwd /etc/shadow /etc/hosts 2>&1; echo tried")
    assert "root:" not in said, said


@case("programs and libraries cannot be changed", where=BOTH)
async def programs(room: Room) -> None:
    said = await room.said("for f in /usr/x /usr/bin/x /etc/x; do echo > $f && echo wrote; done")
    assert "wrote" not in said
    assert not Path("/usr/x").exists()


@case("the root and /dev cannot be written to")
async def root_folder(room: Room) -> None:
    line = "for d in / /dev /etc /run /proc/sys/kernel; do echo > $d/x && echo wrote; done"
    assert "wrote" not in await room.said(line)


@case("settings of the kernel cannot be changed", where=BOTH)
async def sysctl(room: Room) -> None:
    line = "for f in kernel/hostname kernel/core_pattern vm/swappiness; do echo x > /proc/sys/$f"
    assert "wrote" not in await room.said(
        f"{line} && echo wrote; done; echo b > /proc/sysrq-trigger"
    )


@case("there are no devices of the machine")
async def devices(room: Room) -> None:
    said = await room.said("cd /dev; find . -type b; find . -type c -printf '%f '")
    known = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}
    assert set(said.split()) <= known, said


@case("a device node cannot be made", where=BOTH)
async def node(room: Room) -> None:
    await room.said("mknod disk b 8 0; mknod memory c 1 1")
    assert os.listdir(room.disk) == []


@case("a device node that root left on the disk does not open", root=True)
async def planted_node(room: Room) -> None:
    os.mknod(room.disk / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    (room.disk / "zero").chmod(0o666)
    said = await room.said("head -c 4 zero 2>&1 | od -An -c; echo tried")
    assert "\\0" not in said
    assert "denied" in await room.said("cat zero 2>&1 | head -c 100")


@case("a program that root left with a set user id gives no rights", root=True)
async def planted_program(room: Room) -> None:
    shutil.copy("/usr/bin/id", room.disk / "id")
    os.chown(room.disk / "id", 0, 0)
    (room.disk / "id").chmod(0o4755)
    assert (await room.said("./id -u")).strip() == "1000"


@case("su and sudo give no rights", where=BOTH)
async def become_root(room: Room) -> None:
    said = await room.said("(su -c id; sudo -n id; newgrp root -c id) 2>&1 </dev/null; echo tried")
    assert "uid=0" not in said, said


@case("a command has no capabilities, and can get none")
async def capabilities(room: Room) -> None:
    said = await room.said("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
    found = dict(line.split(":\t") for line in said.splitlines())
    assert {found[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")


@case("nothing can be mounted", where=BOTH)
async def mount(room: Room) -> None:
    said = await room.said("mkdir m; mount -t tmpfs x m && echo in; mount --bind /usr m && echo in")
    assert "in\n" not in said.replace("denied", "")


@case("no further namespaces can be made", where=BOTH)
async def namespaces(room: Room) -> None:
    for flag in ("-Ur", "-n", "-m", "-p", "-i", "-u", "-C"):
        assert "in" not in (await room.said(f"unshare {flag} echo in 2>/dev/null")).split()


@case("the root cannot be changed", where=BOTH)
async def chroot(room: Room) -> None:
    assert "in" not in (await room.said("chroot /usr /bin/echo in 2>/dev/null")).split()


@case("processes of the machine cannot be seen")
async def processes(room: Room) -> None:
    said = await room.said("ls /proc | grep -c '^[0-9]'")
    assert int(said) < 8, said


@case("the environment of the studio cannot be read", where=BOTH)
async def environment(room: Room) -> None:
    known = [name for name in os.environ if name.isupper() and len(name) > 5][:20]
    said = await room.said("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'")
    assert known, "the studio has an environment"
    assert not [name for name in known if f"{name}=" in said]


@case("processes of the machine cannot be signalled", where=BOTH)
async def signals(room: Room) -> None:
    said = await room.said(
        f"kill -0 {os.getpid()} && echo reached; kill -0 {os.getppid()} && echo reached"
    )
    assert "reached" not in said


@case("the network of the machine cannot be reached", where=BOTH)
async def loopback(room: Room) -> None:
    line = f"(exec 3<>/dev/tcp/127.0.0.1/{room.port}) 2>/dev/null && echo reached; echo tried"
    assert await room.said(line) == "tried\n"


@case("no other host can be reached", where=BOTH)
async def outside(room: Room) -> None:
    line = "(exec 3<>/dev/tcp/192.0.2.1/80) 2>&1; (exec 3<>/dev/tcp/1.1.1.1/53) 2>&1; echo tried"
    said = await room.said(line)
    assert said.count("unreachable") + said.count("not permitted") >= 2, said


@case("nothing goes out by UDP, and no name is resolved", where=BOTH)
async def udp(room: Room) -> None:
    said = await room.python(
        "import socket\n"
        "for what in (lambda: socket.socket(2, 2).sendto(b'x', ('192.0.2.1', 53)),\n"
        "             lambda: socket.socket(10, 2).sendto(b'x', ('2001:db8::1', 53)),\n"
        "             lambda: socket.getaddrinfo('example.org', 80)):\n"
        "    try: what(); print('reached')\n"
        "    except OSError as wrong: print('held', wrong)\n"
    )
    assert said.count("held") == 3, said


@case("sockets with a name of the machine cannot be reached", where=BOTH)
async def unix_sockets(room: Room) -> None:
    name = f"confined-{os.getpid()}-{room.port}"
    with socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as named:
        abstract.bind(f"\0{name}")
        abstract.listen(1)
        named.bind(str(room.base / "socket"))
        (room.base / "socket").chmod(0o777)
        named.listen(1)
        said = await room.python(
            "import socket\n"
            f"for place in ('\\0{name}', '{room.base}/socket'):\n"
            "    try: socket.socket(socket.AF_UNIX).connect(place); print('reached')\n"
            "    except OSError as wrong: print('held', wrong)\n"
        )
    assert said.count("held") == 2, said


@case("descriptors of the studio are not handed on", where=ANY)
async def descriptors(room: Room) -> None:
    with room.secret.open() as file:
        os.set_inheritable(file.fileno(), True)
        said = await room.python(
            "import os\n"
            "for fd in range(3, 1024):\n"
            "    try: print(fd, os.read(fd, 9))\n"
            "    except OSError: pass\n"
        )
    assert said == "", said


@case("there is nothing to read from a person", where=ANY)
async def stdin(room: Room) -> None:
    assert await room.said("read -r line; echo $?; cat; tty") == "1\nnot a tty\n"


@case("what a command starts does not go on without it", where=ANY)
async def daemon(room: Room) -> None:
    tag = f"86400.{os.getpid()}{room.port}"
    ran = await room.run(f"(setsid nohup sleep {tag} >/dev/null 2>&1 &); sleep 0.05; echo done")
    assert ran.output == b"done\n"
    assert alive(tag) == []


@case("variables of one command are not in the next, nor in a list of processes", where=ANY)
async def variables(room: Room) -> None:
    tag = f"confined{os.getpid()}x{room.port}"
    seen: list[int] = []
    line = "echo $SECRET; sleep 0.1"
    ran = await room.box.shell(
        _command(line, variables={"SECRET": tag}), heard=lambda _: seen.extend(alive(tag))
    )
    assert ran.output.decode().strip() == tag
    assert seen == []
    assert await room.said("echo $SECRET") == "\n"


@case("a secret file is there for one command, and nobody may change it")
async def secret_files(room: Room) -> None:
    line = "cat /run/secrets/key; stat -c '%a' /run/secrets/key; echo > /run/secrets/key"
    ran = await room.box.shell(_command(line, files={"key": SECRET.encode()}))
    assert ran.output.decode().startswith(f"{SECRET}400\n")
    assert b"Read-only" in ran.output
    assert await room.said("ls /run 2>/dev/null") == ""
    assert os.listdir(room.disk) == []


@case("/tmp is empty for each command")
async def fresh_tmp(room: Room) -> None:
    await room.said("echo left > /tmp/left; echo left > /dev/shm/left")
    assert await room.said("ls /tmp /dev/shm | grep left") == ""


def _command(line: str, **given):
    from studio.core.sandboxes.contract import Command

    return Command(line=line, **given)
