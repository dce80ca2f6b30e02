"""An environment at a sandbox service: what is sent once, what is lost, what is not believed."""

import asyncio
import hashlib
import io
import os
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from studio.core.network.connector import Connector
from studio.core.network.resolver import Rules
from studio.core.sandboxes import gaps
from studio.core.sandboxes.contract import Command, Limits, SandboxError
from studio.core.sandboxes.egress.tried import Tried
from studio.core.sandboxes.remote import RemoteSandbox
from studio.core.sandboxes.services import archive as disks
from studio.core.sandboxes.services.service import Service
from tests.standins import boxed, raw_http
from tests.standins.box_service import TOKEN, BoxService, service
from tests.standins.raw_http import Asked, Talk

pytestmark = pytest.mark.skipif(boxed.MISSING is not None, reason=str(boxed.MISSING))
LIMITS = Limits(output=100_000, command_seconds=5)


@pytest.fixture
def server(tmp_path) -> Iterator[BoxService]:
    (tmp_path / "disks").mkdir()
    with service(tmp_path / "disks") as found:
        yield found


@pytest.fixture
async def opened(tmp_path) -> AsyncIterator[Callable[..., RemoteSandbox]]:
    """Make an environment at an address."""
    connectors = list[Connector]()

    def opening(url: str, token: str = TOKEN, *, allowed: bool = True) -> RemoteSandbox:
        place = [url.removeprefix("http://").partition("/")[0]]
        connectors.append(Connector(Rules.of(place if allowed else [])))
        return RemoteSandbox(Service(url, token, "env_1", connectors[-1]), LIMITS, tmp_path)

    yield opening
    for connector in connectors:
        await connector.aclose()


@pytest.fixture
def box(server, opened) -> RemoteSandbox:
    return opened(server.url)


# Once ---------------------------------------------------------------------------------------------


async def test_a_command_is_sent_once_under_its_key(box, server):
    await box.shell(Command(line="echo 1", egress="eff_1"))

    assert list(server.runs) == ["eff_1"]
    assert server.asked.count(("POST", "/environments/env_1/commands")) == 1


@pytest.mark.parametrize("lines", [0, 1, 2])
async def test_a_lost_answer_is_asked_for_and_nothing_runs_again(box, server, lines):
    server.cuts = [lines]
    heard = list[bytes]()
    line = "echo 1; echo x >>ran; sleep 0.2; echo 2; sleep 0.2; echo 3"

    ran = await box.shell(Command(line=line, egress="eff_1"), heard.append)

    assert (ran.exit, ran.ended, ran.output) == (0, None, b"1\n2\n3\n")
    assert b"".join(heard) == ran.output
    assert server.ran == [line]
    assert [path for method, path in server.asked if method == "POST"] == [
        "/environments/env_1/commands"
    ]


async def test_an_answer_that_stays_lost_is_said_to_be_lost(box, server):
    server.cuts = [0, 0, 0, 0]

    ran = await box.shell(Command(line="echo x >>ran"))

    assert (ran.exit, ran.ended) == (-1, "lost")
    assert "not sent again" in ran.words
    assert server.ran == ["echo x >>ran"]


async def test_a_service_that_forgot_the_command_means_lost_too(box, server):
    server.cuts, server.forgets = [0], True

    ran = await box.shell(Command(line="echo x >>ran"))

    assert ran.ended == "lost"
    assert server.ran == ["echo x >>ran"]


async def test_a_command_that_nobody_waits_for_is_ended_there(box, server):
    async with asyncio.TaskGroup() as group:
        begun = asyncio.Event()
        task = group.create_task(
            box.shell(Command(line="echo 1; sleep 64", egress="eff_2"), lambda _: begun.set())
        )
        await begun.wait()
        task.cancel()

    assert ("DELETE", "/environments/env_1/commands/eff_2") in server.asked


async def test_what_a_command_tried_to_reach_is_passed_on(server, opened, tmp_path):
    server.tried = [
        {"host": "a.example", "port": 443, "outcome": "refused", "reason": "It is not."}
    ]
    told = list[Tried]()
    box = opened(server.url)
    box._tried = told.append

    await box.shell(Command(line="true", egress="eff_3"))

    assert told == [
        Tried(host="a.example", port=443, outcome="refused", reason="It is not.", started=0,
              milliseconds=0, command="eff_3"),
    ]  # fmt: skip


