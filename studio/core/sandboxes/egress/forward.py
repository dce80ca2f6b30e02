"""One plain HTTP request, carried to its host and its answer back.

The Host field is written from the place that was judged (RFC 9112, 3.2.2). An upgrade goes no
further: one who wants another protocol asks for a tunnel.
"""

import asyncio

from studio.core.network import hosts
from studio.core.network.streams import Pair
from studio.core.sandboxes.egress import answers, heads, relays
from studio.core.sandboxes.egress.heads import Request, Target
from studio.core.sandboxes.egress.watching import Watch

MOST_INTERIM = 16


async def forward(asked: Request, target: Target, client: Pair, host: Pair, watch: Watch) -> bool:
    """Whether the client's connection may carry another request.

    Raises Declined when the host gives no answer that can be read, while nothing of it was passed
    on; Broken and ConnectionError later.
    """
    head = _head(asked, target)
    watch.up(len(head))
    await relays.send(host[1], head)
    try:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(_body(asked, client[0], host[1], watch))
            keeps = await _answered(asked, client[1], host[0], watch)
            whole = sending.done()
            sending.cancel()
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    return keeps and whole


def _head(asked: Request, target: Target) -> bytes:
    """The head as the host gets it, in origin form."""
    fields = heads.passed_on(asked.fields, without={"host"})
    name = target.host if target.port == 80 and ":" not in target.host else None
    place = name or hosts.place(target.host, target.port)
    if heads.request_length(asked).kind == "chunks":
        fields = (*fields, ("transfer-encoding", "chunked"))
    line = f"{asked.method} {target.path} {asked.version}"
    return heads.written(line, (("host", place), *fields, ("connection", "close")))


async def _body(
    asked: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
    watch: Watch,
) -> None:  # fmt: skip
    try:
        length = heads.request_length(asked)
        await relays.body(reader, writer, length, watch.up)
    except (heads.BadHead, relays.Broken) as wrong:
        raise relays.Broken(f"The request broke off. {wrong}") from None
    except OSError:
        return  # the host takes no more; what it answers is read beside this


async def _answered(
    asked: Request, writer: asyncio.StreamWriter, reader: asyncio.StreamReader,
    watch: Watch,
) -> bool:  # fmt: skip
    """Carry the answer; whether the client may send another request after it."""
    found, length = await _final(asked, writer, reader, watch)
    knows_chunks = asked.version == "HTTP/1.1"
    ends_with_it = length.kind == "close" or (length.kind == "chunks" and not knows_chunks)
    keeps = heads.keeps(asked.version, asked.fields) and not ends_with_it
    fields = heads.passed_on(found.fields, without=_told_anew(length))
    if length.kind == "chunks" and knows_chunks:
        fields = (*fields, ("transfer-encoding", "chunked"))
    fields = (*fields, ("connection", "keep-alive" if keeps else "close"))
    await relays.send(writer, heads.written(f"HTTP/1.1 {found.line}", fields))
    try:
        if length.kind == "chunks" and not knows_chunks:
            await relays.unchunked(reader, writer, watch.down)
        else:
            await relays.body(reader, writer, length, watch.down)
    except (heads.BadHead, relays.Broken) as wrong:
        raise relays.Broken(f"The answer broke off. {wrong}") from None
    return keeps


async def _final(
    asked: Request, writer: asyncio.StreamWriter, reader: asyncio.StreamReader,
    watch: Watch,
) -> tuple[heads.Answer, heads.Length]:  # fmt: skip
    """The head of the answer; what comes before it (100, 103) is passed on."""
    for _ in range(MOST_INTERIM):
        raw = await _raw(reader)
        watch.down(len(raw))
        try:
            found = heads.answer(raw)
            length = heads.answer_length(found, asked.method)
        except heads.BadHead as wrong:
            raise answers.failed(str(wrong)) from None
        if found.status >= 200:
            return found, length
        if found.status == 101:
            raise answers.failed(
                "The host changes to another protocol; ask for a tunnel (CONNECT)."
            )
        if asked.version == "HTTP/1.1":
            fields = heads.passed_on(found.fields)
            await relays.send(writer, heads.written(f"HTTP/1.1 {found.line}", fields))
    raise answers.failed("The host sends no answer, only words before it.")


async def _raw(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, OSError):
        raise answers.failed("The host closed the connection without an answer.") from None
    except asyncio.LimitOverrunError:
        raise answers.failed("The head of the answer is too large.") from None


def _told_anew(length: heads.Length) -> set[str]:
    return {"content-length"} if length.kind == "chunks" else set()
