"""A program and people: commands under keys, tried again until answered, and a stream.

Everything that was asked and heard is written down with its time, for the checker.
"""

import html
import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.crash.places import PATIENCE, House, Process

PAUSE = 0.02
COOKIE = "studio"


@dataclass(frozen=True, kw_only=True)
class Said:
    """A command by whom the journal names `who`, and its answer; `status` is 0 when none came."""

    verb: str
    path: str
    key: str
    who: str
    body: Any
    shown: str
    asked: float
    answered: float
    status: int
    answer: Any


@dataclass
class Driver:
    """Drives one house. `tag` marks everything that belongs to it at the stand-ins."""

    house: House
    people: dict[str, tuple[str, str]]
    tag: str
    said: list[Said] = field(default_factory=list)
    follower: "Follower | None" = None
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _clients: dict[tuple[str, str], httpx.Client] = field(default_factory=dict)

    # Commands -------------------------------------------------------------------------------------

    def start(self, message: str, agent: str = "crash", files: Sequence[str] = ()) -> str:
        """Start a session with a message, and follow it; `files` are uploads that go with it."""
        body: dict[str, Any] = {"agent": agent, "title": self.tag, "message": message}
        if files:
            carried = [{"type": "file", "uploadId": one} for one in files]
            parts = [{"type": "text", "text": message}, *carried]
            body = {"agent": agent, "title": self.tag, "parts": parts}
        done = self.command("start", "/v1/sessions", body)
        session_id = str(done["session_id"])
        self.follower = Follower(self, session_id)
        self.follower.start()
        return session_id

    def upload(self, data: bytes, name: str) -> str:
        """Send a file until somebody says that it is kept; its id. It may be kept twice."""
        for _ in self._tries("no answer to upload"):
            process = self.house.now
            try:
                answer = self._client(process, "alice").post(
                    "/v1/uploads", params={"name": name}, content=data,
                    headers={"Content-Type": "text/plain"},
                )  # fmt: skip
            except httpx.TransportError:
                self.house.recover(process)
                continue
            if answer.status_code == 201:
                return str(answer.json()["id"])
        raise AssertionError("unreachable")

    def send(self, session_id: str, text: str) -> Any:
        return self.command("send", f"/v1/sessions/{session_id}/messages", {"text": text})

    def cancel(self, session_id: str) -> Any:
        return self.command("cancel", f"/v1/sessions/{session_id}/cancel", {"reason": "enough"})

    def decide(
        self, wait_id: str, choice: str, who: str = "bob", *, browser: bool = False, **more: Any
    ) -> Any:
        """Look at the card, then decide on what it shows."""
        if browser:
            return self._decide_in_browser(wait_id, choice, who)
        card = self.get(f"/v1/approvals/{wait_id}")
        shown = card["approval"]["digest"]
        path = f"/v1/approvals/{wait_id}/decision"
        return self.command("decide", path, {"choice": choice, **more}, who=who, shown=shown)

    def command(
        self, verb: str, path: str, body: Any, *, who: str = "alice", shown: str = ""
    ) -> Any:
        """Send it under one key until somebody answers."""
        key = f"{self.tag}-{next(self._numbers)}"
        headers = {"Idempotency-Key": key} | ({"If-Match": f'"{shown}"'} if shown else {})
        for _ in self._tries(f"no answer to {verb}"):
            process, asked = self.house.now, time.time()
            status, answer = 0, None
            try:
                response = self._client(process, who).post(path, json=body, headers=headers)
                status, answer = response.status_code, response.json()
            except httpx.TransportError:
                self.house.recover(process)
            self.said.append(
                Said(verb=verb, path=path, key=key, who=f"key:{who}", body=body, shown=shown,
                     asked=asked, answered=time.time(), status=status, answer=answer)
            )  # fmt: skip
            if status and status != 503:
                return answer
        raise AssertionError("unreachable")

    def _decide_in_browser(self, wait_id: str, choice: str, who: str) -> None:
        """Press the button on the card. Who hears nothing looks at the card again, as people do."""
        key = f"{self.tag}-browser-{next(self._numbers)}"
        path, shown = f"/approvals/{wait_id}/decision", ""
        for _ in self._tries(f"no answer to {who}'s click"):
            process, asked = self.house.now, time.time()
            status = 0
            try:
                token, digest = self._form(process, wait_id, who)
                shown = digest or shown  # a card that was decided shows no form any more
                form = {"decision": choice, "token": token, "digest": shown, "reason": ""}
                if self._has_decided(wait_id, who):
                    status = 303
                elif token:
                    status = self._browser(process, who).post(path, data=form).status_code
            except httpx.TransportError:
                self.house.recover(process)
            answer = {"wait_id": wait_id, "choice": choice} if status == 303 else None
            self.said.append(
                Said(verb="decide", path=path, key=key, who=who, body=choice, shown=shown,
                     asked=asked, answered=time.time(), status=200 if answer else status,
                     answer=answer)
            )  # fmt: skip
            if status:
                return

    def _form(self, process: Process, wait_id: str, who: str) -> tuple[str, str]:
        """The token and the digest of a card's own form; empty where there is none."""
        page = self._browser(process, who).get(f"/approvals/{wait_id}").text
        found = [re.search(rf'name="{name}" value="([^"]*)"', page) for name in ("token", "digest")]
        token, digest = (match[1] if match else "" for match in found)
        return html.unescape(token), digest

    def _has_decided(self, wait_id: str, who: str) -> bool:
        approval = self.get(f"/v1/approvals/{wait_id}")["approval"]
        return who in approval["approved_by"] or approval["closed_by"] == who

    def get(self, path: str) -> Any:
        """Read something, from whoever answers."""
        for _ in self._tries(f"no answer to {path}"):
            process = self.house.now
            try:
                response = self._client(process, "alice").get(path)
                if response.status_code == 200:
                    return response.json()
            except httpx.TransportError:
                self.house.recover(process)
        raise AssertionError("unreachable")

    # Waiting --------------------------------------------------------------------------------------

    def until(self, what: str, holds: Callable[[], Any]) -> Any:
        """Wait until something holds, and tell what was waited for when it never does."""
        for _ in self._tries(what):
            found = holds()
            if found:
                return found
            self.house.look()
        raise AssertionError("unreachable")

    def _tries(self, what: str) -> Any:
        deadline = time.monotonic() + PATIENCE
        while True:
            yield
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {PATIENCE:g} s: {what}")
            time.sleep(PAUSE)

    def _client(self, process: Process, who: str) -> httpx.Client:
        place = (process.url, who)
        if place not in self._clients:
            self._clients[place] = httpx.Client(
                base_url=process.url, timeout=15.0,
                headers={"Authorization": f"Bearer {self.people[who][0]}"},
            )  # fmt: skip
        return self._clients[place]

    def _browser(self, process: Process, who: str) -> httpx.Client:
        place = (process.url, f"{who}'s browser")
        if place not in self._clients:
            self._clients[place] = httpx.Client(
                base_url=process.url, timeout=15.0, cookies={COOKIE: self.people[who][1]},
                headers={"Origin": process.url, "Sec-Fetch-Site": "same-origin"},
            )  # fmt: skip
        return self._clients[place]

    def close(self) -> None:
        if self.follower is not None:
            self.follower.stop()
        for client in self._clients.values():
            client.close()


