"""Containers against a stand-in for docker's command line: what is passed, and whose it is."""

import asyncio
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from studio.core.sandboxes import container, gaps
from studio.core.sandboxes.container import Container, Image
from studio.core.sandboxes.containers import flags, script
from studio.core.sandboxes.containers.cli import Cli, answering
from studio.core.sandboxes.containers.flags import FLAGS, Backend, Shape
from studio.core.sandboxes.contract import Command, Limits, SandboxError
from tests.standins import boxed, container_cli

pytestmark = pytest.mark.skipif(boxed.MISSING is not None, reason=str(boxed.MISSING))
FEATURES = ("memory", "pids", "seccomp", "own_user", "relay")


class Docker:
    """The stand-in, with what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, folder / "state"
        self.program = container_cli.program(folder)

    def container(self, identity: str = "env_1", **more) -> Container:
        """An environment, with a client of its own as after a restart of the studio."""
        image = more.pop("image", Image(name=container_cli.IMAGE))
        cli = Cli(str(self.program), more.pop("name", "docker"))
        return Container(
            self.folder / "disks" / identity, identity=identity, image=image, cli=cli, free=0,
            **more,
        )  # fmt: skip

    def calls(self, verb: str = "") -> list[list[str]]:
        lines = (self.state / "calls.jsonl").read_text().splitlines()
        return [call for call in map(json.loads, lines) if not verb or call[0] == verb]

    def there(self) -> list[dict]:
        return [json.loads(path.read_text()) for path in (self.state / "containers").glob("*.json")]

    def answers(self, name: str, told: object) -> None:
        (self.state / name).write_text(json.dumps(told))


@pytest.fixture
def docker(tmp_path) -> Docker:
    (tmp_path / "disks").mkdir()
    return Docker(tmp_path)


# The command line ---------------------------------------------------------------------------------


def shape(**more) -> Shape:
    given = {"identity": "env_1", "image": "sha256:1", "disk": "/d", "inode": (1, 2)}
    given |= {"runtime": "/r", "owner": 65_533, "limits": Limits(), **more}
    return Shape(**given)


def backend(*features: str, name="docker", rootless=False) -> Backend:
    return Backend(name=name, rootless=rootless, features=frozenset(features))


def test_the_whole_command_line():
    words = flags.argv(shape(), backend(*FEATURES))

    told = " ".join(words)
    for part in (
        "run --detach --init --pull never",
        "--network none --read-only --cap-drop ALL --security-opt no-new-privileges",
        "--tmpfs /tmp:rw,nosuid,nodev,size=67108864",
        "--pids-limit 128 --memory 1073741824 --memory-swap 1073741824 --user 65533:65533",
        "--ulimit core=0 --ulimit fsize=536870912",
        "--ulimit nofile=1024",
        "--mount type=bind,source=/d,target=/work",
        "--mount type=bind,source=/r,target=/run/studio,readonly=true",
        "--label studio.environment=env_1",
        "--entrypoint /bin/sh sha256:1 -c",
    ):
        assert part in told
    assert "nproc" not in told
    podman = " ".join(flags.argv(shape(), backend(*FEATURES, name="podman")))
    assert "--ulimit nproc=" in podman  # else it asks for more than a machine may let it
    assert not {"--privileged", "--cap-add", "--volume", "--publish", "--device"} & set(words)


@pytest.mark.skipif(shutil.which("docker") is None, reason="docker's program is not installed")
def test_dockers_own_program_understands_every_word():
    told = shape(image="sha256:" + "1" * 64)
    for words in (
        flags.argv(told, backend(*FEATURES)), flags.argv(told, backend()),
        ["ps", "--all", "--quiet", "--no-trunc", "--filter", "label=a=b"],
        ["exec", "--interactive", "abc", *script.reading(b"1")], ["rm", "--force", "abc"],
    ):  # fmt: skip
        done = subprocess.run(
            ["docker", "--host", "unix:///nowhere.sock", *words], capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert "docker.sock" not in done.stderr
        assert "nowhere.sock" in done.stderr, done.stderr  # it got as far as asking the service


@pytest.mark.parametrize("count", range(len(FEATURES) + 1))
def test_the_flags_left_out_are_the_gaps_listed(count):
    rows = {flag.row for flag in FLAGS}
    for features in itertools.combinations(FEATURES, count):
        for loosened in ((), ("system",), ("network", "memory")):
            words = flags.argv(shape(loosened=frozenset(loosened)), backend(*features))
            left_out = {
                flag.row for flag in FLAGS if flag.row != "user" and flag.words[0] not in words
            }
            if "scratch" not in loosened and not any(w.startswith("/tmp:") for w in words):
                left_out.add("scratch")
            if "65533:65533" not in words or "own_user" not in features:
                left_out.add("user")
            listed = {gap.row for gap in gaps.gaps("container", features, loosened=loosened)}

            assert left_out == listed & rows


def test_a_flag_is_only_left_out_by_its_name():
    assert [flag.row for flag in flags.kept(FEATURES, {"system"})] == [
        flag.row for flag in FLAGS if flag.row != "system"
    ]


@pytest.mark.parametrize(
    "name,rootless,words", [("docker", True, []), ("podman", True, ["--userns", "keep-id"])]
)
def test_without_root_files_belong_to_the_studios_user(name, rootless, words):
    made = flags.argv(shape(), backend("memory", name=name, rootless=rootless))

    assert "--user" not in made
    assert [word for word in made if word in {"--userns", "keep-id"}] == words


# Who is found -------------------------------------------------------------------------------------


async def test_there_is_one_container_and_it_is_found_again(docker):
    first, second = docker.container(), docker.container()
    await first.start()
    await first.shell(Command(line="echo 1 >kept"))
    await second.start()

    assert len(docker.calls("run")) == 1
    assert (await second.shell(Command(line="cat kept"))).output == b"1\n"
    await second.stop()
    assert docker.there() == []


async def test_a_name_that_begins_the_same_is_another(docker):
    longer, shorter = docker.container("xy"), docker.container("x")
    await longer.start()
    await shorter.start()

    assert len(docker.there()) == 2
    await shorter.stop()
    assert [item["Config"]["Labels"]["studio.environment"] for item in docker.there()] == ["xy"]
    await longer.stop()


async def test_two_of_one_identity_are_refused(docker):
    box = docker.container()
    await box.start()
    (item,) = docker.there()
    container_cli.State(docker.state).keep({**item, "Id": "f" * 64, "Name": "other"})

    with pytest.raises(SandboxError, match="There are 2 containers") as refused:
        await docker.container().start()
    assert refused.value.code == "sandbox.unavailable"


async def test_a_container_that_ended_is_started_again(docker):
    await docker.container().start()
    (item,) = docker.there()
    container_cli.State(docker.state).keep({**item, "State": {"Running": False}})
    box = docker.container()

    assert (await box.shell(Command(line="echo hi"))).output == b"hi\n"
    assert docker.calls("start") == [["start", item["Id"]]]
    assert len(docker.calls("run")) == 1
    await box.stop()


async def test_a_container_of_other_limits_is_made_anew_and_the_disk_stays(docker):
    first = docker.container()
    await first.shell(Command(line="echo 1 >kept"))
    second = docker.container(limits=Limits(memory=64 * 1024**2))

    assert (await second.shell(Command(line="cat kept"))).output == b"1\n"
    assert len(docker.calls("run")) == 2
    assert len(docker.there()) == 1
    await second.stop()


def exchange(disk: Path) -> None:
    """Another folder in a disk's place, as a restore puts one there; the old one is gone."""
    disk.rename(disk.with_name("old"))
    disk.mkdir()
    (disk / "kept").write_text("restored\n")
    shutil.rmtree(disk.with_name("old"))