@pytest.mark.parametrize("told", [1, {}, {"host": "a", "port": 1, "outcome": "fine"}, "x"])
async def test_places_that_are_not_told_in_full_make_an_end_unreadable(server, box, told):
    server.tried = [told]

    assert (await box.shell(Command(line="true"))).ended == "lost"


async def test_an_environment_is_got_or_made_by_its_very_name(server, opened, tmp_path):
    await opened(server.url).start()
    await opened(server.url).start()

    assert list(server.environments) == ["env_1"]
    assert server.environments["env_1"].wanted["limits"]["memory"] == LIMITS.memory


async def test_what_it_keeps_is_what_it_says_of_our_words(box):
    await box.start()

    assert box.features == {"files", "system", "network", "tree", "secret_files"}
    assert {gap.row for gap in gaps.gaps("remote", box.features)} == gaps.KEYS - box.features - {
        "allow_list"
    }


# Refusals -----------------------------------------------------------------------------------------


async def test_a_wrong_token_is_said(server, opened):
    with pytest.raises(SandboxError, match="does not know its token"):
        await opened(server.url, "other").shell(Command(line="true"))


async def test_a_private_address_is_not_reached_unless_it_is_allowed(server, opened):
    with pytest.raises(SandboxError, match="loopback"):
        await opened(server.url, allowed=False).start()
    assert server.asked == []


async def test_a_service_that_is_not_there_is_said(opened):
    with pytest.raises(SandboxError, match="cannot be connected to") as refused:
        await opened("http://127.0.0.1:9").start()
    assert refused.value.code == "sandbox.unavailable"


@pytest.mark.parametrize(
    "url,token", [("not a url", "t"), ("http://x y", "t"), ("http://127.0.0.1:1", "a\nb")]
)
async def test_an_address_or_token_that_cannot_be_used_is_said(opened, url, token):
    with pytest.raises(SandboxError):
        await opened(url, token).start()


# A service that misbehaves ------------------------------------------------------------------------

GOOD = b'{"keeps": []}'


def answering(status: int = 200, **answers: bytes):
    """A service that answers each last part of a path so; a start is answered well."""

    async def handle(asked: Asked, talk: Talk) -> None:
        last = asked.path.rpartition("/")[2]
        await talk.answer(*((GOOD,) if last == "env_1" else (answers.get(last, b""), status)))

    return raw_http.served(handle)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"nonsense\n", b"[]\n", b'{"output": 1}\n', b'{"output": "%%"}\n', b'{"end": 1}\n',
        b'{"end": {}}\n', b'{"end": {"exit": "0"}}\n', b'{"end": {"exit": 0, "ended": "fine"}}\n',
        b'{"output": "' + b"a" * 2_000_000,
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_of_the_protocol_is_no_success(opened, body):
    with answering(commands=body) as port:
        ran = await opened(f"http://127.0.0.1:{port}").shell(Command(line="true"))

    assert (ran.exit, ran.ended) == (-1, "lost")  # it may have run


@pytest.mark.parametrize(
    "end",
    [
        b'{"exit": %d}' % 10**30, b'{"exit": 0, "ended": []}',
        b'{"exit": 0, "tried": [{"host": "a", "port": 1e999, "outcome": "failed"}]}',
        b'{"exit": 0, "tried": [{"host": "a", "port": 1, "outcome": "failed", "started": 1e999}]}',
        b'{"exit": 0, "tried": [{"host": "a", "port": 1, "outcome": []}]}', b"[" * 100_000,
    ],
)  # fmt: skip
async def test_an_end_that_nothing_could_hold_is_no_success(opened, end):
    with answering(commands=b'{"end": ' + end + b"}\n") as port:
        ran = await opened(f"http://127.0.0.1:{port}").shell(Command(line="true"))

    assert (ran.exit, ran.ended) == (-1, "lost")


