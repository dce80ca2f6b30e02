"""A thousand open pages on one session: from the commit of a fact until each page has it.

The viewers are plain sockets in a process of their own, so that reading them costs the server
nothing.
"""

import asyncio
import multiprocessing
import re
import time
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from bench.figures import Figure, spread
from e2e.studio import Studio, until

VIEWERS = 1000
MESSAGES = 12
TIME = re.compile(rb'datetime="([^"]+)"')


async def run() -> list[Figure]:
    """Latency over all viewers and messages."""
    with Studio.new() as studio:
        cookie = _cookie(studio)
        session_id = studio.api.sessions.start("release-assistant", message="say hello")[
            "session_id"
        ]
        until(
            lambda: studio.api.sessions.show(session_id)["session"]["status"] == "completed",
            what="an end",
        )
        host = urlsplit(studio.url)
        ours, theirs = multiprocessing.Pipe()
        watching = multiprocessing.get_context("spawn").Process(
            target=watch,
            args=(theirs, str(host.hostname), int(host.port or 0), session_id, cookie),
        )
        watching.start()
        ours.recv()
        for number in range(MESSAGES):
            studio.api.sessions.send(session_id, f"say hello {number}")
            time.sleep(1.0)
        ours.send("done")
        times: list[float] = ours.recv()
        watching.join()
    note = spread(f"fact → seen by each of {VIEWERS:,} viewers", times, "ms", p99=250)
    return note


def _cookie(studio: Studio) -> str:
    with httpx.Client(base_url=studio.url) as browser:
        token = studio.link().rpartition("/")[2]
        browser.post(
            f"/sign-in/{token}", headers={"Origin": studio.url, "Sec-Fetch-Site": "same-origin"}
        )
        return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


def watch(pipe: Any, host: str, port: int, session_id: str, cookie: str) -> None:
    """The viewers' process."""
    asyncio.run(_watch(pipe, host, port, session_id, cookie))


async def _watch(pipe: Any, host: str, port: int, session_id: str, cookie: str) -> None:
    times: list[float] = []
    request = (
        f"GET /live/session/{session_id} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {cookie}\r\n"
        "Accept: text/event-stream\r\n\r\n"
    ).encode()
    live = 0

    async def view() -> None:
        nonlocal live
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(request)
        said_live = False
        while True:
            data = await reader.read(65536)
            now = time.time() * 1000
            if not data:
                return
            if not said_live:
                if b"event: live" in data:
                    said_live = True
                    live += 1
                continue
            for stamp in TIME.findall(data)[-1:]:
                times.append(now - datetime.fromisoformat(stamp.decode()).timestamp() * 1000)

    views = [asyncio.ensure_future(view()) for _ in range(VIEWERS)]
    while live < VIEWERS:
        await asyncio.sleep(0.1)
    pipe.send("ready")
    while not pipe.poll():
        await asyncio.sleep(0.05)
    for one in views:
        one.cancel()
    pipe.send(times)