async def test_who_changes_the_disk_finds_no_container_started_for_it(docker):
    box = docker.container()
    await box.start()
    await box.stop()

    async with box.folder(changing=True) as folder:
        assert docker.there() == []
        exchange(folder)

    assert (await box.shell(Command(line="cat kept"))).output == b"restored\n"
    assert len(docker.calls("run")) == 2
    await box.stop()


async def test_a_container_that_holds_the_old_folder_of_a_disk_runs_nothing_more(docker):
    box = docker.container()
    await box.start()
    async with box.folder(changing=True) as folder:
        await box.glob("**")  # who looks meanwhile starts one
        (old,) = docker.there()
        exchange(folder)

    assert (await box.shell(Command(line="cat kept"))).output == b"restored\n"
    assert [item["Id"] for item in docker.there()] != [old["Id"]]
    assert docker.calls("rm") == [["rm", "--force", old["Id"]]]
    await box.stop()


async def test_a_container_of_a_folder_that_went_while_the_studio_was_down_is_made_anew(docker):
    await docker.container().start()
    exchange(docker.folder / "disks/env_1")
    box = docker.container()

    assert (await box.shell(Command(line="cat kept"))).output == b"restored\n"
    assert len(docker.calls("run")) == 2
    assert len(docker.there()) == 1
    await box.stop()