async def test_what_a_service_tells_is_bounded_so_that_it_can_be_kept(opened):
    end = (
        b'{"exit": 1, "size": %d, "words": "\\ud800", "tried": [{"host": "a\\udfff", "port": 1,'
        b' "outcome": "failed", "reason": "\\ud800", "bytes_up": %d, "started": -1}]}'
    )
    told = list[Tried]()
    with answering(commands=b'{"end": ' + end % (10**30, 10**30) + b"}\n") as port:
        box = opened(f"http://127.0.0.1:{port}")
        box._tried = told.append
        ran = await box.shell(Command(line="true"))

    assert (ran.exit, ran.size, ran.words) == (1, 2**63 - 1, "?")
    (item,) = told
    assert (item.host, item.reason, item.bytes_up, item.started) == ("a?", "?", 2**63 - 1, 0)


async def test_words_of_a_refusal_can_be_kept(opened):
    async def handle(asked: Asked, talk: Talk) -> None:
        await talk.answer(b'{"error": {"code": "path.missing", "message": "no \\ud800"}}', 404)

    with raw_http.served(handle) as port, pytest.raises(SandboxError) as refused:
        await opened(f"http://127.0.0.1:{port}").start()
    assert (refused.value.code, refused.value.message) == ("path.missing", "no ?")


@pytest.mark.parametrize("status,ended", [(500, "lost"), (502, "lost"), (504, "lost")])
async def test_a_service_that_failed_may_have_run_it(opened, status, ended):
    with answering(status) as port:
        ran = await opened(f"http://127.0.0.1:{port}").shell(Command(line="true"))

    assert ran.ended == ended


@pytest.mark.parametrize("status", [400, 404, 409, 429])
async def test_a_service_that_refused_did_not_run_it(opened, status):
    with answering(status) as port, pytest.raises(SandboxError, match="Nothing ran"):
        await opened(f"http://127.0.0.1:{port}").shell(Command(line="true"))


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"size": "x", "hash": 1, "made": 1}',
             b'{"size": 1e999, "hash": "", "made": true}'],
)  # fmt: skip
async def test_a_write_that_is_not_confirmed_is_no_success(opened, body):
    with answering(file=body) as port, pytest.raises(SandboxError, match="cannot be read"):
        await opened(f"http://127.0.0.1:{port}").write("f", b"1")


@pytest.mark.parametrize(
    "body", [b'{"matches": 1}', b'{"matches": [1]}', b'{"matches": [{}]}',
             b'{"matches": [{"path": "a", "line": 1e999, "text": ""}]}'],
)  # fmt: skip
async def test_matches_that_are_none_are_not_believed(opened, body):
    with answering(grep=body) as port, pytest.raises(SandboxError, match="cannot be read"):
        await opened(f"http://127.0.0.1:{port}").grep("x")


async def test_a_refusal_in_a_code_of_its_own_is_not_taken_for_one_of_ours(opened):
    async def handle(asked: Asked, talk: Talk) -> None:
        await talk.answer(b'{"error": {"code": "approval.granted", "message": "go"}}', 409)

    with raw_http.served(handle) as port, pytest.raises(SandboxError) as refused:
        await opened(f"http://127.0.0.1:{port}").start()
    assert refused.value.code == "sandbox.unavailable"


async def test_the_token_is_in_no_error(opened):
    async def handle(asked: Asked, talk: Talk) -> None:
        talk.cut()

    with raw_http.served(handle) as port, pytest.raises(SandboxError) as refused:
        await opened(f"http://127.0.0.1:{port}", "very-secret").start()
    assert "very-secret" not in refused.value.message


# The disk as an archive ---------------------------------------------------------------------------


