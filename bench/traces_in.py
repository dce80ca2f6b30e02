"""Spans taken in a second over OTLP until they can be asked for, by a studio in its own process.

Eight senders post packed requests of 512 spans; 20 spans a trace, each with what an instrumentation
says of a model or tool call, content of some hundred characters included. Queryable: the last trace
answers with all its spans. SQLite FULL.
"""

import asyncio
import gzip
import os
import random
import time
from pathlib import Path
from typing import Any

import httpx

from bench.figures import Figure, spread
from e2e.studio import Studio

SPANS = int(os.environ.get("BENCH_SPANS", "50000"))
REQUEST, TRACE, SENDERS, LOOKS = 512, 20, 8, 100
PATH = "/v1/otlp/v1/traces"
WORDS = "the release notes say that each draft was read by two people before it went out".split()


async def run() -> list[Figure]:
    """Spans a second, what the server's processor spent on each, and how others fared meanwhile."""
    bodies, last = bodies_of(SPANS)
    with Studio.new(command="serve") as studio:
        key = (studio.data / "cli.key").read_text().strip()
        kinds = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
        headers = {"Authorization": f"Bearer {key}", **kinds}
        async with httpx.AsyncClient(base_url=studio.url, headers=headers, timeout=60) as http:
            warm, _ = bodies_of(2 * REQUEST)
            for body in warm:
                (await http.post(PATH, content=body)).raise_for_status()
            before = [await _asked(http) for _ in range(LOOKS)]
            spent, began = _spent(studio), time.perf_counter()
            waits = await sent(http, bodies)
            (await http.get(f"/v1/outside-traces/{last}")).raise_for_status()
            took, spent = time.perf_counter() - began, _spent(studio) - spent
    size = sum(map(len, bodies)) / SPANS
    note = f"{SPANS:,} spans, {REQUEST} a request, {size:.0f} packed bytes a span, SQLite FULL"
    return [
        Figure(name="spans a second, until queryable", value=SPANS / took, unit="1/s", least=5_000,
               note=note),
        Figure(name="processor time of the server", value=spent / SPANS * 1e6, unit="µs a span",
               note=f"{spent / took:.2f} processors busy"),
        *spread("an empty request before", before, "ms"),
        *spread("an empty request meanwhile", waits, "ms"),
    ]  # fmt: skip


async def sent(http: httpx.AsyncClient, bodies: list[bytes]) -> list[float]:
    """Send all of it; meanwhile ask for /v1/health now and then. Its times in ms."""
    left, waits, over = iter(bodies), list[float](), False

    async def send() -> None:
        for body in left:
            answer = await http.post(PATH, content=body)
            answer.raise_for_status()
            if answer.content:
                raise ValueError(answer.text)

    async def look() -> None:
        while not over:
            waits.append(await _asked(http))
            await asyncio.sleep(0.02)

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        await asyncio.gather(*(send() for _ in range(SENDERS)))
        over = True
    return waits


async def _asked(http: httpx.AsyncClient) -> float:
    """How long an empty request takes, in ms."""
    began = time.perf_counter()
    await http.get("/v1/health")
    return (time.perf_counter() - began) * 1000


def bodies_of(count: int) -> tuple[list[bytes], str]:
    """Packed requests with so many spans, and the id of the last trace."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    chance, found, trace, root, now = random.Random(7), list[bytes](), b"", b"", time.time_ns()
    for start in range(0, count, REQUEST):
        request = ExportTraceServiceRequest()
        inside = request.resource_spans.add()
        _say(
            inside.resource.attributes, {"service.name": "shop", "telemetry.sdk.language": "python"}
        )
        scope = inside.scope_spans.add()
        scope.scope.name, scope.scope.version = "bench", "1"
        for number in range(start, min(start + REQUEST, count)):
            span = scope.spans.add(span_id=os.urandom(8), start_time_unix_nano=now + number)
            span.end_time_unix_nano = span.start_time_unix_nano + 5_000_000
            if number % TRACE == 0:
                trace, root = os.urandom(16), span.span_id
            else:
                span.parent_span_id = root
            span.trace_id = trace
            span.name = "chat small" if number % 2 else "execute_tool search"
            _say(span.attributes, _model(chance) if number % 2 else _tool(chance))
        found.append(gzip.compress(request.SerializeToString(), 1))
    return found, trace.hex()


def _model(chance: random.Random) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small", "gen_ai.response.model": "small-2026",
        "gen_ai.usage.input_tokens": chance.randrange(5_000),
        "gen_ai.usage.output_tokens": chance.randrange(500),
        "gen_ai.response.id": f"resp_{chance.getrandbits(64):x}", "server.address": "127.0.0.1",
        "gen_ai.input.messages": _words(chance, 60), "gen_ai.output.messages": _words(chance, 30),
    }  # fmt: skip


def _tool(chance: random.Random) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
        "gen_ai.tool.call.id": f"call_{chance.getrandbits(64):x}",
        "gen_ai.tool.call.arguments": _words(chance, 10),
        "gen_ai.tool.call.result": _words(chance, 60),
    }  # fmt: skip


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


def _say(pairs: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        pair = pairs.add(key=name)
        if isinstance(value, int):
            pair.value.int_value = value
        else:
            pair.value.string_value = value


def _spent(studio: Studio) -> float:
    """Seconds of processor time of the server."""
    assert studio.process is not None, "it runs"
    fields = Path(f"/proc/{studio.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