async def test_someone_else_with_the_same_name_is_not_attached_to(docker):
    container_cli.State(docker.state).keep({
        "Id": "e" * 64, "Name": flags.name("env_1"), "Config": {"Labels": {}},
        "State": {"Running": True}, "Options": [],
    })  # fmt: skip

    with pytest.raises(SandboxError, match="already in use"):
        await docker.container().start()


# The image ----------------------------------------------------------------------------------------


async def test_the_image_is_pinned_at_the_first_start(docker):
    pins = list[str]()
    image = Image(name=container_cli.IMAGE, pinned=pins.append)
    box = docker.container(image=image)
    await box.start()
    await box.stop()
    await box.start()

    assert pins == ["python@sha256:" + "a" * 64]
    assert {call[call.index("--entrypoint") + 2] for call in docker.calls("run")} == {
        "sha256:" + "1" * 64
    }
    await box.stop()


async def test_a_tag_that_moved_is_not_followed(docker):
    pin = "python@sha256:" + "a" * 64
    old = {**container_cli.IMAGES[container_cli.IMAGE]}
    moved = {"Id": "sha256:" + "2" * 64, "RepoDigests": ["python@sha256:" + "b" * 64]}
    docker.answers("images.json", {container_cli.IMAGE: moved, "python:old": old})
    box = docker.container(image=Image(name=container_cli.IMAGE, pin=pin))
    await box.start()

    (call,) = docker.calls("run")
    assert old["Id"] in call
    await box.stop()


async def test_an_image_that_is_not_here_is_fetched_by_its_digest(docker):
    pin = "python@sha256:" + "a" * 64
    away = {**container_cli.IMAGES[container_cli.IMAGE], "Away": True}
    docker.answers("images.json", {container_cli.IMAGE: away})
    box = docker.container(image=Image(name=container_cli.IMAGE, pin=pin))
    await box.start()

    assert docker.calls("pull") == [["pull", pin]]
    await box.stop()


async def test_an_image_that_does_not_exist_is_said(docker):
    with pytest.raises(SandboxError, match="manifest for nowhere not found"):
        await docker.container(image=Image(name="nowhere")).start()


# What is told, and what is not --------------------------------------------------------------------


async def test_nothing_of_a_command_is_in_an_argument(docker):
    box = docker.container()
    ran = await box.shell(Command(
        line="cat /run/secrets/k; echo $V line-secret", variables={"V": "variable-secret"},
        files={"k": b"file-secret\0\xff'\"\\\n"},
    ))  # fmt: skip

    assert ran.output == b"file-secret\0\xff'\"\\\nvariable-secret line-secret\n"
    assert "secret" not in json.dumps(docker.calls()).replace("/run/secrets", "")
    await box.stop()


async def test_a_line_is_a_line_whatever_is_in_it(docker):
    box = docker.container()
    for line, said in (
        ("printf '%s' \"it's\"", b"it's"), ("printf 'a\\n\\nb'; exit 0 # it's", b"a\n\nb"),
        ("cat <<'EOF'\n$(no) `no` \\\nEOF\n", b"$(no) `no` \\\n"),
        ("code=7; sweep() { :; }; echo ok", b"ok\n"), (")", None),
    ):  # fmt: skip
        ran = await box.shell(Command(line=line))
        assert said is None or ran.output == said
        assert (ran.exit == 0) is (said is not None)
    await box.stop()


async def test_what_hides_from_its_mark_ends_when_the_environment_stops(docker):
    box = docker.container()
    line = (
        "(env -u SANDBOX_COMMAND setsid sh -c 'touch hid; exec sleep 71' >/dev/null 2>&1 &);"
        " until [ -e hid ]; do sleep 0.02; done; echo left"
    )
    assert (await box.shell(Command(line=line))).output == b"left\n"
    async with asyncio.timeout(5):
        while not _sleeps("71"):  # the gap that `gaps` lists: row `tree`
            await asyncio.sleep(0.01)

    await box.stop()

    assert _sleeps("71") == 0
    assert "tree" in {gap.row for gap in gaps.gaps("container", FEATURES)}


