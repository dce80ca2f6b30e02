"""The way out of a box: one listener, answered outside, and nothing else."""

import asyncio
import socket

import pytest

from studio.core.sandboxes.contract import Command


class Answers:
    """Answers whatever comes with one line, and notes under which id it came."""

    def __init__(self) -> None:
        self.came: list[tuple[str, bytes]] = []
        self.ended = 0

    async def serve(self, listener: socket.socket, label: str) -> None:
        listener.setblocking(False)

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.came.append((label, await reader.readline()))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
            await writer.drain()
            writer.close()

        try:
            async with await asyncio.start_server(answer, sock=listener) as server:
                await server.serve_forever()
        finally:
            self.ended += 1


async def test_programs_reach_the_proxy_by_their_variables_and_it_knows_for_whom(make_box):
    answers = Answers()
    box = make_box(serve=answers.serve)

    ran = await box.shell(Command(line="curl -sS -m 5 http://a.test:81/x", egress="eff_1"))

    assert ran.output == b"yes", ran
    assert answers.came == [("eff_1", b"GET http://a.test:81/x HTTP/1.1\r\n")]
    assert answers.ended == 1, "nobody serves a command that ended"


async def test_there_is_no_other_way_out(make_box):
    answers = Answers()
    box = make_box(serve=answers.serve)
    with socket.socket() as near:
        near.bind(("127.0.0.1", 0))
        near.listen()
        port = near.getsockname()[1]
        line = (
            f"for a in 127.0.0.1/{port} 192.0.2.1/80 1.1.1.1/53; do"
            " (exec 3<>/dev/tcp/$a) 2>/dev/null && echo reached; done;"
            " getent hosts a.test; echo tried"
        )

        ran = await box.shell(Command(line=line))

    assert ran.output == b"tried\n"
    assert answers.came == []


async def test_without_an_allow_list_nothing_listens(box):
    ran = await box.shell(
        Command(line="(exec 3<>/dev/tcp/127.0.0.1/3128) 2>&1; env | grep -ci proxy")
    )

    assert b"refused" in ran.output
    assert ran.output.endswith(b"\n0\n")


async def test_boxes_side_by_side_have_listeners_of_their_own(make_box):
    answers = Answers()
    box = make_box(serve=answers.serve)

    await asyncio.gather(
        *(
            box.shell(Command(line=f"curl -s http://a.test/{number}", egress=f"eff_{number}"))
            for number in range(4)
        )
    )

    assert sorted(answers.came) == [
        (f"eff_{number}", f"GET http://a.test/{number} HTTP/1.1\r\n".encode())
        for number in range(4)
    ]


async def test_a_held_command_is_ended_at_its_time_too(make_box):
    async def never(listener: socket.socket, label: str) -> None:
        await asyncio.Event().wait()

    box = make_box(serve=never)

    ran = await box.shell(Command(line="curl -s http://a.test/", seconds=0.4))

    assert ran.ended == "timeout"


async def test_a_proxy_that_breaks_ends_the_command_and_is_heard_of(make_box):
    async def broken(listener: socket.socket, label: str) -> None:
        raise LookupError("broken")

    box = make_box(serve=broken)

    with pytest.raises(ExceptionGroup) as raised:
        await box.shell(Command(line="sleep 30"))

    assert raised.group_contains(LookupError)
    assert (await make_box(name="other").shell(Command(line="echo on"))).output == b"on\n"
