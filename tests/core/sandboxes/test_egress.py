"""The proxy: the table of what is tried against it, then time, slowness and ends."""

import asyncio
import contextlib
import errno
import json
import logging
import shutil
import socket
import sys

import pytest

from studio.core.sandboxes.egress.proxy import Bounds
from tests import egress

GET = "GET http://api.good.example:G{} HTTP/1.1\r\nHost: a\r\n\r\n"
TUNNEL = "CONNECT api.good.example:G HTTP/1.1\r\n\r\n"
WAITS = "POST http://api.good.example:G/waits HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n|"
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@pytest.mark.parametrize("case", egress.CASES, ids=lambda case: case.name)
async def test_the_table(case):
    assert await egress.play(case) == []


def test_the_table_is_long_and_each_case_is_its_own():
    names = [case.name for case in egress.CASES]

    assert len(names) >= 90
    assert len(set(names)) == len(names)


# What is told -------------------------------------------------------------------------------------


async def test_a_refusal_tells_the_model_what_to_do():
    async with egress.world() as (_, port):
        answer = await egress.talk(port, b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")

    told = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert told["error"] == "egress.refused"
    assert "ask the operator to add evil.example:443 to the network allow-list" in told["message"]


async def test_what_is_told_has_numbers_and_the_command_and_nothing_that_was_said():
    async with egress.world() as (found, port):
        asked = found.named(TUNNEL).encode()
        assert await egress.talk(port, asked + b"secret=1") == ESTABLISHED + b"secret=1bye"
        said = "GET http://api.good.example:G/path-secret HTTP/1.1\r\nHost: a\r\nX: secret\r\n\r\n"
        await egress.talk(port, found.named(said).encode())

    tunnel, plain = found.told
    assert (tunnel.bytes_up, tunnel.bytes_down) == (len("secret=1"), len("secret=1bye"))
    assert plain.bytes_up > 40
    assert plain.bytes_down > 5
    assert {item.command for item in found.told} == {"eff_1"}
    assert all(0 <= item.milliseconds < 5_000 for item in found.told)
    assert "secret" not in repr(found.told)


async def test_a_user_in_an_address_is_not_told():
    async with egress.world() as (found, port):
        await egress.talk(port, b"GET http://joe:passphrase@api.good.example/ HTTP/1.1\r\n\r\n")

    assert [item.host for item in found.told] == [""]
    assert "passphrase" not in repr(found.told)


async def test_a_connection_that_asks_nothing_is_no_try():
    async with egress.world() as (found, port):
        assert await egress.talk(port, b"") == b""

    assert found.told == []


# Time and slowness --------------------------------------------------------------------------------


async def test_a_silent_host_is_left_after_a_while():
    bounds = Bounds(idle_seconds=0.2, linger_seconds=0.1)
    async with egress.world(bounds) as (found, port):
        answer = await egress.talk(port, found.named(GET.format("/waits")).encode())

    assert answer.startswith(b"HTTP/1.1 504 ")
    assert [(item.outcome, item.reason) for item in found.told] == [
        ("failed", "Nothing moved for 0.2 s, so it was ended.")
    ]


async def test_a_tunnel_lives_as_long_as_bytes_move_and_no_longer_than_its_total():
    bounds = Bounds(idle_seconds=0.3, total_seconds=0.8, linger_seconds=0.1)
    async with egress.world(bounds) as (found, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(found.named(TUNNEL).encode())
        assert await reader.readexactly(len(ESTABLISHED)) == ESTABLISHED
        begun, beats = asyncio.get_running_loop().time(), 0
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                writer.write(b"x")
                await reader.readexactly(1)
                beats += 1
                await asyncio.sleep(0.1)
        lived = asyncio.get_running_loop().time() - begun
        writer.close()

    assert beats >= 5
    assert 0.7 < lived < 2
    assert found.told[0].reason == "It was ended after 0.8 s."


async def test_a_head_that_comes_slowly_is_not_waited_for():
    async with egress.world(Bounds(head_seconds=0.2, linger_seconds=0.1)) as (found, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET http://api.go")
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert [item.outcome for item in found.told] == ["refused"]


async def test_one_who_does_not_read_holds_up_nobody_and_no_memory():
    async with egress.world() as (found, port):
        slow = socket.create_connection(("127.0.0.1", port))
        slow.setblocking(False)
        await asyncio.get_running_loop().sock_sendall(slow, found.named(TUNNEL).encode())
        sent = await _until_full(slow)
        quick = await egress.talk(port, found.named(TUNNEL).encode() + b"ping")
        slow.close()

    assert quick.endswith(b"pingbye")
    assert sent < 128 * 1024 * 1024  # buffers of the kernel, which grow, at four sockets


async def _until_full(sender: socket.socket) -> int:
    """How much an echo takes whose answer is never read."""
    loop, sent = asyncio.get_running_loop(), 0
    with contextlib.suppress(TimeoutError):
        while sent < 256 * 1024 * 1024:
            async with asyncio.timeout(0.5):
                await loop.sock_sendall(sender, b"x" * 65_536)
            sent += 65_536
    return sent


async def test_no_more_connections_than_the_bound_are_served_at_once():
    async with egress.world(Bounds(connections=2, linger_seconds=0.1)) as (found, port):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for reader, writer in held:
            writer.write(found.named(TUNNEL).encode())
            await reader.readexactly(len(ESTABLISHED))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await egress.talk(port, found.named(TUNNEL).encode() + b"ping")
        for _, writer in held:
            writer.close()
        answer = await egress.talk(port, found.named(TUNNEL).encode() + b"ping")

    assert answer.endswith(b"pingbye")


# Ends ---------------------------------------------------------------------------------------------


async def test_one_side_may_end_long_before_the_other():
    async with egress.world() as (found, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(found.named(TUNNEL).encode() + b"all")
        await reader.readexactly(len(ESTABLISHED) + 3)
        writer.write_eof()
        rest = await reader.read()
        writer.close()

    assert rest == b"bye"


async def test_a_tunnel_that_the_command_leaves_open_is_told_of_when_it_ends():
    async with egress.world() as (found, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(found.named(TUNNEL).encode() + b"abc")
        await reader.readexactly(len(ESTABLISHED) + 3)
        assert found.told == []

    writer.close()
    assert [(item.outcome, item.reason, item.bytes_up) for item in found.told] == [
        ("allowed", "The command ended.", 3)
    ]


async def test_a_client_that_is_gone_is_told_of_once():
    async with egress.world() as (found, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(found.named(TUNNEL).encode() + b"abc")
        await reader.readexactly(len(ESTABLISHED) + 3)
        writer.transport.abort()
        await egress.talk(port, found.named(TUNNEL).encode() + b"ping")

    assert [item.outcome for item in found.told] == ["allowed", "allowed"]


@pytest.mark.parametrize(
    "asked,answered,told",
    [
        (TUNNEL + "|", ESTABLISHED, ("allowed", "One side broke the connection.")),
        (WAITS, b"HTTP/1.1 502 ",
         ("failed", "The host closed the connection without an answer.")),
    ],
)  # fmt: skip
async def test_a_host_whose_network_goes_in_the_middle_ends_its_own_connection_alone(
    asked, answered, told
):
    async with egress.world() as (found, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(found.named(TUNNEL).encode())
        await reader.readexactly(len(ESTABLISHED))

        answer = await found.broken(port, asked, OSError(errno.EHOSTUNREACH, "No route to host"))
        writer.write(b"still here")
        assert await reader.readexactly(10) == b"still here"
        writer.close()
        assert (await egress.talk(port, found.named(TUNNEL).encode() + b"on")).endswith(b"onbye")

    assert answer.startswith(answered)
    assert told in [(item.outcome, item.reason) for item in found.told]


async def test_a_fault_of_ours_ends_one_connection_and_is_logged(caplog):
    async with egress.world() as (found, port):
        await found.broken(port, TUNNEL + "|", RuntimeError("a fault"))
        answer = await egress.talk(port, found.named(TUNNEL).encode() + b"on")

    assert answer.endswith(b"onbye")
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "the others go on" in caplog.text


async def test_a_connection_that_broke_before_it_was_taken_does_not_end_the_listener():
    class Breaking(socket.socket):
        left = 3

        def accept(self):
            if self.left:
                self.left -= 1
                raise OSError(errno.EHOSTUNREACH, "No route to host")
            return super().accept()

    listener = Breaking()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    async with egress.world() as (found, _), asyncio.TaskGroup() as group:
        serving = group.create_task(found.egress.serve(listener))
        answer = await egress.talk(
            listener.getsockname()[1], found.named(TUNNEL).encode() + b"ping"
        )
        serving.cancel()

    assert (answer.endswith(b"pingbye"), listener.left) == (True, 0)


async def test_much_goes_through_whole():
    data = bytes(range(256)) * 16_384  # 4 MiB
    async with egress.world() as (found, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        writer.write(found.named(TUNNEL).encode())
        await reader.readexactly(len(ESTABLISHED))

        async def send() -> None:
            writer.write(data)
            await writer.drain()
            writer.write_eof()

        async with asyncio.TaskGroup() as group:
            group.create_task(send())
            back = await reader.read(-1)
        writer.close()

    assert back == data + b"bye"
    assert (found.told[0].bytes_up, found.told[0].bytes_down) == (len(data), len(data) + 3)


async def test_a_host_that_answers_before_it_read_all_is_heard():
    async with egress.world() as (found, port):
        head = found.named(
            "POST http://api.good.example:G/early HTTP/1.1\r\nHost: a\r\n"
            "Content-Length: 9999999\r\n\r\n"
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + b"x" * 100_000)
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert answer.endswith(b"no")


# Names --------------------------------------------------------------------------------------------


async def test_a_name_that_changes_its_mind_is_asked_once_and_reached_where_it_was_judged():
    async with egress.world() as (found, port):
        await egress.talk(port, found.named("CONNECT rebind.example:G HTTP/1.1\r\n\r\n").encode())

    assert found.asked == ["rebind.example"]
    assert found.dialled == [egress.PUBLIC]


async def test_a_place_that_is_not_listed_is_not_even_asked_for():
    async with egress.world() as (found, port):
        await egress.talk(port, b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n")

    assert (found.asked, found.dialled) == ([], [])


# Programs -----------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("options", [[], ["-p"]], ids=["absolute form", "tunnel"])
async def test_curl_gets_through(options):
    async with egress.world() as (found, port):
        url = found.named("http://api.good.example:G/x")
        out = await _run("curl", "-sS", *options, "-x", f"http://127.0.0.1:{port}", url)

    assert out == b"hello"


async def test_pythons_own_client_gets_through_and_is_refused_in_words():
    code = (
        "import sys, urllib.request as u, urllib.error as e\n"
        "o = u.build_opener(u.ProxyHandler({'http': sys.argv[1]}))\n"
        "print(o.open(sys.argv[2]).read().decode())\n"
        "try: o.open('http://evil.example/')\n"
        "except e.HTTPError as w: print(w.code, 'ask the operator' in w.read().decode())\n"
    )
    async with egress.world() as (found, port):
        url = found.named("http://api.good.example:G/x")
        out = await _run(sys.executable, "-c", code, f"http://127.0.0.1:{port}", url)

    assert out.split() == [b"hello", b"403", b"True"]


async def _run(*words: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(20):
        out, _ = await process.communicate()
    return out


# Answers ------------------------------------------------------------------------------------------


async def answered(path: str, version: str = "HTTP/1.1", method: str = "GET") -> bytes:
    async with egress.world() as (found, port):
        said = f"{method} http://api.good.example:G{path} {version}\r\nHost: a\r\n\r\n"
        return await egress.talk(port, found.named(said).encode())


async def test_chunks_are_written_anew_and_their_extras_go_no_further():
    head, _, body = (await answered("/chunks")).partition(b"\r\n\r\n")

    assert b"transfer-encoding: chunked" in head
    assert body == b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"


async def test_one_who_knows_no_chunks_gets_a_body_that_ends_with_the_connection():
    head, _, body = (await answered("/chunks", "HTTP/1.0")).partition(b"\r\n\r\n")

    assert b"chunked" not in head
    assert body == b"abcde"


async def test_the_answer_to_head_has_no_body():
    head, _, body = (await answered("/x", method="HEAD")).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 200 OK")
    assert body == b""


async def test_what_is_between_neighbours_goes_no_further():
    head, _, body = (await answered("/hops")).partition(b"\r\n\r\n")

    assert b"x-hop" not in head
    assert b"keep-alive: 5" not in head
    assert body == b"a"