def _sleeps(seconds: str) -> int:
    wanted = f"sleep\0{seconds}\0".encode()
    return sum(_words(path) == wanted for path in Path("/proc").glob("[0-9]*/cmdline"))


def _words(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


async def test_a_container_that_is_gone_is_said_and_the_next_command_makes_another(docker):
    box = docker.container()
    await box.shell(Command(line="echo 1 >>ran"))
    (item,) = docker.there()
    (docker.state / "containers" / f"{item['Id']}.json").unlink()

    with pytest.raises(SandboxError, match="No such container"):
        await box.shell(Command(line="echo 1 >>ran"))
    assert (docker.folder / "disks/env_1/ran").read_text() == "1\n"
    assert (await box.shell(Command(line="cat ran"))).output == b"1\n"
    await box.stop()


async def test_a_container_that_ends_in_the_middle_of_a_command_leaves_it_lost(docker):
    box = docker.container()
    begun = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(box.shell(Command(line="echo 1; sleep 60"), lambda _: begun.set()))
        await begun.wait()
        (item,) = docker.there()
        await asyncio.to_thread(container_cli.kill, item)

    assert (task.result().ended, task.result().output) == ("lost", b"1\n")
    await box.stop()


DRIVER = """
import asyncio, sys
from pathlib import Path
from studio.core.sandboxes.container import Container, Image
from studio.core.sandboxes.containers.cli import Cli
from studio.core.sandboxes.contract import Command
from tests.standins import container_cli

async def main() -> None:
    folder = Path(sys.argv[1])
    box = Container(
        folder / "disks/env_1", identity="env_1", image=Image(name=container_cli.IMAGE),
        cli=Cli(str(folder / "docker"), "docker"), free=0,
    )
    line = "(setsid sleep 74 &); echo ready; sleep 74"
    await box.shell(Command(line=line), lambda piece: print(piece.decode(), end="", flush=True))

asyncio.run(main())
"""


async def test_a_command_ends_when_the_studio_is_killed(docker):
    driver = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DRIVER, str(docker.folder), stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert driver.stdout is not None
    async with asyncio.timeout(10):
        assert await driver.stdout.readline() == b"ready\n"
        while not _sleeps("74"):  # the one in the background may begin later
            await asyncio.sleep(0.01)
        driver.kill()
        await driver.wait()
        while _sleeps("74"):
            await asyncio.sleep(0.02)
    await docker.container().stop()


async def test_a_service_that_does_not_answer_is_said(docker):
    docker.answers("info.json", {"ServerErrors": ["Cannot connect to the Docker daemon"]})

    with pytest.raises(SandboxError, match="does not reach its service"):
        await docker.container().start()


@pytest.mark.parametrize(
    "name,told,features,rootless",
    [
        ("docker", container_cli.INFO, {"memory", "pids", "seccomp"}, False),
        ("docker", {"SecurityOptions": ["name=rootless"], "MemoryLimit": False}, set(), True),
        ("docker", {"SecurityOptions": ["name=seccomp,profile=unconfined"]}, set(), False),
        ("podman", {"host": {"cgroupControllers": ["cpu", "pids"],
                             "security": {"rootless": True, "seccompEnabled": True}}},
         {"pids", "seccomp"}, True),
        ("podman", {"host": {}}, set(), False),
    ],
)  # fmt: skip
async def test_what_a_service_keeps_is_read_from_what_it_says(
    docker, name, told, features, rootless
):
    docker.answers("info.json", told)

    found_ = await Cli(str(docker.program), name).backend()

    own = {"own_user"} if os.geteuid() == 0 and not rootless else set()
    assert found_ == Backend(name=name, rootless=rootless, features=frozenset(features | own))


# The network --------------------------------------------------------------------------------------


async def test_a_command_reaches_the_proxy_and_nothing_else(docker):
    container_cli.with_socat(docker.state)
    labels = list[str]()

    async def serve(listener: socket.socket, label: str) -> None:
        labels.append(label)
        server = await asyncio.start_unix_server(_greets, sock=listener)
        async with server:
            await server.serve_forever()

    box = docker.container(serve=serve)
    line = "exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}; cat <&3"
    ran = await box.shell(Command(line=line, egress="eff_1"))
    await box.stop()

    assert ran.output == b"hello"
    assert labels == ["eff_1"]
    assert "relay" in box.features


async def _greets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"hello")
    writer.close()


