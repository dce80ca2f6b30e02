"""Phoenix as the peer of `bench.trace`: it is sent the same spans by OTLP and asked what it has.

It runs from `.cache/phoenix`, where `make test-phoenix` installs it.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import httpx

from bench import stories, traces_in
from bench.figures import Figure
from bench.openings import LIMIT, Peer
from e2e.studio import until

COUNTS = "{projects{edges{node{name id recordCount}}}}"
SENT = 600.0  # seconds until it must have what will be opened
BUSY = 503
HEADERS = {"Content-Type": "application/x-protobuf"}
PATH = "/v1/traces"


def filled(client: httpx.Client, bodies: Sequence[bytes], count: int) -> float:
    """Send requests and wait until so many spans can be asked for; the seconds it took."""
    began = time.perf_counter()
    for body in bodies:
        until(lambda body=body: _taken(client, body), seconds=SENT, what="room for spans")
    what = f"Phoenix's answer that it has {count:,} spans"
    until(lambda: _has(client) >= count, seconds=SENT, what=what)
    return time.perf_counter() - began


def peer(client: httpx.Client, traces: Mapping[int, str]) -> Peer:
    """It as a program to open traces in; the ids of the traces by size."""
    here, project = str(client.base_url).rstrip("/"), _projects(client)["default"][0]
    began = datetime.fromtimestamp(stories.BEGAN / 1000, UTC)
    days = {
        "timeRangeStart": (began - timedelta(days=1)).strftime("%Y-%m-%dT00:00:00.000Z"),
        "timeRangeEnd": (began + timedelta(days=30)).strftime("%Y-%m-%dT00:00:00.000Z"),
    }
    return Peer(
        name="Phoenix", link=lambda n: f"{here}/projects/{project}/traces/{traces[n]}",
        list=f"{here}/projects/{project}/traces?{urlencode(days)}",
        opener=lambda n: f'a[href*="/traces/{traces[n]}"]', row=".span-node__heading",
    )  # fmt: skip


async def taken_in(client: httpx.Client, spans: int) -> Figure:
    """Spans a second until it says that it has them all, sent as `bench.traces_in` sends them."""
    before = _has(client)
    bodies, _ = traces_in.bodies_of(spans)
    left = iter(bodies)
    headers = {**HEADERS, "Content-Encoding": "gzip"}
    began = time.perf_counter()
    end = began + LIMIT

    async def send(http: httpx.AsyncClient) -> None:
        for body in left:
            while time.perf_counter() < end:
                answer = await http.post(PATH, content=body)
                if answer.status_code != BUSY:
                    answer.raise_for_status()
                    break
                await asyncio.sleep(0.1)

    async with httpx.AsyncClient(base_url=client.base_url, headers=headers, timeout=120) as http:
        await asyncio.gather(*(send(http) for _ in range(traces_in.SENDERS)))
    has = 0
    while has < spans and time.perf_counter() < end:
        has = await asyncio.to_thread(_has, client) - before
        await asyncio.sleep(0.1)
    took = time.perf_counter() - began
    note = f"{spans:,} spans" if has >= spans else f"{has:,} of {spans:,} spans came within"
    return Figure(
        name="Phoenix: spans a second, until queryable", value=max(has, 1) / took, unit="1/s",
        note=f"{note}, {took:,.0f} s",
    )  # fmt: skip


def _taken(client: httpx.Client, body: bytes) -> bool:
    answer = client.post(PATH, content=body, headers=HEADERS)
    if answer.status_code == BUSY:
        return False
    answer.raise_for_status()
    return True


def _projects(client: httpx.Client) -> dict[str, tuple[str, int]]:
    """Id and count of spans of every project, by its name."""
    answer = client.post("/graphql", json={"query": COUNTS})
    answer.raise_for_status()
    nodes = [edge["node"] for edge in answer.json()["data"]["projects"]["edges"]]
    return {node["name"]: (node["id"], int(node["recordCount"])) for node in nodes}


def _has(client: httpx.Client) -> int:
    return sum(count for _, count in _projects(client).values())
