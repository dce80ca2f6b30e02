"""What pages asked for and what they complained of, and other origins to ask from or be asked."""

import http.server
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Request, Response

# A refusal is an answer, and each test says itself which it expects.
ANSWERED = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d")
UNREACHED = re.compile(
    r"network error|Failed to fetch|Failed to load resource|net::|status of 503|AbortError"
)


@dataclass
class Wire:
    """Everything that the pages of one test sent, and everything that went wrong in them.

    `is_cut`: the test takes the network or the server away, so errors of the network are no fault.
    `is_torn`: the test tears the pages apart, and only what they do counts, not what they say.
    """

    posts: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    origins: set[str] = field(default_factory=set)
    is_cut: bool = False
    is_torn: bool = False

    def listen(self, context: BrowserContext) -> None:
        """Hear everything from the pages of this context."""
        context.on("request", self._request)
        context.on("response", self._response)
        context.on("console", self._console)
        context.on("dialog", self._dialog)
        context.on("weberror", lambda error: self.complaints.append(f"error: {error.error}"))

    def faults(self) -> list[str]:
        """The complaints that count."""
        if self.is_torn:
            return [text for text in self.complaints if text.startswith("dialog")]
        ours = [text for text in self.complaints if not ANSWERED.search(text)]
        return [text for text in ours if not (self.is_cut and UNREACHED.search(text))]

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if request.method == "POST":
            self.posts.append(request)
        if parts.scheme in ("http", "https") and parts.netloc not in self.origins:
            self.complaints.append(f"asked another host: {request.method} {request.url}")

    def _response(self, response: Response) -> None:
        if response.status >= 500:
            self.complaints.append(f"status of {response.status}: {response.url}")

    def _console(self, said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            self.complaints.append(f"console {said.type}: {said.text}")

    def _dialog(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":
            dialog.accept()
            return
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@dataclass
class Elsewhere:
    """A server of somebody else on this machine: what it was asked, and what it answers."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    answers: dict[str, tuple[int, str, str]] = field(default_factory=dict)  # status, type, body

    def page(self, path: str, html: str) -> str:
        """Serve this HTML; its URL."""
        self.answers[path] = (200, "text/html", html)
        return self.url + path


@contextmanager
def elsewhere() -> Iterator[Elsewhere]:
    """Another origin, on a port of its own."""
    found = Elsewhere()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(found))
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(found: Elsewhere) -> Callable[..., http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            found.asked.append(f"{self.command} {self.path}")
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, media, body = found.answers.get(
                self.path.partition("?")[0], (404, "text/plain", "nothing here")
            )
            data = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", f"{media}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_HEAD = answer

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is said aloud."""

    return Handler