async def test_the_sockets_of_the_proxy_are_out_of_a_commands_reach(docker):
    box = docker.container()
    line = "touch /run/studio/a; rmdir /run/studio; chmod 777 /run/studio; touch a; ls"
    ran = await box.shell(Command(line=line))

    assert ran.output.count(b"Read-only file system") == 3
    assert ran.output.endswith(b"\na\n")
    assert (docker.folder / "disks/env_1.sockets").stat().st_mode & 0o777 == 0o711
    await box.stop()


def test_a_link_at_a_sockets_name_changes_the_mode_of_nothing_else(tmp_path):
    secret, folder = tmp_path / "secret", tmp_path / "sockets"
    folder.mkdir()
    secret.touch(0o600)
    over, swapped = threading.Event(), list[str]()

    def swap() -> None:
        while not over.is_set():
            for name in os.listdir(folder):
                if name.endswith(".sock"):
                    (folder / "trap").symlink_to(secret)
                    os.rename(folder / "trap", folder / name)
                    swapped.append(name)

    swapper = threading.Thread(target=swap)
    swapper.start()
    opened, tries, until = 0, itertools.count(), time.monotonic() + 3
    try:
        while (len(swapped) < 200 or not opened) and time.monotonic() < until:
            way = container._listener(folder, f"{next(tries)}.sock")
            with suppress(SandboxError, FileNotFoundError), way:
                opened += 1
    finally:
        over.set()
        swapper.join()

    assert (len(swapped) >= 20, opened > 0) == (True, True)
    assert secret.stat().st_mode & 0o777 == 0o600


async def test_without_a_relay_in_the_image_the_network_is_closed_and_that_is_a_gap(docker):
    async def serve(listener: socket.socket, label: str) -> None:
        raise AssertionError("there is no way to it")

    box = docker.container(serve=serve)
    if shutil.which("socat"):
        pytest.skip("this machine, which is the stand-in's image, has socat")
    ran = await box.shell(Command(line='echo "${HTTP_PROXY-none}"'))
    await box.stop()

    assert ran.output == b"none\n"
    rows = {gap.row for gap in gaps.gaps("container", box.features, places=True)}
    assert "allow_list" in rows


# Live ---------------------------------------------------------------------------------------------


async def _live() -> tuple[Cli, str]:
    """A container service that answers here, and an image of it; skipped without."""
    cli = await answering()
    if cli is None:
        pytest.skip("NOT RUN: containers: neither docker nor podman is installed")
    try:
        images = await cli.sure("images", "--format", "{{.ID}}")
    except SandboxError as wrong:
        pytest.skip(f"NOT RUN: containers: {wrong.message}")
    if not images.split():
        pytest.skip(f"NOT RUN: containers: {cli.name} has no image")
    image = images.decode().split()[0]
    limits = ("--ulimit", "nofile=1024", "--ulimit", "nproc=1024")
    shell = ("--network", "none", "--entrypoint", "/bin/sh", image, "-c", ":")
    tried = await cli.call("run", "--rm", *limits, *shell)
    if tried.code:  # no container at all runs here, whatever the studio asks
        pytest.skip(f"NOT RUN: containers: {cli.name} runs none here: {tried.error}")
    return cli, image


async def test_a_real_container_where_there_is_one(tmp_path):
    cli, image = await _live()
    tmp_path.chmod(0o755)
    box = Container(
        tmp_path / "disk", identity=f"test-{os.getpid()}", image=Image(name=image), cli=cli, free=0
    )
    try:
        ran = await box.shell(Command(line="id -u; touch /x || echo kept; echo 1 >f"))
        late = await box.shell(Command(line="(setsid sleep 72 &); sleep 73", seconds=1))
    finally:
        await box.stop()

    assert ran.output.endswith(b"kept\n")
    assert late.ended == "timeout"
    assert (tmp_path / "disk/f").read_text() == "1\n"


@pytest.mark.parametrize("name", ["docker", "podman"])
async def test_the_program_that_answers_is_taken(tmp_path, monkeypatch, name):
    for other in ("docker", "podman"):
        path = tmp_path / other
        if other == name:
            container_cli.program(tmp_path).rename(path)
        else:
            path.write_text("#!/bin/sh\necho no service >&2; exit 1\n")
            path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    cli = await answering()

    assert cli is not None
    assert (cli.name, cli.is_known) == (name, True)