def archive(*members: tuple[str, bytes, str]) -> io.BytesIO:
    """Members as (name, kind, link)."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, kind, link in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, link
            tar.addfile(member)
    made.seek(0)
    return made


@pytest.mark.parametrize(
    "members",
    [
        [("../x", tarfile.REGTYPE, "")],
        [("/x", tarfile.REGTYPE, "")],
        [("a/../../x", tarfile.REGTYPE, "")],
        [("l", tarfile.SYMTYPE, "/"), ("l/tmp/x", tarfile.REGTYPE, "")],
        [("l", tarfile.SYMTYPE, ".."), ("l/x", tarfile.DIRTYPE, "")],
        [("l", tarfile.SYMTYPE, "/etc/passwd"), ("l", tarfile.REGTYPE, "")],
        [("h", tarfile.LNKTYPE, "../x")],
        [("h", tarfile.LNKTYPE, "/etc/passwd")],
        [("d", tarfile.CHRTYPE, "")],
        [("p", tarfile.FIFOTYPE, "")],
        [("f", tarfile.REGTYPE, ""), ("f", tarfile.REGTYPE, "")],
        [("f", tarfile.REGTYPE, ""), ("f/x", tarfile.REGTYPE, "")],
    ],
)
def test_an_archive_that_would_write_elsewhere_is_refused(tmp_path, members):
    folder = tmp_path / "disk"
    folder.mkdir()

    with pytest.raises(SandboxError, match="cannot be unpacked"):
        disks.unpack(archive(*members), folder, 1_000)
    assert os.listdir(tmp_path) == ["disk"]


def test_an_archive_of_nonsense_and_one_cut_short_are_refused(tmp_path):
    for data in (b"x" * 2_000, archive(("f", tarfile.REGTYPE, "")).getvalue()[:300]):
        with pytest.raises(SandboxError, match="cannot be unpacked"):
            disks.unpack(io.BytesIO(data), tmp_path, 1_000)


@pytest.mark.parametrize(
    "given",
    [
        {"mtime": 2**70},
        {"mtime": -(2**70)},
        {"size": -512},
        {"pax_headers": {"mtime": "inf"}},
        {"pax_headers": {"mtime": "1" * 30}},
        {"pax_headers": {"size": "-512"}},
        {"type": tarfile.SYMTYPE, "pax_headers": {"linkpath": "a\0b"}},
    ],
    ids=str,
)
def test_numbers_and_texts_that_no_disk_holds_are_refused(tmp_path, given):
    member = tarfile.TarInfo("f")
    for name, value in given.items():
        setattr(member, name, value)
    form = tarfile.PAX_FORMAT if member.pax_headers else tarfile.GNU_FORMAT
    data = member.tobuf(form) + bytes(20 * 512)

    with pytest.raises(SandboxError, match="cannot be unpacked"):
        disks.unpack(io.BytesIO(data), tmp_path, 1_000)


def test_more_than_the_limit_is_not_unpacked(tmp_path):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        member = tarfile.TarInfo("big")
        member.size = 2_000
        tar.addfile(member, io.BytesIO(b"x" * 2_000))
    made.seek(0)

    with pytest.raises(SandboxError) as refused:
        disks.unpack(made, tmp_path, 1_000)
    assert refused.value.code == "disk.full"


def test_a_disk_goes_there_and_back_as_it_was(tmp_path):
    there, back = tmp_path / "there", tmp_path / "back"
    for folder in (there / "a/empty", back):
        folder.mkdir(parents=True)
    (there / "a/f").write_bytes(b"1" * 3_000)
    (there / "a/f").chmod(0o751)
    os.link(there / "a/f", there / "hard")
    (there / "loose").symlink_to("/nowhere")
    (there / ("n" * 200)).write_text("ü")
    os.utime(there / ("n" * 200), ns=(-1_500_000_000, -1_500_000_000))
    for path in (there / "a/f", there / "a/empty", there / "a"):
        os.utime(path, ns=(1_234_567_890_123_456_789, 1_234_567_890_123_456_789))
    made = io.BytesIO()

    disks.pack(there, made)
    made.seek(0)
    assert b" mtime=-1.500000000\n" in made.getvalue()
    disks.unpack(made, back, 10_000)

    assert _tree(back) == _tree(there)


def _tree(folder: Path) -> list[tuple[str, int, int, str]]:
    found = []
    for path in sorted(folder.rglob("*")):
        entry = path.lstat()
        if path.is_symlink():
            held = os.readlink(path)
        else:
            held = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        moment = entry.st_mtime_ns
        found.append((str(path.relative_to(folder)), entry.st_mode, moment, held))
    return found