class Follower:
    """Reads a session's stream, and comes back behind the last event when it breaks."""

    def __init__(self, driver: Driver, session_id: str) -> None:
        self._driver, self._path = driver, f"/v1/sessions/{session_id}/events"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._stopped = threading.Event()
        self.events: list[dict[str, Any]] = []
        self.ids: list[int] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(10)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of a kind that came so far."""
        return [event for event in list(self.events) if event["type"] == kind]

    def _run(self) -> None:
        while not self._stopped.is_set():
            process = self._driver.house.now
            try:
                self._read(process)
            except httpx.ReadTimeout:
                continue  # nothing was said for a while
            except httpx.HTTPError:
                self._driver.house.recover(process)
            self._stopped.wait(PAUSE)

    def _read(self, process: Process) -> None:
        headers = {
            "Authorization": f"Bearer {self._driver.people['alice'][0]}",
            "Accept": "text/event-stream",
            "Last-Event-ID": str(self.ids[-1] if self.ids else 0),
        }
        # the short time lets a stream that says nothing look whether it shall stop
        timeout = httpx.Timeout(5.0, read=1.0)
        with httpx.stream(
            "GET", process.url + self._path, headers=headers, timeout=timeout
        ) as answer:
            for line in answer.iter_lines():
                if line.startswith("id:"):
                    self.ids.append(int(line[3:]))
                elif line.startswith("data:"):
                    self.events.append(json.loads(line[5:]))
                if self._stopped.is_set():
                    return
